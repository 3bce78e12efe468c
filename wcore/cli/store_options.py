"""What `wcore audit` and `wcore sessions` share: which store, whose, and how times are shown."""

import json
import os
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import asdict

from wcore.cli import environment
from wcore.cli.subcommand import has_colours, write
from wcore.errors import UsageError
from wcore.store import Location, SessionRow, identity, locate, sessions
from wcore.store.database import Database
from wcore.store.sessions import LATEST
from wcore.times import stamp

LINES_A_WRITE: Final = 256
GREEN: Final = "\x1b[32m"
RED: Final = "\x1b[31m"
DIM: Final = "\x1b[2m"
_OFF: Final = "\x1b[0m"

_AGO: Final = re.compile(r"(\d{1,6})([smhdw])")
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}


def add_store_options(parser: ArgumentParser) -> None:
    """Add what every command on the store takes."""
    add = parser.add_argument
    add("--store", metavar="PLACE", help="a file, or postgresql://…; default: the state folder")
    add("--json", action="store_true", help="one JSON object a line, for programs")


def add_user_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--user-id",
        type=_uuid,
        metavar="UUID",
        default=None,
        help="whose sessions; default: the user of this machine",
    )


def location(options: Namespace, environ: Mapping[str, str]) -> Location:
    """Return the store that was asked for; it may not be there yet.

    In the workspace lies only one that `--store` names, such as a copy.

    Raises:
        StoreError: another one would lie there.
        UsageError: none was asked for.
    """
    found = locate(options.store, environ, None if options.store else workspace_here())
    if not found.is_kept:
        raise UsageError("--store none keeps nothing that could be shown; name a store")
    return found


def user(options: Namespace) -> UUID:
    return options.user_id or identity.user_id()


def session(database: Database, options: Namespace, wanted: str) -> SessionRow:
    """Return the session of that id, or for `latest` the one used last in this workspace.

    Raises:
        SessionMissingError: there is none.
    """
    if wanted == LATEST:
        wanted = sessions.latest(database, user(options), workspace_here())
    return sessions.find(database, user(options), wanted)


def moment(text: str) -> str:
    """Return the stored form of a time as people write it.

    Raises:
        ArgumentTypeError: it is none.
    """
    ago = _AGO.fullmatch(text)
    try:
        if ago:
            return stamp(datetime.now(UTC) - timedelta(seconds=int(ago[1]) * _UNITS_S[ago[2]]))
        return stamp(datetime.fromisoformat(text).astimezone())
    except (ValueError, OverflowError):
        raise ArgumentTypeError(
            f"{text[:40]!r} is no time; write 2026-11-21, 2026-11-21T10:00:00Z, or 90m, 12h, 7d, 2w"
        ) from None


def shown_time(stored: str) -> str:
    """Return a stored time for people: UTC, whole seconds."""
    return stored[:19].replace("T", " ") + "Z"


def coloured(text: str, colour: str) -> str:
    return f"{colour}{text}{_OFF}" if has_colours() else text


def write_lines(lines: Iterable[str]) -> bool:
    """Write lines as they come, many at a time; false: there was none."""
    left = iter(lines)
    any_line = False
    while some := list(islice(left, LINES_A_WRITE)):
        any_line = True
        write("\n".join(some) + "\n")
    return any_line


def json_line(row: Struct) -> str:
    """Return a row for programs."""
    return json.dumps(asdict(row), separators=(",", ":"))


def days(text: str) -> float:
    """Return a number of days.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not re.fullmatch(r"\d{1,6}", text):
        raise ArgumentTypeError(f"{text[:40]!r} is not a whole number of days")
    return float(text)


def workspace_here() -> str:
    return os.path.realpath(environment.folder(None))


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ArgumentTypeError(f"{text[:60]!r} is not a UUID") from None
