"""What a command text is tied to on the disk: the scripts it names, and where its paths lead."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from wcore.locked_files import open_unlocked
from wcore.tools.fs.paths import inside

DIGESTED_BYTES_MAX: Final = 8 * 1024 * 1024  # of all scripts together; none is as long
# Programs of the machine: only its administrator changes them, and updates should not ask again.
_SYSTEM: Final = tuple("/usr /opt /nix /bin /sbin /lib /lib64 /etc /proc /dev".split())
_EXECUTABLE: Final = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
_OPEN: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # a FIFO must not wait


def look(workspace: str, home: str, run: Iterable[str], named: Iterable[str]) -> str | None:
    """Return one digest of what the names lead to; `None` if nothing is tied to anything.

    A file of `run`, and any file that may be executed, counts with its content; a path that leads
    out of the workspace with where it leads. Programs of the system do not count. Blocks.
    """
    finder = _Finder(workspace, home)
    found = [*finder.each(sorted(run), runs=True), *finder.each(sorted(named), runs=False)]
    if not found:
        return None
    joined = "\0\0".join("\0".join(tied) for tied in found)  # no name holds a NUL
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()


class _Finder:
    """Looks names up; the content of all files together is read up to a limit."""

    def __init__(self, workspace: str, home: str) -> None:
        self._workspace, self._home = workspace, home
        self._left = DIGESTED_BYTES_MAX

    def each(self, names: Iterable[str], *, runs: bool) -> Iterator[list[str]]:
        for name in names:
            try:
                tied = self._tied(name, runs=runs)
            except (OSError, ValueError):
                continue  # it is not there, or no name: what comes to be there changes the digest
            if tied is not None:
                yield [name, *tied]

    def _tied(self, name: str, *, runs: bool) -> list[str] | None:
        given = self._home + name[1:] if name == "~" or name.startswith("~/") else name
        path = os.path.join(self._workspace, given)
        found = os.stat(path)
        real = os.path.realpath(path)
        if any(inside(folder, real) for folder in _SYSTEM):
            return None
        where = [] if inside(self._workspace, real) else [real]
        if stat.S_ISREG(found.st_mode) and (runs or found.st_mode & _EXECUTABLE):
            return [*where, self._digest(path)]
        return where or None

    def _digest(self, path: str) -> str:
        handle = open_unlocked(path, _OPEN)
        with open(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_size > self._left:
                return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
            content = file.read(self._left + 1)
            self._left -= min(self._left, len(content))
        return hashlib.sha256(content).hexdigest()
