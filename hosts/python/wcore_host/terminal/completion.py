"""What `@` and `/` can be completed to."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from wcore_host.visible import visible_line

FILES_MAX: Final = 20_000  # of a workspace; what is deeper is found by typing its folder
FOUND_MAX: Final = 50  # more is not read
LIST_S: Final = 0.2  # of walking; the rest of a slow disk is found by typing its folder
FRESH_S: Final = 10.0  # how long a list of files is believed
SKIPPED: Final = frozenset(
    ".git node_modules __pycache__ .venv venv target dist build .mypy_cache .ruff_cache".split()
)
_FILE: Final = re.compile(r"(?:^|(?<=\s))@(\S*)$")
_ATTACHED: Final = re.compile(r"(?:^|(?<=\s))@(\S+)")
ATTACHED_MAX: Final = 20  # files of one message


@dataclass(frozen=True)
class Completion:
    """What may replace the text from `start` up to the cursor."""

    start: int
    found: tuple[str, ...]


class Completer:
    """Completes one line up to the cursor; keeps the list of files for a moment."""

    def __init__(self, folder: Path, commands: Sequence[str]) -> None:
        self._folder = folder
        self._commands = tuple(commands)
        self._files: list[str] = []
        self._listed_at = -FRESH_S

    def complete(self, before: str) -> Completion | None:
        """Return what may stand there instead, or `None`; lists the workspace if needed."""
        if before.startswith("/") and " " not in before:
            found = tuple(name for name in self._commands if name.startswith(before))
            return Completion(0, found) if found and found != (before,) else None
        at = _FILE.search(before)
        if at is None:
            return None
        files = tuple(name for name in ranked(at[1], self._list()) if name != at[1])
        return Completion(at.start(1), files) if files else None

    def _list(self) -> list[str]:
        if monotonic() - self._listed_at > FRESH_S:
            self._files = list_files(self._folder)
            self._listed_at = monotonic()
        return self._files


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
    for name in _ATTACHED.findall(text):
        path = root / name
        if path.is_file() and path.resolve().is_relative_to(root):
            found[name] = None
    return list(found)[:ATTACHED_MAX]
