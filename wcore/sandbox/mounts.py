"""What bubblewrap is told: views of the machine as its arguments. Pure.

The order counts: each mount lies on top of those before it. Everything is read-only first; then
come private folders, the workspace, and last what is hidden or kept as it is within them.
"""

import posixpath
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from wcore.sandbox.masks import Masks, is_below
from wcore.views import WORKSPACE

#: As root they are left: what is in the workspace may belong to somebody else.
_ROOT_KEEPS: Final = ("CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER")
_NAMESPACES: Final = ("--unshare-pid", "--unshare-ipc", "--unshare-uts")
_NO_FILE: Final = "/dev/null"  # bound without devices: opening it is refused, to root as well
TMP: Final = "/tmp"
GIT_COPY: Final = "/dev/git"  # where git writes a configuration instead; /dev is new each time


class GitConfig(Struct, frozen=True):
    """A configuration of git at `real`, as it was `before`, and the folder with its copy."""

    real: str
    folder: str
    before: bytes


class Place(Struct, frozen=True):
    """What a sandbox is built around; all paths are absolute and resolved, and are there.

    Of `private` folders it has its own, each with the folder that is there instead: without one it
    is empty at first, and gone with the program. `usual` is where caches are, by the variable that
    says so, unless it says something else. `emptied` ones have nothing in them but what of
    `shown` lies there: the home, the interpreter, folders of PATH. `repository` are folders outside
    the workspace where git keeps its history, `git` a copy of its configuration that is written.
    """

    workspace: str
    private: Mapping[str, str | None] = {}
    usual: Mapping[str, str] = {}
    emptied: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    repository: tuple[str, ...] = ()
    git: GitConfig | None = None


def arguments(view: str, place: Place, masks: Masks, *, as_root: bool) -> list[str]:
    """Return the arguments for bubblewrap, without those that are numbers of descriptors."""
    writable = "--bind" if view == WORKSPACE else "--ro-bind"
    found = [*_NAMESPACES, "--cap-drop", "ALL"]
    if as_root:
        found += [part for name in _ROOT_KEEPS for part in ("--cap-add", name)]
    else:
        found += ["--unshare-user", "--disable-userns"]
    found += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    found += ["--ro-bind", "/proc/sys", "/proc/sys"]
    found += _around(place)
    for folder in (place.workspace, *place.repository):
        found += _bound(writable, folder)
    if view == WORKSPACE:
        links = [path for path, link in masks.names if link is not None]
        for folder in _between(place, (*masks.kept, *masks.folders, *masks.files, *links)):
            found += _bound("--bind", folder)
        copied = place.git.real if place.git else None  # there a link is mounted already
        for path in _outermost(path for path in masks.kept if path != copied):
            found += _bound("--ro-bind", path)
        found += ["--bind", place.git.folder, GIT_COPY] if place.git else []
    for folder in _outermost(masks.folders):
        found += ["--perms", "0000", "--tmpfs", folder, "--remount-ro", folder]
    for path in masks.files:
        if not is_below(path, masks.folders):
            found += ["--ro-bind", _NO_FILE, path]
    for folder in place.emptied:
        found += ["--remount-ro", folder]
    return [*found, "--chdir", place.workspace]


def _around(place: Place) -> list[str]:
    """Return what makes folders private or empty, and shows what must be there all the same."""
    instead = {**place.private, **dict.fromkeys(place.emptied)}
    shown = {path for path in place.shown if is_below(path, instead)}
    found: list[str] = []
    for path in sorted({*instead, *shown}, key=lambda path: path.split("/")):
        own = instead.get(path)
        if own is not None:
            found += ["--bind", own, path]
        else:
            found += ["--tmpfs", path] if path in instead else _bound("--ro-bind", path)
    return found


def _bound(how: str, path: str) -> list[str]:
    return [how, path, path]


def _between(place: Place, paths: Iterable[str]) -> list[str]:
    """Return the folders in which `paths` lie, within what is writable, the outermost first.

    Each is bound onto itself: what is a mount point cannot be renamed, with what lies in it.
    """
    found: set[str] = set()
    roots = (place.workspace, *place.repository)
    for path in paths:
        folder = posixpath.dirname(path)
        while folder not in roots and is_below(folder, roots):
            found.add(folder)
            folder = posixpath.dirname(folder)
    return sorted(found)


def _outermost(paths: Iterable[str]) -> list[str]:
    """Return the paths that lie in none of the others, sorted."""
    found: list[str] = []
    for path in sorted(set(paths), key=lambda path: path.split("/")):
        if not found or not is_below(path, found[-1:]):
            found.append(path)
    return found
