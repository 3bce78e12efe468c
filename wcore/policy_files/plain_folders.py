"""Looks up on disk whether a folder that a shell text enters is a plain one of the workspace.

That is one that belongs to the project: no link leads there, git does not ignore it, it is neither
hidden nor filled by another program, and no repository of its own, whose code somebody else wrote.
"""

import os
from itertools import islice
from pathlib import Path
from typing import Final

from wcore.policy.shell import folders_entered, lex, may_enter

ENTRIES_MAX: Final = 4096  # of a folder on the way; in one with more nobody looks for the next
FOLDERS_MAX: Final = 8  # of one text; in any further one its commands ask

#: Folders that other programs fill and can fill again: what they hold is not the user's.
MADE_FOLDERS: Final = frozenset(["node_modules", "site-packages", "__pycache__"])


def plain_folders(command: str, workspace: str) -> tuple[str, ...]:
    """Return the folders that `command` enters, as it names them, that are plain ones. Blocks."""
    found = folders_entered(lex(command)) if may_enter(command) else ()
    named = list(dict.fromkeys(found))[:FOLDERS_MAX]
    return tuple(each for each in named if _is_plain(each, workspace))


def _is_plain(folder: str, workspace: str) -> bool:
    path = Path(os.path.normpath(os.path.join(workspace, folder)))
    try:
        depth = len(path.relative_to(workspace).parts)
        leads_there = ".." not in folder.split("/") and os.path.realpath(path) == str(path)
        return leads_there and path.is_dir() and all(map(_is_ours, [path, *path.parents][:depth]))
    except (OSError, ValueError):
        return False


def _is_ours(folder: Path) -> bool:
    is_closed = folder.name.startswith(".") or folder.name in MADE_FOLDERS
    return not is_closed and not os.path.lexists(folder / ".git") and _is_kept(folder)


def _is_kept(folder: Path) -> bool:
    """Whether git's rules, those of the folders above too, do not leave a folder out."""
    from ignore import Error, WalkBuilder  # noqa: PLC0415 - a native library, on first use
    from ignore import IOError as WalkIOError  # noqa: PLC0415

    no = False  # the library takes its switches by position
    builder = WalkBuilder(folder.parent).hidden(no).require_git(no).follow_links(no).max_depth(1)
    try:
        return any(each.path() == folder for each in islice(builder.build(), ENTRIES_MAX))
    except (Error, WalkIOError):
        return False
