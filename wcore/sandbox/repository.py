"""Where git keeps the history of a workspace that is a worktree, or a folder of a repository.

Found without git. What the workspace says about that is believed only where the other side says the
same: else a file in it could make any folder writable.
"""

import os
import re
import stat
from pathlib import PurePath
from typing import Final

from wcore.locked_files import open_unlocked

LINE_BYTES_MAX: Final = 4096 + 16  # a path, and what stands before it
CONFIG_BYTES_MAX: Final = 64 * 1024  # of a configuration that is looked into
CONFIGS_MAX: Final = 16  # that name each other
#: By whatever section: in most of them such a value names a program, which may be kept as well.
_NAMES_PATH: Final = re.compile(
    rb"^[^#;\n]*?\b(?:path|hookspath)[ \t]*=[ \t]*\"?([^\"\n]+)", re.IGNORECASE | re.MULTILINE
)
_HAS: Final = ("HEAD", "objects", "refs")  # what makes a folder a repository


def repository_folders(workspace: str) -> tuple[str, ...]:
    """Return the resolved folders outside the workspace that git would write there."""
    found = next((f for f in _upwards(workspace) if os.path.lexists(f"{f}/.git")), None)
    if found is None:
        return ()
    marker = f"{found}/.git"
    if os.path.isdir(marker):
        folders = [] if found == workspace else [real_of(marker)]
    else:
        folders = _of_worktree(marker)
    return tuple(folder for folder in folders if not f"{folder}/".startswith(f"{workspace}/"))


def named_by(config: str, *folders: str) -> list[str]:
    """Return what a configuration of git may include, and its folders of hooks.

    A path is relative to the configuration or to one of `folders`, also if it begins with `~/`, and
    need not be there.
    """
    left, found = [config], list[str]()
    for each in left:  # grows
        named = _NAMES_PATH.findall(_text_of(each, CONFIG_BYTES_MAX))
        for value in map(os.fsdecode, named):
            base = (os.path.dirname(each), *folders)
            name = value.strip().removeprefix("~/")
            paths = [os.path.normpath(os.path.join(folder, name)) for folder in base]
            found += paths
            left += [path for path in paths if path not in left and os.path.isfile(path)]
        if len(left) > CONFIGS_MAX:
            break
    return list(dict.fromkeys(found))


def _of_worktree(marker: str) -> list[str]:
    own = real_of(os.path.join(os.path.dirname(marker), line_of(marker, "gitdir: ")))
    common = real_of(os.path.join(own, line_of(f"{own}/commondir")))
    is_mutual = real_of(line_of(f"{own}/gitdir") or "/") == real_of(marker)
    is_below = os.path.dirname(own) == f"{common}/worktrees"
    is_repository = all(os.path.exists(f"{common}/{name}") for name in _HAS)
    return [common] if is_mutual and is_below and is_repository else []


def _upwards(folder: str) -> list[str]:
    return [folder, *map(str, PurePath(folder).parents)]


def line_of(path: str, begin: str = "") -> str:
    """Return the line that a file of git has, without how it begins; else nothing."""
    line = os.fsdecode(_text_of(path, LINE_BYTES_MAX)).strip()
    return line.removeprefix(begin) if line.startswith(begin) else ""


def _text_of(path: str, most: int) -> bytes:
    found = beginning_of(path, most) or b""
    return b"" if b"\0" in found else found


def beginning_of(path: str, most: int) -> bytes | None:
    """Return the first bytes of a file, `most` of them; `None`: it is none, or cannot be read.

    It waits for nobody, and drops no lock of the store.
    """
    try:
        with os.fdopen(open_unlocked(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return file.read(most) if is_file else None
    except (OSError, ValueError):
        return None


def real_of(path: str) -> str:
    """Return where a path leads; a link that may not be followed leads to itself."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path
