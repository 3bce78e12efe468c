"""`wcore sessions replay ID`: does the engine today do what it did then?"""

import json
import logging
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from wcore.cli import store_options
from wcore.cli.subcommand import write, write_json
from wcore.errors import WcoreError
from wcore.replay.player import Replayed, replay
from wcore.replay.timeline import Divergence, EventItem, Item, RecordItem, SyncPoint
from wcore.replay.unsupported import UnreplayableError
from wcore.store import JournalRecord, SessionRow
from wcore.visible import visible_line
from wcore.vocabulary import Json

EXIT_DIVERGED: Final = 1
EXIT_UNREPLAYABLE: Final = 2
SHOWN_CHARS_MAX: Final = 2_000  # an event is some hundred; a whole file in one helps nobody
VALUE_CHARS_MAX: Final = 300  # of a field that differs

EPILOG: Final = """\
Runs the engine of today on what was recorded: the host's commands, the model's replies, what tools
came to, rules, answers, ids and clock. Every event and every record is compared with what there
was. Nothing is executed, written, or asked of anybody; tools are names with nothing behind them.

exit codes: 0 identical, 1 something differs, 2 there is no such session or it cannot be replayed

examples:
  wcore sessions replay latest
  wcore sessions replay my-session --json | jq .identical
  wcore sessions show my-session           the records that the numbers are of
"""


def run(options: Namespace, load: Callable[[], tuple[SessionRow, Sequence[JournalRecord]]]) -> int:
    """Replay the session that `load` returns and tell what came of it; return the exit code."""
    try:
        row, records = load()
        done = _replayed(row, records)
    except WcoreError as error:
        if options.json:
            write_json({"session_id": options.id, "identical": None, "problem": str(error)})
        else:
            sys.stderr.write(f"wcore sessions: {visible_line(str(error), SHOWN_CHARS_MAX)}\n")
        return EXIT_UNREPLAYABLE
    if options.json:
        write_json(_as_json(row, done))
    else:
        _tell(row, done)
    return EXIT_DIVERGED if done.divergence else 0


def _replayed(row: SessionRow, records: Sequence[JournalRecord]) -> Replayed:
    logging.disable()  # what a session went through then is not news, and no error of today
    try:
        return replay(row, records)
    except (TypeError, ValueError, KeyError, LookupError) as error:
        raise UnreplayableError(f"a record of the session makes no sense: {error!r}") from error


# --- for people -------------------------------------------------------------------------------


def _tell(row: SessionRow, done: Replayed) -> None:
    name = visible_line(row.session_id, 128)
    engines = "1 engine" if done.starts == 1 else f"{done.starts} engines"
    if done.divergence is None:
        what = f"{done.events} events, {done.records} records, {engines}"
        write(f"{store_options.coloured('identical', store_options.GREEN)}  {name}: {what}\n")
        if done.open_end:
            write("The last engine is running, or was killed: replayed to its last record.\n")
        return
    found = done.divergence
    write(f"{store_options.coloured('different', store_options.RED)}  {name}: {_where(found)}\n")
    for label, text in (("recorded", _shown(found.recorded)), ("now", _shown(found.now))):
        write(f"  {label:<8}  {text}\n")
    for field, was, now in _differences(found):
        write(f"  {store_options.coloured(field, store_options.DIM)}: {was}  ->  {now}\n")


def _where(found: Divergence) -> str:
    item = found.recorded
    if item is None:
        return "behind the last record"
    number = f"event {item.number}, " if isinstance(item, EventItem) else ""
    return f"{number}record {item.seq}"


def _shown(item: Item | None) -> str:
    match item:
        case None:
            return "nothing"
        case EventItem(kind, call_id, digest, line):
            text = line.strip() or f"{kind} {call_id}".strip() + f" (digest {digest})"
        case RecordItem(kind, body):
            text = f"record {kind.value} {json.dumps(body)}"
        case SyncPoint(what):
            text = f"the engine goes on after: {what}"
    return visible_line(text, SHOWN_CHARS_MAX)


def _differences(found: Divergence) -> list[tuple[str, str, str]]:
    """Return the fields that differ, where one record stands against another of its kind."""
    was, now = found.recorded, found.now
    if (
        not isinstance(was, RecordItem)
        or not isinstance(now, RecordItem)
        or was.kind is not now.kind
    ):
        return []
    names = sorted({*was.body, *now.body})
    return [
        (visible_line(name, 80), _value(was.body.get(name)), _value(now.body.get(name)))
        for name in names
        if was.body.get(name) != now.body.get(name)
    ]


def _value(value: Json) -> str:
    return visible_line(json.dumps(value, ensure_ascii=False), VALUE_CHARS_MAX)


# --- for programs -----------------------------------------------------------------------------


def _as_json(row: SessionRow, done: Replayed) -> Mapping[str, object]:
    told: dict[str, object] = {
        "session_id": row.session_id,
        "identical": done.divergence is None,
        "engines": done.starts,
        "records": done.records,
        "events": done.events,
        "open_end": done.open_end,
    }
    found = done.divergence
    if found is None:
        return told
    item = found.recorded
    place = {
        "record": item.seq if item else None,
        "event": item.number if isinstance(item, EventItem) else None,
    }
    made = {"recorded": _item(found.recorded), "now": _item(found.now)}
    return told | {"divergence": {**place, **made}}


def _item(item: Item | None) -> object:
    match item:
        case None:
            return None
        case EventItem(kind, call_id, digest, line):
            event = {"type": kind, "call_id": call_id or None, "digest": digest}
            return event | ({"event": json.loads(line)} if line else {})
        case RecordItem(kind, body):
            return {"kind": kind.value, "body": body}
        case SyncPoint(what):
            return {"after": what}
