"""What appeared under a protected name while a program ran in a sandbox: it is taken away.

A name that is not there cannot be masked. So it is looked for afterwards, before anything else
runs, and may not stay: an editor, a shell or git would run what it says.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from msgspec import Struct

from wcore.sandbox.masks import Rules, SandboxError, guarded_names

_SAMPLE = ".sample"  # of the hooks that `git init` makes: they do nothing


class Moved(Struct, frozen=True):
    """A path that was taken away, and where it is now."""

    path: str
    to: str


def take_away(
    before: Iterable[tuple[str, str | None]],
    workspace: str,
    repository: Sequence[str],
    rules: Rules,
    to: str,
    is_harmless: Callable[[str], bool],
) -> list[Moved]:
    """Move what is new to the folder `to`, which is made; links that were there come back.

    `before` are the names of the masks; `is_harmless` tells whether a configuration of git names
    no program. Blocks.

    Raises:
        SandboxError: something could not be moved.
    """
    moved: list[Moved] = []
    known = dict(before)
    for path, link in guarded_names(workspace, repository, rules):
        was_there = path in known
        if was_there and known[path] == link:
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
    for path, link in known.items():
        if link is not None and not os.path.lexists(path):
            with suppress(OSError):
                os.symlink(link, path)
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
