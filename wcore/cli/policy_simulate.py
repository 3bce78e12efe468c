"""`wcore policy simulate`: what another policy would have changed in recorded sessions."""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final
from uuid import UUID

from msgspec import Struct

from wcore.cli import store_options
from wcore.cli.recorded_calls import calls_of
from wcore.cli.subcommand import Parser, write, write_json
from wcore.errors import UsageError
from wcore.policy.protected import Places
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.simulate import RecordedCall, decide_again
from wcore.policy_files.policy_files import PolicyFiles
from wcore.policy_files.reading import read_owned
from wcore.store import SessionMissingError, SessionRow, journal
from wcore.store.database import Database
from wcore.store.opening import opened
from wcore.visible import visible_line
from wcore.vocabulary import Decision

EXIT_DIFFERS: Final = 10
CHANGES_MAX: Final = 10_000  # of the JSON report; further ones are counted
WHAT_CHARS_MAX: Final = 100  # of a command or path in one line

DESCRIPTION: Final = """\
Decide the calls of recorded sessions again, as if FILE were the user's policy, and say what would
have been asked, allowed or denied differently. The administrator's and the project's files are
those of today; modes, tiers and lasting grants are those of the session. Nothing is run."""
EPILOG: Final = """\
examples:
  wcore policy simulate latest --policy new.toml
  wcore policy simulate s1 s2 --policy ~/.config/wcore/policy.toml --json

exit codes:
  0 nothing differs   10 something does   2 wrong usage
  1 a policy file is broken, or there is no such session
"""


class _Change(Struct, frozen=True):
    session_id: str
    call: RecordedCall
    now: Decision


def add_arguments(parser: Parser) -> None:
    """Add the options of this subcommand."""
    parser.add_argument("ids", metavar="SESSION", nargs="+", help="an id, or `latest`")
    parser.add_argument("--policy", metavar="FILE", required=True, help="the policy to try")
    store_options.add_store_options(parser)
    store_options.add_user_option(parser)


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Print what differs; return the exit code.

    Raises:
        UsageError: there is no such policy file.
        PolicyError: a policy file is broken.
        StoreError: a session cannot be read.
    """
    file = read_owned(options.policy)
    if file is None:
        raise UsageError(f"--policy {options.policy}: there is no such file")
    place = store_options.location(options, environ)
    if not place.exists:
        raise SessionMissingError(options.ids[0])
    with opened(place) as database:
        rows = [store_options.session(database, options, wanted) for wanted in options.ids]
        simulation = _Simulation(file.text, options.policy)
        once = {row.session_id: row for row in rows}.values()
        changes = (change for row in once for change in simulation.changes(database, row))
        return simulation.tell_json(changes) if options.json else simulation.tell(changes)


class _Simulation:
    """One policy tried on the calls of some sessions, which are counted."""

    def __init__(self, text: str, path: str) -> None:
        self._text, self._path = text, path
        self._calls = 0
        self._policies: dict[Places, PolicySet] = {}

    def changes(self, database: Database, row: SessionRow) -> Iterator[_Change]:
        """Yield the calls of a session that would be decided differently."""
        records = journal.read_all(database, UUID(row.user_id), row.session_id)
        for call in calls_of(records):
            self._calls += 1
            now = decide_again(call, self._in_force(call.places))
            if now.verdict is not call.was:
                yield _Change(row.session_id, call, now)

    def tell(self, changes: Iterator[_Change]) -> int:
        """Print a line for each change, and their sum; return the exit code."""
        sums: Counter[str] = Counter()
        for change in changes:
            sums[f"{change.call.was} to {change.now.verdict}"] += 1
            write(f"{_line(change)}\n")
        told = ", ".join(f"{count} from {which}" for which, count in sorted(sums.items()))
        write(f"{self._calls} calls, {sums.total()} differ{': ' if told else ''}{told}\n")
        return EXIT_DIFFERS if sums else 0

    def tell_json(self, changes: Iterator[_Change]) -> int:
        """Print one object; return the exit code."""
        listed: list[dict[str, object]] = []
        count = 0
        for change in changes:
            count += 1
            if count <= CHANGES_MAX:
                listed.append(_as_json(change))
        write_json({"calls": self._calls, "differ": count, "changes": listed})
        return EXIT_DIFFERS if count else 0

    def _in_force(self, places: Places) -> PolicySet:
        if places not in self._policies:
            files = PolicyFiles.of(places)
            self._policies[places] = files.load_with_user_policy(self._text, self._path)
        return self._policies[places]


def _what(call: RecordedCall) -> str:
    prepared = call.prepared
    return prepared.command or ", ".join(touch.path for touch in prepared.accesses)


def _line(change: _Change) -> str:
    call, why = change.call, change.now.why
    what = visible_line(_what(call), WHAT_CHARS_MAX)
    reason = visible_line(why.detail, WHAT_CHARS_MAX) + (f" ({why.source})" if why.source else "")
    ids = f"{visible_line(change.session_id, 60)} {visible_line(call.call_id, 40)}"
    return f"{ids}  {call.prepared.tool} {what}: {call.was} -> {change.now.verdict}: {reason}"


def _as_json(change: _Change) -> dict[str, object]:
    call, why = change.call, change.now.why
    told: dict[str, object] = {
        "session_id": change.session_id,
        "call_id": call.call_id,
        "agent": call.agent,
        "tool": call.prepared.tool,
        "what": _what(call),
        "mode": call.mode,
        "was": call.was,
        "now": change.now.verdict,
        "row": why.row,
        "detail": why.detail,
    }
    more = {"rule": why.rule, "source": why.source}
    return told | {key: value for key, value in more.items() if value is not None}
