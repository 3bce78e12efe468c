"""Looks up on disk where the words of a shell text lead; what that means is told by the policy."""

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from wcore.policies.programs import programs_of
from wcore.policy.protected import Places
from wcore.policy.shell_paths.lookups import Candidate, Component, Found
from wcore.policy.shell_paths.naming import candidates, paths_named
from wcore.vocabulary import Named

ENTRIES_MAX: Final = 4096  # of folders, read for the patterns of one text: some 10 ms
FITTING_MAX: Final = 128  # paths that one pattern fits; what is beyond is compared by its name only

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

    def at(self, candidate: Candidate) -> Found | None:
        """Return what there is; `None` where that cannot be told."""
        try:
            if not candidate.holes:
                real = os.path.realpath(candidate.path)
                parent = os.path.dirname(real)
                return Found((real,), os.path.lexists(real), os.path.isdir(parent))
            below = self._below("/", candidate.components)
            fitting = list(itertools.islice(below, FITTING_MAX + 1))
        except (OSError, ValueError):
            return None
        if self._left <= 0 or len(fitting) > FITTING_MAX:
            return None
        folder = candidate.path[: candidate.holes[0]].rpartition("/")[0]
        real = tuple(os.path.realpath(path) for path in fitting)
        return Found(real, exists=os.path.isdir(folder or "/"))

    def _below(self, folder: str, components: Sequence[Component]) -> Iterator[str]:
        """Yield the paths that fit. A last name need not exist: the text may make it."""
        if not components:
            yield folder
            return
        component, *rest = components
        if component.deep:
            yield from self._below(folder, rest)
            for name in self._names(folder):
                path = os.path.join(folder, name)
                if os.path.isdir(path) and not os.path.islink(path):
                    yield from self._below(path, components)
        elif len(component.parts) == 1:
            path = os.path.join(folder, component.parts[0]) if component.parts[0] else folder
            if not rest or os.path.lexists(path):
                yield from self._below(path, rest)
        else:
            for name in self._names(folder):
                if component.fits(name):
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
