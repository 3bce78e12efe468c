"""Files that this process must not open itself, because closing them drops their locks.

A POSIX lock belongs to a process and an inode: whoever closes *any* descriptor of the file drops
all locks of the process on it. SQLite relies on such locks; when they are gone, another program
takes this one for ended and deletes the log that it goes on writing. So whatever opens a file by a
name that somebody else may have chosen (tools, policy files, attachments) opens it here. Files are
compared by inode: a symbolic or a hard link is the same file.

What is opened only to be looked at (`O_PATH`) drops no lock when it is closed.
"""

import errno
import os
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, TypeAlias

REASON: Final = "is a file of wcore's own store, which no tool opens"

Inode: TypeAlias = tuple[int, int]  # device and number: the file itself, whatever its name

# Linux. Elsewhere a name is looked at before it is opened, which somebody quick can get round.
_LOOK: Final = getattr(os, "O_PATH", 0) if os.path.isdir("/proc/self/fd") else 0
_NAMING: Final = os.O_NOFOLLOW | os.O_DIRECTORY
_names: set[str] = set()
_held: Counter[Inode] = Counter()
_guard: Final = threading.Lock()  # connections are opened in several threads


def register(*paths: str) -> None:
    """From now on the files that these names lead to are not opened, those to come included."""
    with _guard:
        _names.update(paths)


def hold(inodes: Iterable[Inode]) -> None:
    """Do not open these files, whatever their names are by then; until `let_go`."""
    with _guard:
        _held.update(inodes)


def let_go(inodes: Iterable[Inode]) -> None:
    """A connection is closed. Numbers are given to new files: they must not stay refused."""
    with _guard:
        _held.subtract(inodes)


def inode(path: str) -> Inode | None:
    """Return which file a name leads to, `None` for none. Opens nothing."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_held(found: os.stat_result) -> bool:
    """Tell whether what was found is a held file; cheap enough to be asked of a whole tree."""
    return _held[found.st_dev, found.st_ino] > 0


def open_unlocked(path: str, flags: int, *, dir_fd: int | None = None) -> int:
    """Open for reading, as `os.open`, what is neither a registered nor a held file.

    Looked at first and then opened as what was looked at: no other file can slip in between.

    Raises:
        OSError: as `os.open`; `EBUSY` with `REASON` for one of those.
    """
    if not _LOOK:
        with suppress(FileNotFoundError):
            follow = not flags & os.O_NOFOLLOW
            _refuse(os.stat(path, dir_fd=dir_fd, follow_symlinks=follow), path)
        return os.open(path, flags, dir_fd=dir_fd)
    seen = os.open(path, _LOOK | os.O_CLOEXEC | (flags & _NAMING), dir_fd=dir_fd)
    try:
        _refuse(os.fstat(seen), path)
        return os.open(f"/proc/self/fd/{seen}", flags & ~os.O_NOFOLLOW)
    finally:
        os.close(seen)


def _refuse(found: os.stat_result, path: str) -> None:
    one = found.st_dev, found.st_ino
    if is_held(found) or any(inode(path) == one for path in tuple(_names)):
        raise OSError(errno.EBUSY, REASON, path)
