"""The file of a SQLite store: what may be one, whose eyes it is for, whether it is still there.

Nothing here opens it: closing it again would drop the locks of SQLite (see `wcore.locked_files`).
"""

import os
import stat
from contextlib import suppress
from typing import Final

from wcore import locked_files
from wcore.locked_files import Inode
from wcore.store.errors import StoreError, StoreGoneError, StoreLostError
from wcore.store.location import Location

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
DATABASE_BYTES_MIN: Final = 512  # its smallest page; SQLite writes over what is shorter
KEPT_OPEN: Final = 3  # of a store's files: all but the journal of a store without a log
ELSEWHERE: Final = "or name another store with --store"


DAMAGED: Final = f"move it away and start again, or restore a backup, {ELSEWHERE}"


def not_a_database(name: str) -> StoreError:
    """What is told where something else stands."""
    return StoreLostError(name, "cannot be used: it is not a database", DAMAGED)


def prepare(location: Location) -> None:
    """Make folder and file before SQLite does, so that they are private from the first moment.

    SQLite gives its companion files the mode of this one.

    Raises:
        StoreError: there is something of that name that is no plain file; it was not touched.
        OSError: the system refuses.
    """
    folder = os.path.dirname(location.path)
    os.makedirs(folder, mode=FOLDER_MODE, exist_ok=True)
    if location.own_folder:
        _make_private(folder)
    for path in location.files:
        _require_plain(location, path)
    _require_no_text(location)
    locked_files.register(*location.files)
    with suppress(FileExistsError):
        # Not opened: another thread may have connected before we could close it.
        os.mknod(location.path, stat.S_IFREG | FILE_MODE)


def make_private(location: Location) -> None:
    """Take from others what they could read; for what SQLite has found to be a database."""
    for path in location.files:
        with suppress(FileNotFoundError):
            _make_private(path)


class Identity:
    """The files that were connected to, to notice when others stand in their place.

    As long as a connection is open SQLite removes none of them, so whoever did was not SQLite.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        self._inodes = _inodes(location)
        locked_files.hold(filter(None, self._inodes))

    def let_go(self) -> None:
        """The connection is closed."""
        locked_files.let_go(filter(None, self._inodes))

    def require_same(self) -> None:
        """Refuse a store that was deleted or replaced since.

        Raises:
            StoreGoneError: what is written now would be seen by nobody, or destroy another one.
        """
        if _inodes(self._location) != self._inodes:
            raise StoreGoneError(self._location.name)


def _inodes(location: Location) -> tuple[Inode | None, ...]:
    return tuple(map(locked_files.inode, location.files[:KEPT_OPEN]))


def _require_plain(location: Location, path: str) -> None:
    """Only a plain file can be opened without waiting for somebody, or doing something to it."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode) and path == location.path:
        mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "no plain file"
        raise StoreLostError(path, f"cannot be used: it is {what}", f"name a file, {ELSEWHERE}")


def _require_no_text(location: Location) -> None:
    """Refuse what SQLite would take for a database that somebody has just begun to write.

    Whatever else is no database it refuses itself, before it writes anything.
    """
    with suppress(FileNotFoundError):
        if 0 < os.stat(location.path).st_size < DATABASE_BYTES_MIN:
            raise not_a_database(location.name)


def _make_private(path: str) -> None:
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if mode & 0o077:
        os.chmod(path, mode & 0o700)
