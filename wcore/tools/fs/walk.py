"""Walking a folder by the project's ignore rules; links are never followed."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from anyio import from_thread

from wcore.errors import ToolError
from wcore.locked_files import is_held
from wcore.tools.fs.paths import folder_of, kind_at, kind_of, open_folder, quote_path
from wcore.tools.tool import ToolEnvironment
from wcore.visible import visible_line

NAME_CHARS_MAX: Final = 4096  # PATH_MAX on Linux
CHECK_EVERY: Final = 512  # entries between two looks at cancellation


class Root:
    """A folder to search. Its identity is checked before and after: a swap voids the result."""

    def __init__(self, environment: ToolEnvironment, path: str) -> None:
        self.environment = environment
        self.path = path
        self._identity = self._look()
        # Naming a protected folder is asked about; then its files are not left out again.
        self._hidden = environment.denied if environment.hidden(path) else environment.hidden
        self._prefix = path.rstrip("/") + "/"
        self._honest: dict[str, bool] = {}
        self.unreadable = 0  # files and folders below it, where a result may have been

    def _look(self) -> tuple[int, int]:
        with open_folder(self.path) as handle:
            kind = os.fstat(handle)
            return kind.st_dev, kind.st_ino

    def require_same(self) -> None:
        """Refuse results of a search during which the folder was exchanged.

        Raises:
            ToolError: it was.
        """
        if self._look() != self._identity:
            raise ToolError(f"{quote_path(self.path)} was exchanged during the search")

    def full(self, relative: str) -> str:
        """Return the absolute path of a result."""
        return self._prefix + relative

    def hidden(self, relative: str) -> bool:
        """Tell whether a result is a protected file."""
        return self._hidden(self.full(relative))

    def has_file(self, relative: str) -> bool:
        """Tell whether a name is a plain file's, and count it where that is not told."""
        try:
            return _is_plain(os.lstat(self.full(relative)))
        except OSError as error:
            self.unreadable += error.errno == errno.EACCES
            return False

    def left_out(self, protected: int) -> list[str]:
        """Say how many files are missing from a result, and why."""
        notes: list[str] = []
        if protected:
            notes.append(f"{protected} protected file{'s' * (protected != 1)} left out")
        if self.unreadable:
            what = "file or folder" if self.unreadable == 1 else "files or folders"
            notes.append(f"{self.unreadable} {what} could not be read")
        return notes

    def holds(self, relative: str) -> bool:
        """Tell whether a result is a plain file and lies where it seems to lie, now."""
        path = self.full(relative)
        if path not in self._honest:
            self._honest[path] = _is_file_without_links(path)
        return self._honest[path]


def walk(root: Root, *, depth_max: int | None = None) -> Iterator[str]:
    """Yield paths relative to `root`, folders and files, in no particular order.

    What cannot be listed is counted in `root`.

    `.gitignore`, `.ignore` and git's own excludes hold, also outside a repository; `.git` is
    never entered. Runs in a worker thread and ends early when the call is cancelled.
    """
    from ignore import Error, WalkBuilder  # noqa: PLC0415 - a native library, on first use
    from ignore import IOError as WalkIOError  # noqa: PLC0415
    from ignore.overrides import OverrideBuilder  # noqa: PLC0415

    folder = Path(root.path)
    no = False  # the library takes its switches by position
    builder = WalkBuilder(folder).hidden(no).require_git(no).follow_links(no)
    walker = builder.max_depth(depth_max).overrides(OverrideBuilder(folder).add("!.git").build())
    entries = iter(walker.build())
    skip = len(root.full(""))
    count = 0
    while True:
        count += 1
        if count % CHECK_EVERY == 0:
            from_thread.check_cancelled()
        try:
            path = str(next(entries).path())
        except StopIteration:
            return
        except (Error, WalkIOError, OSError):
            root.unreadable += 1
            continue
        if len(path) > skip:
            yield path[skip:]


def is_file(path: str) -> bool:
    """Tell whether `path` is a plain file; a link is not, nor is a file of the store."""
    try:
        return _is_plain(os.lstat(path))
    except OSError:
        return False


def _is_plain(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and not is_held(found)


def _is_file_without_links(path: str) -> bool:
    """Look at one time: of two looks the one might see a folder and the other what was swapped."""
    try:
        with folder_of(path) as (folder, name):
            found = kind_at(folder, name)
    except (ToolError, OSError):
        return False
    return found is not None and _is_plain(found)


def may_read(path: str, mode: int = os.R_OK) -> bool:
    """Tell whether the system lets this process read `path`."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def require_readable(path: str, mode: int = os.R_OK) -> None:
    """Refuse to search what was named and cannot be read: nothing would be found in it.

    Raises:
        ToolError: it cannot.
    """
    if not may_read(path, mode):
        raise ToolError(f"{quote_path(path)}: {os.strerror(errno.EACCES)}")


def require_folder(path: str) -> None:
    """Refuse what is no folder, or cannot be listed.

    Raises:
        ToolError: says what it is.
    """
    try:
        mode = os.lstat(path).st_mode
    except OSError as error:
        raise ToolError(f"{quote_path(path)}: {error.strerror}") from None
    if not stat.S_ISDIR(mode):
        kind = "a file" if stat.S_ISREG(mode) else kind_of(mode)
        raise ToolError(f"{quote_path(path)} is {kind}, not a folder")
    require_readable(path, os.R_OK | os.X_OK)


def plain_name(name: str) -> str:
    """Return a file name that cannot break out of its line: controls and odd bytes marked."""
    if name.isprintable():
        return name
    return "".join(
        char if char > "\x9f" and not 0xD800 <= ord(char) <= 0xDFFF else visible_line(char, 12)
        for char in name[:NAME_CHARS_MAX]
    )
