"""What appeared under a protected name while a program ran in a sandbox: it is taken away.

A name that is not there cannot be masked. So it is looked for afterwards, before anything else
runs, and may not stay: an editor, a shell or git would run what it says.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from wcore.sandbox.masks import (
    GIT_KEPT,
    GIT_LEFT,
    INSTALLED,
    Masks,
    Rules,
    first_link,
    guarded_names,
    is_bare,
    is_below,
    link_of,
    make_accessible,
)
from wcore.sandbox.repository import line_of, real_of
from wcore.visible import visible_line

TOLD_MAX: Final = 8  # paths in an error
NAME_CHARS_MAX: Final = 40  # of what is moved, in its new name: 255 bytes hold any of them
_MAY_BE_EMPTY: Final = ("hooks", "branches", "remotes")  # `git init` makes such
_SAMPLE: Final = ".sample"  # of the hooks that `git init` makes: they do nothing


class Moved(Struct, frozen=True):
    """A path that was taken away, and where it is now."""

    path: str
    to: str


def take_away(
    before: Masks,
    workspace: str,
    repository: Sequence[str],
    rules: Rules,
    to: str,
) -> tuple[list[Moved], str]:
    """Move what is new to the folder `to`, which is made; links that were there come back. Blocks.

    Return what was moved, and a sentence about what could not be, or be looked at.

    Where that is another file system, it stays beside where it was, under a name that nobody goes
    by: what a program leaves need not be what can be copied.
    """
    known = dict(before.names)
    links = {path: link for path, link in known.items() if link is not None}
    left: list[str] = []
    found = guarded_names(workspace, repository, rules, left)
    left = [path for path in left if path not in before.folders]
    gone = [e for p in found if p not in known for e in _harmful(p, workspace, rules)]
    roots = (workspace, *repository)
    other = [path for path, link in links.items() if link_of(path) != link]
    gone += [first_link(path, roots) for path in (*before.absent, *other) if os.path.lexists(path)]
    moved: list[Moved] = []
    for path in gone:
        if not os.path.lexists(path):
            continue  # it went with its folder
        folder, name = os.path.split(path)
        name = f"{len(moved)}-{name[:NAME_CHARS_MAX]}"
        beside = f"{folder}/quarantined-{os.path.basename(to)}-{name}"
        place = next((each for each in (f"{to}/{name}", beside) if _has_moved(path, each)), None)
        if place is None:
            left.append(path)
        else:
            moved.append(Moved(path, place))
    for path, link in links.items():
        if not os.path.lexists(path) and first_link(path, roots) == path:
            with suppress(OSError):
                os.symlink(link, path)
    left = [path for path in left if not is_below(path, [each.path for each in moved])]
    more = f" and {len(left) - TOLD_MAX} more" if len(left) > TOLD_MAX else ""
    told = ", ".join(map(visible_line, left[:TOLD_MAX])) + more
    why = "other programs may do what it left, and it cannot be moved"
    return moved, f"{why}: {told}" if left else ""


def _has_moved(path: str, place: str) -> bool:
    """Move what may lie in a folder, or be one, that was made unwritable."""
    try:
        for folder in (os.path.dirname(path), path):
            is_folder = os.path.isdir(folder) and not os.path.islink(folder)
            if is_folder and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                make_accessible(folder)
        os.makedirs(os.path.dirname(place), 0o700, exist_ok=True)
        os.rename(path, place)
    except OSError:
        return False
    return True


def _harmful(path: str, workspace: str, rules: Rules) -> list[str]:
    """Return what of a new path must go: of a repository only what may run programs."""
    folder, name = os.path.split(path)
    is_file = os.path.isfile(path) and not os.path.islink(path)
    if name == ".git":
        return [] if is_file and _leads_home(path, workspace) else [path]
    is_git = "/.git/" in f"{folder}/" or (name in GIT_KEPT and is_bare(folder))
    if not is_git or not (is_file or os.path.isdir(path)):
        return [path]
    if name in _MAY_BE_EMPTY and not os.path.islink(path) and os.path.isdir(path):
        return [f"{path}/{each}" for each in os.listdir(path) if not each.endswith(_SAMPLE)]
    if is_file and name in ("config", "config.worktree") and rules.is_harmless(path):
        return []
    is_worktree = is_file and folder.rpartition("/")[0].endswith("/.git/worktrees")
    if is_worktree and name == "commondir" and line_of(path) == "../..":
        return []
    is_ours = is_worktree and is_below(os.path.normpath(line_of(path)), (workspace,))
    return [] if is_ours and name == "gitdir" else [path]


def _leads_home(marker: str, workspace: str) -> bool:
    """Whether a file `.git` leads to a part of a repository that is looked at here as well."""
    told = line_of(marker, "gitdir: ")
    target = os.path.normpath(os.path.join(os.path.dirname(marker), told))
    if not told or not is_below(target, (workspace,)) or real_of(target) != target:
        return False
    before, _, behind = target.partition("/.git/")
    parts = {*before.removeprefix(workspace).split("/"), *behind.split("/")}
    is_part = behind.startswith(("worktrees/", "modules/"))
    return is_part and parts.isdisjoint({*INSTALLED, *GIT_LEFT, ".git"})
