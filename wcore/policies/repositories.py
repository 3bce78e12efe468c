"""Looks up on disk whether the configuration of a git repository names programs.

`git diff`, `log -p`, `show`, `status` and their kind run them: filters, drivers of diffs, what
checks signatures or fetches what is missing. There is no switch that turns them all off.
"""

import os
import re
import stat
from typing import Final

from wcore.locked_files import open_unlocked

CONFIG_BYTES_MAX: Final = 64 * 1024  # of a repository's configuration; a larger one may name any
DEPTH_MAX: Final = 64  # folders above the one where git is started

_PROGRAM: Final = re.compile(
    r"(?:^|\])[ \t\r]*(?:external|command|textconv|clean|process|program|sshcommand|uploadpack"
    r"|gitproxy|allow|driver)[ \t\r]*(?:=(?![ \t]*\"?git-lfs [a-z -]*(?:%f)?\"?$)|\\?$)"
    r"|\[[ \t\r]*include",
    re.IGNORECASE | re.MULTILINE,
)
_LINK: Final = "gitdir: "
_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not hold us up


def names_programs(folder: str) -> bool:
    """Whether git, started in `folder`, reads a repository's configuration that names programs.

    What cannot be read may name some. Blocks.
    """
    for _ in range(DEPTH_MAX):
        place = os.path.join(folder, ".git")
        if os.path.lexists(place):
            return _names(place)
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return True


def _names(place: str) -> bool:
    try:
        folders = [place] if os.path.isdir(place) else _linked(place)
        texts = [
            _text(os.path.join(folder, name))
            for folder in folders
            for name in ("config", "config.worktree")
        ]
    except (OSError, ValueError):
        return True
    return any(_PROGRAM.search(text) for text in texts)


def _linked(place: str) -> list[str]:
    """Return where a `.git` that is a file leads: the folder of a work tree, and the common one."""
    first = _text(place)
    if not first.startswith(_LINK):
        raise ValueError("no repository")
    folder = os.path.join(os.path.dirname(place), first.removeprefix(_LINK).strip())
    common = _text(os.path.join(folder, "commondir")).strip()
    return [folder, os.path.join(folder, common)] if common else [folder]


def _text(path: str) -> str:
    """Return the text of a file; nothing if there is none.

    Raises:
        OSError: it cannot be read.
        ValueError: it is too long or no file.
    """
    try:
        handle = open_unlocked(path, _FLAGS)
    except FileNotFoundError:
        return ""
    with open(handle, "rb", closefd=True) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("no file")
        data = file.read(CONFIG_BYTES_MAX + 1)
    if len(data) > CONFIG_BYTES_MAX:
        raise ValueError("too long")
    return data.decode("utf-8", "replace").replace("\r\n", "\n")
