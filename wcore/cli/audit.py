"""`wcore audit …`: which calls were decided how and by whom, and whether the record is intact."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final
from uuid import UUID

from msgspec.structs import asdict

from wcore.cli import store_options
from wcore.cli.options import count
from wcore.cli.subcommand import Parser, obey, write, write_json
from wcore.errors import ConfigError
from wcore.store import AuditDecision, Kind, StoreError, audit, identity, journal, sessions
from wcore.store.audit import FIRST_PREV_HASH
from wcore.store.audit_verify import AuditReport, Head, Problem, verify
from wcore.store.database import Database
from wcore.store.opening import opened
from wcore.store.values import AuditRow
from wcore.visible import visible_line

EXIT_TAMPERED: Final = 3
PEOPLE_ROWS: Final = 100  # shown unless --limit or --json says otherwise
CELL_CHARS_MAX: Final = 60  # a table must fit a terminal
WORDS_CHARS_MAX: Final = 120  # of what a call was about; `sessions show` has more
SOURCE_CHARS_MAX: Final = 200  # a path with its line, which is of no use without its end
REASON_CHARS_MAX: Final = 300  # a reason is a sentence; --json has all of it

DESCRIPTION: Final = """\
The record of decided tool calls: who or what allowed or denied which tool, when, and for which
call. It holds no arguments. Rows are chained by hashes, so that changes can be found."""

EPILOG: Final = """\
examples:
  wcore audit list --since 7d --decision denied
  wcore audit list --tool 'mcp__github__*' --json
  wcore audit verify
  wcore audit verify --head 1841:5d1c…   (a head that an earlier verify printed)
"""

LIST_EPILOG: Final = """\
The newest rows come first. Times are UTC. With --json each row is one object with the columns
of the table; see protocol-spec/store.md.
"""

VERIFY_EPILOG: Final = """\
An altered, removed or moved row is found and named. That rows at the end were cut off can only
be seen against a head that was kept elsewhere: keep what verify prints, give it with --head.

exit codes:
  0 intact   3 not intact   1 the store cannot be read   2 wrong usage
"""


def run(argv: list[str], environ: Mapping[str, str]) -> int:
    """Run one subcommand; return its exit code.

    Raises:
        UsageError: the command line is wrong.
        StoreError: the store cannot be read.
    """
    parser = Parser("wcore audit", DESCRIPTION, EPILOG)
    commands = parser.add_subparsers(metavar="COMMAND")
    listing = commands.add_parser(
        "list", help="show decisions", description=DESCRIPTION, epilog=LIST_EPILOG
    )
    _add_list_options(listing)
    listing.set_defaults(run=_list)
    verifying = commands.add_parser(
        "verify",
        help="check that no row was altered, removed or moved",
        description="Recompute the chain of hashes, from the first row to the last.",
        epilog=VERIFY_EPILOG,
    )
    verifying.add_argument(
        "--head", type=_head, metavar="SEQ:HASH", help="a row that must still be there"
    )
    store_options.add_store_options(verifying)
    verifying.set_defaults(run=_verify)
    return obey(parser, argv, environ, "list or verify")


def _add_list_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--since", type=store_options.moment, metavar="TIME", help="2026-11-21, 12h, 7d, …")
    add("--tool", metavar="NAME", help="a tool; * ? [abc] match as in file names")
    add("--decision", choices=[decision.value for decision in AuditDecision])
    add(
        "--limit",
        type=count,
        metavar="N",
        help=f"at most N rows; default: {PEOPLE_ROWS}, with --json all",
    )
    store_options.add_store_options(parser)


def _list(options: Namespace, environ: Mapping[str, str]) -> int:
    place = store_options.location(options, environ)
    if not place.exists:
        if not options.json:
            write(f"nothing has been recorded yet: there is no {visible_line(place.name, 200)}\n")
        return 0
    limit = options.limit or (None if options.json else PEOPLE_ROWS)
    with opened(place) as database:
        rows = audit.newest_first(database, options.since or "0001-01-01T00:00:00.000000Z")
        wanted = islice((row for row in rows if _matches(row, options)), limit)
        calls = _Calls(database)
        shown = store_options.write_lines(
            store_options.json_line(row) if options.json else _line(row, calls.words(row))
            for row in wanted
        )
    if not shown and not options.json:
        write("no decision was recorded that fits\n")
    return 0


def _matches(row: AuditRow, options: Namespace) -> bool:
    return (options.decision is None or row.decision == options.decision) and (
        options.tool is None or fnmatchcase(row.tool_name, options.tool)
    )


class _Calls:
    """What calls were about, as far as their sessions are kept; each session is read once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sessions: dict[str, dict[str, str]] = {}  # of a user: chat id to session id
        self._known: dict[tuple[str, str], dict[str, str]] = {}

    def words(self, row: AuditRow) -> str:
        """Return the description of the call; empty if its session is not kept, or is damaged."""
        session = row.user_id, row.chat_id
        if session not in self._known:
            self._known[session] = dict(self._read(*session))
        return self._known[session].get(row.tool_call_id, "")

    def _read(self, user_id: str, chat_id: str) -> Iterator[tuple[str, str]]:
        user = UUID(user_id)
        if user_id not in self._sessions:
            rows = sessions.list_sessions(self._database, user)
            kept = {str(identity.chat_id(row.session_id)): row.session_id for row in rows}
            self._sessions[user_id] = kept
        session_id = self._sessions[user_id].get(chat_id)
        if session_id is None:
            return
        with suppress(StoreError):
            for record in journal.read_all(self._database, user, session_id):
                if record.kind is Kind.PREPARED:
                    yield str(record.body.get("call_id")), str(record.body.get("description"))


def _line(row: AuditRow, words: str) -> str:
    allowed = row.decision == AuditDecision.APPROVED
    decision = "approved" if allowed else "denied"
    parts = [
        f"{row.seq:>6}",
        store_options.shown_time(row.created_at),
        store_options.coloured(
            f"{decision:<8}", store_options.GREEN if allowed else store_options.RED
        ),
        f"{visible_line(row.tool_name, CELL_CHARS_MAX):<16}",
        f"by {_by(row)}",
        store_options.coloured(visible_line(row.tool_call_id, CELL_CHARS_MAX), store_options.DIM),
    ]
    if words:
        parts.append(visible_line(words, WORDS_CHARS_MAX))
    if row.reason is not None:
        parts.append(f"“{visible_line(row.reason, REASON_CHARS_MAX)}”")
    return "  ".join(parts)


def _by(row: AuditRow) -> str:
    rule = f" {visible_line(row.rule_id, CELL_CHARS_MAX)}" if row.rule_id else ""
    if row.rule_source:
        rule += f" ({visible_line(row.rule_source, SOURCE_CHARS_MAX)})"
    override = " (approve always)" if row.with_override else ""
    return f"{row.source}{rule}{override}"


def _verify(options: Namespace, environ: Mapping[str, str]) -> int:
    place = store_options.location(options, environ)
    if place.exists:
        with opened(place) as database:
            result = verify(database, options.head)
    elif options.head is not None:
        result = _nothing_against(options.head)
    else:  # whoever verifies expects one
        raise ConfigError(f"there is no {visible_line(place.name, 200)}: nothing can be verified")
    if options.json:
        write_json(_as_object(result))
    else:
        _tell(result)
    return 0 if result.intact else EXIT_TAMPERED


def _nothing_against(head: Head) -> AuditReport:
    """Return what is to be said of a store that is not there, though rows of it were seen."""
    end = Head(0, FIRST_PREV_HASH)
    missing = Problem("truncated", head.seq, "there is no audit at all")
    return AuditReport(0, end, (missing,) if head != end else (), head)


def _as_object(result: AuditReport) -> dict[str, object]:
    return {
        "intact": result.intact,
        "rows": result.rows,
        "head": str(result.head),
        "head_checked": result.checked_head is not None,
        "problems": [asdict(problem) for problem in result.problems],
        "more_problems": result.more_problems,
    }


def _tell(result: AuditReport) -> None:
    for problem in result.problems:
        write(f"{store_options.coloured(problem.kind, store_options.RED)}: {problem.detail}\n")
    if result.more_problems:
        write("… and more\n")
    verdict = "intact" if result.intact else "NOT intact"
    colour = store_options.GREEN if result.intact else store_options.RED
    write(f"{result.rows} rows, {store_options.coloured(verdict, colour)}\n")
    write(f"head: {result.head}\n")
    if result.checked_head is None:
        write("A cut-off end cannot be seen without --head: keep this head elsewhere.\n")
    write("Rows that could not be written were never here: the audit is best effort.\n")


def _head(text: str) -> Head:
    try:
        return Head.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
