"""What appeared under a protected name while a program ran in a sandbox: it is taken away.

A name that is not there cannot be masked. So it is looked for afterwards, before anything else
runs, and may not stay: an editor, a shell or git would run what it says.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from wcore.sandbox.masks import Rules, SandboxError, guarded_names

_SAMPLE = ".sample"  # of the hooks that `git init` makes: they do nothing


class Before(Struct, frozen=True):
    """The protected names of a workspace, before a program runs in it. Links lead somewhere."""

    names: dict[str, str | None]


class Moved(Struct, frozen=True):
    """A path that was taken away, and where it is now."""

    path: str
    to: str


def before(workspace: str, repository: Sequence[str], rules: Rules) -> Before:
    """Note which protected names there are."""
    found = guarded_names(workspace, repository, rules)
    return Before({path: _link(path) for path in found})


def take_away(
    noted: Before,
    workspace: str,
    repository: Sequence[str],
    rules: Rules,
    to: str,
    is_harmless: Callable[[str], bool],
) -> list[Moved]:
    """Move what is new to the folder `to`, which is made; links that were there come back.

    `is_harmless` tells whether a configuration of git names no program. Blocks.

    Raises:
        SandboxError: something could not be moved.
    """
    moved: list[Moved] = []
    for path in guarded_names(workspace, repository, rules):
        was_there = path in noted.names
        if was_there and noted.names[path] == _link(path):
            continue
        for each in [path] if was_there else _of_repository(path, is_harmless):
            if not os.path.lexists(each):
                continue  # it went with its folder
            kept = f"{to}/{len(moved)}-{os.path.basename(each)}"
            try:
                os.makedirs(to, 0o700, exist_ok=True)
                shutil.move(each, kept)
            except OSError as error:
                raise SandboxError(f"{each} could not be taken away: {error.strerror}") from error
            moved.append(Moved(each, kept))
    for path, target in noted.names.items():
        if target is not None and not os.path.lexists(path):
            with suppress(OSError):
                os.symlink(target, path)
    return moved


def _of_repository(path: str, is_harmless: Callable[[str], bool]) -> list[str]:
    """Return what of a new path must go: of a new repository only what may run programs."""
    folder, name = os.path.split(path)
    if "/.git/" not in f"{folder}/":
        return [path]
    if os.path.islink(path):
        return [path]
    if name == "hooks" and os.path.isdir(path):
        return [f"{path}/{each}" for each in os.listdir(path) if not each.endswith(_SAMPLE)]
    return [] if name == "config" and os.path.isfile(path) and is_harmless(path) else [path]


def _link(path: str) -> str | None:
    with suppress(OSError):
        return os.readlink(path)
    return None
