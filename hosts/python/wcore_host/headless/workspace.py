"""The files of a workspace, as a person names them in a message with `@`."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Final

from wcore_host.visible import visible_line

FILES_MAX: Final = 20_000  # of a workspace; what is deeper is found by typing its folder
FOUND_MAX: Final = 50  # more is not read
LIST_S: Final = 0.2  # of walking; the rest of a slow disk is found by typing its folder
FRESH_S: Final = 10.0  # how long a list of files is believed
ATTACHED_MAX: Final = 20  # files of one message
NAMED_MAX: Final = 200  # words with `@` that are looked up; a pasted log may have thousands
SKIPPED: Final = frozenset(
    ".git node_modules __pycache__ .venv venv target dist build .mypy_cache .ruff_cache".split()
)
_ATTACHED: Final = re.compile(r"(?:^|(?<=\s))@(\S+)")


class WorkspaceFiles:
    """What there is below a folder; the list is kept for a moment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: list[str] = []
        self._listed_at = -FRESH_S

    def find(self, wanted: str) -> tuple[str, ...]:
        """Return the files that `wanted` may mean, the likeliest first; walks at most `LIST_S`."""
        if monotonic() - self._listed_at > FRESH_S:
            self._files = list_files(self._folder)
            self._listed_at = monotonic()
        return ranked(wanted, self._files)


def ranked(wanted: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return the files that `wanted` may mean, the likeliest first. Pure."""
    small = wanted.casefold()
    scored: list[tuple[int, int, str]] = []
    for name in files:
        path = name.casefold()
        base = path.rstrip("/").rpartition("/")[2]
        if path.startswith(small):
            scored.append((0, len(name), name))
        elif base.startswith(small):
            scored.append((1, len(name), name))
        elif small in path:
            scored.append((2, len(name), name))
    return tuple(name for _, _, name in sorted(scored)[:FOUND_MAX])


def list_files(folder: Path) -> list[str]:
    """Return files and folders (with `/`) below `folder`, relative, without hidden ones.

    A name that cannot be shown as it is (control or direction marks, spaces) is left out: it
    would be something else in the prompt than what the person picked.
    """
    found: list[str] = []
    until = monotonic() + LIST_S
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(n for n in folders if n not in SKIPPED and not n.startswith("."))
        inside = Path(place).relative_to(folder)
        names = [*sorted(files), *(f"{name}/" for name in folders)]
        for name in names:
            path = (inside / name).as_posix() + ("/" if name.endswith("/") else "")
            if visible_line(path) == path and not re.search(r"\s", path):
                found.append(path)
        if len(found) >= FILES_MAX or monotonic() > until:
            break
    return found[:FILES_MAX]


def attached(text: str, folder: Path) -> list[str]:
    """Return the files of the workspace that a message names with `@`.

    Never one outside: a message may have been pasted by somebody who did not read it.
    """
    root = folder.resolve()
    found: dict[str, None] = {}
    for match in islice(_ATTACHED.finditer(text), NAMED_MAX):
        with suppress(OSError):  # a name that is longer than names can be
            path = root / match[1]
            if path.is_file() and path.resolve().is_relative_to(root):
                found[match[1]] = None
    return list(found)[:ATTACHED_MAX]
