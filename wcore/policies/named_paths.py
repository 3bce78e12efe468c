"""Looks up on disk where the words of a shell text lead; what that means is told by the policy."""

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from wcore.policies.programs import programs_of
from wcore.policy.protected import OWN_FOLDER, Places
from wcore.policy.shell_paths.naming import Candidate, Found, candidates, paths_named
from wcore.vocabulary import Named

ENTRIES_MAX: Final = 4096  # of folders, read for the patterns of one text: some 10 ms
TREE_ENTRIES_MAX: Final = 16_384  # of folders that a text changes or copies: some 100 ms
FITTING_MAX: Final = 128  # paths that one pattern fits; what is beyond is compared by its name only

#: Folders that other programs fill and can fill again: what they hold is not the user's.
_MADE_FOLDERS: Final = frozenset(["node_modules", "site-packages", "__pycache__"])
_CLOSED: Final = _MADE_FOLDERS | {".git", OWN_FOLDER}  # their name says what they hold

Finder = Callable[[str, Mapping[str, str]], Named]


def finder(places: Places) -> Finder:
    """Return what tells the names in a text when it is run with an environment. Blocks."""

    def find(command: str, environ: Mapping[str, str]) -> Named:
        look = _Look()
        wanted = candidates(command, places, environ)
        disk = {each: found for each in wanted if (found := look.at(each)) is not None}
        paths = tuple(paths_named(command, places, environ, disk))
        return Named(paths, programs_of(command, environ.get("PATH", ""), places.workspace))

    return find


class _Look:
    """One look at the disk, with a limit on how many names are read."""

    def __init__(self) -> None:
        self._left = ENTRIES_MAX
        self._left_below = TREE_ENTRIES_MAX

    def at(self, candidate: Candidate) -> Found | None:
        """Return what there is; `None` where that cannot be told."""
        try:
            if not candidate.holes:
                real = os.path.realpath(candidate.path)
                parent = os.path.dirname(real)
                below = self._trees(candidate, (candidate.path,))
                if below is None:
                    return None
                return Found((real,), os.path.lexists(real), os.path.isdir(parent), below=below)
            fitting = list(self._fitting(candidate))
        except (OSError, ValueError):
            return None
        if self._left <= 0 or len(fitting) > FITTING_MAX:
            return None
        folder = candidate.path[: candidate.holes[0]].rpartition("/")[0]
        real = tuple(os.path.realpath(path) for path in fitting)
        names = tuple(os.path.basename(path) for path in fitting)
        below = self._trees(candidate, fitting)
        exists = os.path.isdir(folder or "/")
        return None if below is None else Found(real, exists, names=names, below=below)

    def _trees(
        self, candidate: Candidate, paths: Iterable[str]
    ) -> tuple[tuple[str, ...], ...] | None:
        """Return what lies below each path; `None`: there is too much."""
        found: list[tuple[str, ...]] = []
        for path in paths if candidate.deep else ():
            is_made = os.path.basename(os.path.realpath(path)) in _MADE_FOLDERS
            found.append(() if is_made and not candidate.copied else tuple(self._tree(path)))
        return None if self._left_below <= 0 else tuple(found)

    def _tree(self, root: str) -> Iterator[str]:
        """Yield the relative paths below a folder, those nearest to it first."""
        waiting = deque([("", root)])
        while waiting:
            above, folder = waiting.popleft()
            try:
                entries = os.scandir(folder)
            except OSError:  # no folder, or not ours to read
                continue
            with entries:
                for entry in entries:
                    self._left_below -= 1
                    if self._left_below <= 0:
                        return
                    yield above + entry.name
                    if entry.name not in _CLOSED and entry.is_dir(follow_symlinks=False):
                        waiting.append((f"{above}{entry.name}/", entry.path))

    def _fitting(self, candidate: Candidate) -> Iterator[str]:
        """Yield the paths that fit a pattern."""
        parts: list[tuple[str, bool]] = []
        at = 1
        for part in candidate.path[1:].split("/"):
            holes = [hole - at for hole in candidate.holes if at <= hole < at + len(part)]
            hides = "" if at not in candidate.patterns else r"(?!\.)"
            parts.append((hides + _expression(part, holes) if holes else part, bool(holes)))
            at += len(part) + 1
        yield from self._below("/", parts)

    def _below(self, folder: str, parts: list[tuple[str, bool]]) -> Iterator[str]:
        if not parts:
            yield folder
            return
        (part, is_pattern), *rest = parts
        if not is_pattern:
            path = os.path.join(folder, part) if part else folder
            if os.path.lexists(path):
                yield from self._below(path, rest)
            return
        for name in self._names(folder):
            if re.fullmatch(part, name, re.DOTALL):
                yield from self._below(os.path.join(folder, name), rest)

    def _names(self, folder: str) -> list[str]:
        found: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left <= 0:
                        break
                    found.append(entry.name)
        except OSError:  # no folder, or not ours to read
            return []
        return found


def _expression(part: str, holes: list[int]) -> str:
    """Return the expression of one component; a `*` that is no hole is a character."""
    found, at = "", 0
    for hole in holes:
        found += re.escape(part[at:hole]) + ".*?"
        at = hole + 1
    return found + re.escape(part[at:])
