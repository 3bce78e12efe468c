"""Where git keeps the history of a workspace that is a worktree, or a folder of a repository.

Found without git. What the workspace says about that is believed only where the other side says the
same: else a file in it could make any folder writable.
"""

import os
from pathlib import PurePath
from typing import Final

LINE_BYTES_MAX: Final = 4096 + 16  # a path, and what stands before it
_HAS: Final = ("HEAD", "objects", "refs")  # what makes a folder a repository


def repository_folders(workspace: str) -> tuple[str, ...]:
    """Return the resolved folders outside the workspace that git would write there."""
    found = next((f for f in _upwards(workspace) if os.path.lexists(f"{f}/.git")), None)
    if found is None:
        return ()
    marker = f"{found}/.git"
    if os.path.isdir(marker):
        folders = [] if found == workspace else [os.path.realpath(marker)]
    else:
        folders = _of_worktree(marker)
    return tuple(folder for folder in folders if not f"{folder}/".startswith(f"{workspace}/"))


def _of_worktree(marker: str) -> list[str]:
    own = os.path.realpath(os.path.join(os.path.dirname(marker), _line(marker, "gitdir: ")))
    common = os.path.realpath(os.path.join(own, _line(f"{own}/commondir")))
    is_mutual = os.path.realpath(_line(f"{own}/gitdir") or "/") == os.path.realpath(marker)
    is_below = os.path.dirname(own) == f"{common}/worktrees"
    is_repository = all(os.path.exists(f"{common}/{name}") for name in _HAS)
    return [common] if is_mutual and is_below and is_repository else []


def _upwards(folder: str) -> list[str]:
    return [folder, *map(str, PurePath(folder).parents)]


def _line(path: str, begin: str = "") -> str:
    try:
        with open(path, "rb") as file:
            line = os.fsdecode(file.read(LINE_BYTES_MAX)).strip()
    except OSError:
        return ""
    return line.removeprefix(begin) if line.startswith(begin) else ""
