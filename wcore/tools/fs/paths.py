"""Paths: where one really leads, and how to open it without being led elsewhere.

A path is resolved once, before the gate. Later it is walked again, folder by folder, from a held
handle and without following any link: what became a link in between is an error, not a detour.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Final
from urllib.parse import unquote

from anyio import to_thread

from wcore.alike_names import alike
from wcore.errors import ToolError
from wcore.locked_files import open_unlocked
from wcore.tools.tool import ToolEnvironment
from wcore.visible import visible_line
from wcore.vocabulary import DESCRIPTION_CHARS_MAX, Args

PATH_CHARS_MAX: Final = 4096  # what the kernel takes; resolving a longer one costs its square
SHOWN_CHARS_MAX: Final = 400  # a path in an error message
# Passing through a folder needs no right to list it; O_PATH asks for none (Linux).
_FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO must not wait for a writer.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PROC: Final = "/proc"
_URL: Final = "file://"


def resolve(environment: ToolEnvironment, given: str, *, nearly: bool = False) -> str:
    """Return the absolute path that `given` leads to, links and `..` resolved.

    What does not exist yet is allowed; its existing part is resolved. With `nearly`, a name that
    does not exist is the only one beside it that people would call the same.

    Raises:
        ToolError: no file tool may go there, or the path is not one.
    """
    path = _absolute(environment, given)
    if nearly and not os.path.lexists(path):
        path = _nearest(path)
    return _checked(os.path.realpath(path))


async def resolved(environment: ToolEnvironment, given: str, *, nearly: bool = False) -> str:
    """As `resolve`, in a thread; when cancelled, one that hangs in a dead disk is left behind."""
    find = partial(resolve, environment, given, nearly=nearly)
    return await to_thread.run_sync(find, abandon_on_cancel=True)


def _nearest(path: str) -> str:
    """Return `path` with each missing name replaced by the only one that looks the same."""
    found = "/"
    for name in path.split("/"):
        if name and not os.path.lexists(os.path.join(found, name)):
            names = alike(found, name)
            if len(names) != 1:
                return path
            (name,) = names  # noqa: PLW2901
        found = os.path.join(found, name)
    return found


def resolve_entry(environment: ToolEnvironment, given: str) -> str:
    """As `resolve`, but the last component is not followed: a link means the link itself."""
    folder, name = os.path.split(_absolute(environment, given).rstrip("/"))
    if name in ("", ".", ".."):
        raise ToolError(f"{quote_path(given)} does not name a file")
    return _checked(os.path.join(os.path.realpath(folder), name))


def target_paths(
    environment: ToolEnvironment, args: Args, *, entry: bool = False
) -> frozenset[str]:
    """Return the real path of `file_path`, or nothing when it is not a usable path."""
    given, find = args.get("file_path"), resolve_entry if entry else resolve
    if not isinstance(given, str):
        return frozenset()
    try:
        return frozenset({find(environment, given)})
    except (ToolError, OSError, ValueError):
        return frozenset()


def inside(root: str, path: str) -> bool:
    """Tell whether the real `path` is `root` or lies below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def needs_approval(environment: ToolEnvironment, path: str) -> bool:
    """Tell whether a person is asked about `path` in any case: outside, or protected.

    What such a file holds, or whether it exists, is not told before the gate.
    """
    return not inside(environment.workspace, path) or environment.hidden(path)


def relative(root: str, path: str) -> str:
    """Return the real `path` relative to `root` where it is inside, else as it is."""
    return os.path.relpath(path, root) if inside(root, path) else path


def display_path(environment: ToolEnvironment, path: str) -> str:
    """Return `path` for people: relative to the workspace when inside."""
    return relative(environment.workspace, path)


def description_line(text: str) -> str:
    """Return `text` as the one-line description of a call."""
    return visible_line(text, DESCRIPTION_CHARS_MAX)


def quote_path(path: str) -> str:
    """Return `path` for an error message."""
    return visible_line(path, SHOWN_CHARS_MAX)


@contextmanager
def folder_of(path: str) -> Generator[tuple[int, str]]:
    """Hold the folder of the real `path`: yields its handle and the last component.

    Raises:
        ToolError: a component is missing, is not a folder, or has become a link.
    """
    folder, name = os.path.split(path)
    with open_folder(folder) as handle:
        yield handle, name


@contextmanager
def open_folder(path: str) -> Generator[int]:
    """Walk to the real folder `path` without following links and hold it."""
    handle = os.open("/", _FOLDER)
    try:
        for name in path.split("/"):
            if name:
                handle = _step(handle, name, path)
        yield handle
    finally:
        os.close(handle)


def _step(handle: int, name: str, path: str) -> int:
    try:
        below = os.open(name, _FOLDER, dir_fd=handle)
    except FileNotFoundError:
        raise ToolError(f"{quote_path(path)}: no such folder") from None
    except OSError as error:
        raise _refusal(handle, name, path, error) from None
    os.close(handle)
    return below


def _refusal(handle: int, name: str, path: str, error: OSError) -> ToolError:
    kind = kind_at(handle, name)
    if kind is not None and stat.S_ISLNK(kind.st_mode):
        return ToolError(
            f"{quote_path(path)}: a part of the path has become a link; nothing was done"
        )
    return ToolError(f"{quote_path(path)}: {error.strerror}")


def kind_at(handle: int, name: str) -> os.stat_result | None:
    """Return what `name` is, the link itself if it is one, or `None` if there is nothing."""
    try:
        return os.stat(name, dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextmanager
def open_file(path: str) -> Generator[int]:
    """Open the real `path` for reading: a plain file and nothing else.

    Raises:
        ToolError: missing, a link by now, a folder, a device, a FIFO or a socket.
    """
    with folder_of(path) as (folder, name):
        handle = open_file_at(folder, name, path)
    try:
        yield handle
    finally:
        os.close(handle)


def open_file_at(folder: int, name: str, path: str, *, write: bool = False) -> int:
    """Open `name` in the held `folder`; the caller closes it. Raises as `open_file`."""
    kind = kind_at(folder, name)
    if kind is None:
        raise ToolError(f"{quote_path(path)}: no such file")
    require_plain(kind.st_mode, path)  # before opening: opening a device can have effects
    try:
        flags = _FILE | os.O_RDWR if write else _FILE  # O_RDONLY is 0
        handle = open_unlocked(name, flags, dir_fd=folder)
    except OSError as error:
        raise _refusal(folder, name, path, error) from None
    try:
        require_plain(os.fstat(handle).st_mode, path)
    except ToolError:
        os.close(handle)
        raise
    return handle


def require_plain(mode: int, path: str) -> None:
    """Refuse what is not a plain file.

    Raises:
        ToolError: it is something else; says what.
    """
    if not stat.S_ISREG(mode):
        raise ToolError(f"{quote_path(path)} is {kind_of(mode)}, not a file")


def kind_of(mode: int) -> str:
    """Name what a mode says a thing is."""
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISLNK(mode):
        return "a link by now"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


def _absolute(environment: ToolEnvironment, given: str) -> str:
    if not given or "\0" in given:
        raise ToolError("the path is empty or contains a NUL character")
    if len(given) > PATH_CHARS_MAX:
        raise ToolError(f"the path is longer than {PATH_CHARS_MAX} characters")
    if given.lower().startswith(_URL):
        plain = unquote("/" + given[len(_URL) :].partition("/")[2])
        raise ToolError(f"a URL is no path: give {quote_path(plain)}")
    if given == "~" or given.startswith("~/"):
        return environment.home + given[1:]
    return os.path.join(environment.workspace, given)


def _checked(real: str) -> str:
    try:
        real.encode()
    except UnicodeEncodeError:
        raise ToolError("the path leads to a name that is not valid UTF-8") from None
    if inside(_PROC, real):
        # /proc holds the engine's own memory and environment, readable by nobody but itself.
        raise ToolError(f"{quote_path(real)}: file tools do not open /proc")
    return real
