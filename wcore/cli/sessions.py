"""`wcore sessions …`: the stored conversations: list, show, export, replay, delete for good."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Final
from uuid import UUID

from msgspec.structs import asdict

from wcore.cli import sessions_replay, store_options
from wcore.cli.consent import add_yes, require
from wcore.cli.subcommand import Parser, write, write_json
from wcore.errors import UsageError
from wcore.store import JournalRecord, SessionMissingError, SessionRow, journal, sessions
from wcore.store.database import Database, opened
from wcore.store.sessions import LATEST, Purged
from wcore.visible import visible_line

CELL_CHARS_MAX: Final = 128  # a table must fit a terminal
TITLE_CHARS_MAX: Final = 48  # beside the id, in a row of a terminal
BODY_CHARS_MAX: Final = 160  # a glance; `export` has all of it

DESCRIPTION: Final = """\
The stored conversations of one user. A journal holds what model and tools said: it is as
confidential as the workspace."""

EPILOG: Final = """\
examples:
  wcore sessions list
  wcore sessions show latest               the last one of the workspace you are in
  wcore sessions export my-session > my-session.jsonl
  wcore sessions replay latest             does the engine still do the same?
  wcore sessions purge --older-than 30     delete what was not used for 30 days
  wcore --resume my-session                continue one (see wcore --help)
"""

EXPORT_EPILOG: Final = """\
The first line is the session, every further one a record of its journal, oldest first.
"""

PURGE_EPILOG: Final = """\
Deleted means gone: the text is overwritten in a store that is a file. The audit stays. A session
that an engine works on is left out and named. A person agrees in a terminal, or with --yes;
inside a tool call nothing is deleted.
"""


def run(argv: list[str], environ: Mapping[str, str]) -> int:
    """Run one subcommand; return its exit code.

    Raises:
        UsageError: the command line is wrong.
        SessionMissingError: there is no session of that id.
        StoreError: the store cannot be read.
    """
    parser = Parser("wcore sessions", DESCRIPTION, EPILOG)
    commands = parser.add_subparsers(metavar="COMMAND")

    def add(name: str, job: Callable[[Namespace, Mapping[str, str]], int], text: str) -> Parser:
        epilog = {
            "export": EXPORT_EPILOG,
            "purge": PURGE_EPILOG,
            "replay": sessions_replay.EPILOG,
        }.get(name, "")
        command = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=epilog
        )
        store_options.add_store_options(command)
        store_options.add_user_option(command)
        command.set_defaults(run=job)
        return command

    add("list", _list, "show all sessions, the one used last first")
    _add_id(add("show", _show, "show a session and the records of its journal"))
    _add_id(add("export", _export, "write a session as JSON lines"))
    _add_id(add("replay", _replay, "run the engine again on a session, and compare"))
    _add_purge_options(add("purge", _purge, "delete sessions with their journals for good"))
    given = parser.parse_args(argv)
    if not hasattr(given, "run"):
        raise UsageError("missing command: list, show, export, replay or purge")
    return given.run(given, environ)


def _add_id(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a session id, or: latest")


def _add_purge_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("ids", metavar="ID", nargs="*", help="sessions to delete")
    add(
        "--older-than", type=store_options.days, metavar="DAYS", help="those not used for DAYS days"
    )
    add("--all", action="store_true", help="every session of the user")
    add_yes(parser)


# --- list, show, export -----------------------------------------------------------------------


def _list(given: Namespace, environ: Mapping[str, str]) -> int:
    place = store_options.location(given, environ)
    rows: list[SessionRow] = []
    if place.exists:
        with opened(place) as database:
            rows = sessions.list_sessions(database, store_options.user(given))
    if given.json:
        store_options.write_lines(_json_line(row) for row in rows)
    elif not store_options.write_lines(_line(row) for row in rows):
        write("no session is stored\n")
    return 0


def _show(given: Namespace, environ: Mapping[str, str]) -> int:
    if given.json:
        return _export(given, environ)
    with _stored(given, environ) as database:
        row = _chosen(database, given)
        write(f"{_line(row)}\n")
        records = journal.read_all(database, UUID(row.user_id), row.session_id)
        store_options.write_lines(_record_line(record) for record in records)
    return 0


def _export(given: Namespace, environ: Mapping[str, str]) -> int:
    with _stored(given, environ) as database:
        row = _chosen(database, given)
        store_options.write_lines(_exported(database, row))
    return 0


def _replay(given: Namespace, environ: Mapping[str, str]) -> int:
    def load() -> tuple[SessionRow, list[JournalRecord]]:
        with _stored(given, environ) as database:
            row = _chosen(database, given)
            return row, list(journal.read_whole(database, UUID(row.user_id), row.session_id))

    return sessions_replay.run(given, load)


def _exported(database: Database, row: SessionRow) -> Iterator[str]:
    yield _json_line(row)
    for record in journal.read_all(database, UUID(row.user_id), row.session_id):
        yield json.dumps(asdict(record), separators=(",", ":"))


def _stored(given: Namespace, environ: Mapping[str, str]) -> AbstractContextManager[Database]:
    place = store_options.location(given, environ)
    if not place.exists:
        raise SessionMissingError(given.id)
    return opened(place)


def _chosen(database: Database, given: Namespace) -> SessionRow:
    user = store_options.user(given)
    wanted = given.id
    if wanted == LATEST:
        wanted = sessions.latest(database, user, store_options.workspace_here())
    return sessions.find(database, user, wanted)


def _json_line(row: SessionRow) -> str:
    return json.dumps(asdict(row), separators=(",", ":"))


def _line(row: SessionRow) -> str:
    if row.holder is not None:
        state = f"in use by {row.holder}"
    else:
        state = "idle" if row.state == "idle" else "interrupted in a turn"
    parts = [
        visible_line(row.session_id, CELL_CHARS_MAX),
        visible_line(row.title or "(without words)", TITLE_CHARS_MAX),
        store_options.shown_time(row.last_at),
        f"{row.records} records",
        state,
        store_options.coloured(visible_line(row.workspace, CELL_CHARS_MAX), store_options.DIM),
    ]
    return "  ".join(parts)


def _record_line(record: JournalRecord) -> str:
    body = visible_line(json.dumps(record.body, ensure_ascii=False), BODY_CHARS_MAX)
    return (
        f"{record.seq:>6}  {store_options.shown_time(record.at)}  {record.kind.value:<12}  {body}"
    )


# --- purge ------------------------------------------------------------------------------------


def _purge(given: Namespace, environ: Mapping[str, str]) -> int:
    chosen = (bool(given.ids), given.older_than is not None, given.all)
    if sum(chosen) != 1:
        raise UsageError("missing sessions: name them, or give --older-than DAYS or --all")
    require("delete for good?", yes=given.yes, as_json=given.json)
    place = store_options.location(given, environ)
    if not place.exists:
        if given.ids:
            raise SessionMissingError(given.ids[0])
        done = Purged((), ())
    else:
        with opened(place) as database:
            done = sessions.purge(database, store_options.user(given), _to_purge(database, given))
    _tell(done, as_json=given.json)
    return 0


def _to_purge(database: Database, given: Namespace) -> list[str]:
    user = store_options.user(given)
    if given.all:
        return [row.session_id for row in sessions.list_sessions(database, user)]
    if given.older_than is not None:
        return sessions.older_than(database, user, given.older_than)
    return given.ids


def _tell(done: Purged, *, as_json: bool) -> None:
    if as_json:
        write_json(asdict(done))
        return
    for session_id in done.purged:
        write(f"deleted {visible_line(session_id, CELL_CHARS_MAX)}\n")
    for session_id in done.in_use:
        write(f"in use, not deleted: {visible_line(session_id, CELL_CHARS_MAX)}\n")
    if not done.purged and not done.in_use:
        write("there was nothing to delete\n")
    if done.remains:
        write("The database may keep deleted text in its files for a while.\n")
