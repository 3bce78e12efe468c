"""`wcore sessions …`: the stored conversations: list, show, export, delete for good."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Final
from uuid import UUID

from msgspec.structs import asdict

from wcore.cli import store_options
from wcore.cli.consent import add_yes, require
from wcore.cli.conversation_text import markdown
from wcore.cli.recorded_script import script
from wcore.cli.subcommand import Parser, obey, write, write_json
from wcore.errors import UsageError
from wcore.store import JournalRecord, SessionMissingError, SessionRow, journal, sessions
from wcore.store.database import Database
from wcore.store.opening import opened
from wcore.store.sessions import Purged
from wcore.visible import visible_line

CELL_CHARS_MAX: Final = 128  # a table must fit a terminal
TITLE_CHARS_MAX: Final = 48  # beside the id, in a row of a terminal
BODY_CHARS_MAX: Final = 160  # a glance; `export` has all of it
OUTPUT_LINES_SHOWN: Final = 20  # of a tool's output in a terminal; `export --md` has all of it

DESCRIPTION: Final = """\
The stored conversations of one user. A journal holds what model and tools said: it is as
confidential as the workspace."""

EPILOG: Final = """\
examples:
  wcore sessions list
  wcore sessions show latest               the last one of the workspace you are in
  wcore sessions export latest --md > talk.md
  wcore sessions export my-session > my-session.jsonl
  wcore sessions export latest --script > talk.jsonl; wcore-chat --model script:talk.jsonl
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
        }.get(name, "")
        command = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=epilog
        )
        store_options.add_store_options(command)
        store_options.add_user_option(command)
        command.set_defaults(run=job)
        return command

    add("list", _list, "show all sessions, the one used last first")
    showing = add("show", _show, "show the conversation of a session")
    _add_id(showing)
    journal_help = "show the records of its journal, a line each"
    showing.add_argument("--journal", action="store_true", help=journal_help)
    exporting = add("export", _export, "write a session as JSON lines, Markdown or a script")
    _add_id(exporting)
    form = exporting.add_mutually_exclusive_group()
    form.add_argument("--md", action="store_true", help="write the conversation as Markdown")
    script_help = "write the model's replies, for wcore --model script:FILE"
    form.add_argument("--script", action="store_true", help=script_help)
    _add_purge_options(add("purge", _purge, "delete sessions with their journals for good"))
    return obey(parser, argv, environ, "list, show, export or purge")


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


def _list(options: Namespace, environ: Mapping[str, str]) -> int:
    place = store_options.location(options, environ)
    rows: list[SessionRow] = []
    if place.exists:
        with opened(place) as database:
            rows = sessions.list_sessions(database, store_options.user(options))
    if options.json:
        store_options.write_lines(map(store_options.json_line, rows))
    elif not store_options.write_lines(_line(row) for row in rows):
        write("no session is stored\n")
    return 0


def _show(options: Namespace, environ: Mapping[str, str]) -> int:
    with _stored(options, environ) as database:
        row = store_options.session(database, options, options.id)
        records = journal.read_all(database, UUID(row.user_id), row.session_id)
        if options.json:
            store_options.write_lines(_exported(row, records))
            return 0
        write(f"{_line(row)}\n")
        if options.journal:
            store_options.write_lines(_record_line(record) for record in records)
        else:
            store_options.write_lines(markdown(records, OUTPUT_LINES_SHOWN))
    return 0


def _export(options: Namespace, environ: Mapping[str, str]) -> int:
    with _stored(options, environ) as database:
        row = store_options.session(database, options, options.id)
        records = journal.read_all(database, UUID(row.user_id), row.session_id)
        if options.md:
            store_options.write_lines(markdown(records, None))
        elif options.script:
            store_options.write_lines(script(records))
        else:
            store_options.write_lines(_exported(row, records))
    return 0


def _exported(row: SessionRow, records: Iterable[JournalRecord]) -> Iterator[str]:
    yield store_options.json_line(row)
    yield from map(store_options.json_line, records)


def _stored(options: Namespace, environ: Mapping[str, str]) -> AbstractContextManager[Database]:
    place = store_options.location(options, environ)
    if not place.exists:
        raise SessionMissingError(options.id)
    return opened(place)


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


def _purge(options: Namespace, environ: Mapping[str, str]) -> int:
    chosen = (bool(options.ids), options.older_than is not None, options.all)
    if sum(chosen) != 1:
        raise UsageError("missing sessions: name them, or give --older-than DAYS or --all")
    require("delete for good?", yes=options.yes, as_json=options.json)
    place = store_options.location(options, environ)
    if not place.exists:
        if options.ids:
            raise SessionMissingError(options.ids[0])
        done = Purged((), ())
    else:
        with opened(place) as database:
            done = sessions.purge(
                database, store_options.user(options), _to_purge(database, options)
            )
    _tell(done, as_json=options.json)
    return 0


def _to_purge(database: Database, options: Namespace) -> list[str]:
    user = store_options.user(options)
    if options.all:
        return [row.session_id for row in sessions.list_sessions(database, user)]
    if options.older_than is not None:
        return sessions.older_than(database, user, options.older_than)
    return options.ids


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
