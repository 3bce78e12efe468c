"""Looks up on disk where the words of a shell text lead; what that means is told by the policy."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from wcore.policy.protected import Places
from wcore.policy.shell.paths.named_paths import candidates, paths_named
from wcore.policy.shell.paths.values import Candidate, Component, LookupResult
from wcore.policy_files.plain_folders import plain_folders
from wcore.policy_files.programs import programs_of
from wcore.vocabulary import Named

COMPARED_MAX: Final = 65_536  # names that one text's patterns are held against: some 100 ms
FITTING_MAX: Final = 8192  # paths that one text's patterns fit; the decision looks at each

Finder = Callable[[str, Mapping[str, str]], Named]


def finder(places: Places) -> Finder:
    """Return what tells the names in a text when it is run with an environment. Blocks."""

    def find(command: str, environ: Mapping[str, str]) -> Named:
        look = _PathLookup()
        disk = {each: look.at(each) for each in candidates(command, places, environ)}
        paths = tuple(paths_named(command, places, environ, disk))
        programs = programs_of(command, environ.get("PATH", ""), places.workspace)
        return Named(paths, programs, plain_folders(command, places.workspace))

    return find


class _TooManyError(Exception):
    """The limits of a look are reached."""


class _PathLookup:
    """One look at the disk, with a limit on how many names are read and how many may fit."""

    def __init__(self) -> None:
        self._compared = 0
        self._fitting = 0

    def at(self, candidate: Candidate) -> LookupResult:
        """Return what there is; it is not `complete` where that cannot be told."""
        if not candidate.is_literal:
            return self._of_pattern(candidate)
        try:
            real = os.path.realpath(candidate.path)
            parent = os.path.dirname(real)
            return LookupResult((real,), os.path.lexists(real), os.path.isdir(parent))
        except (OSError, ValueError):
            return LookupResult((candidate.path,), complete=False)

    def _of_pattern(self, candidate: Candidate) -> LookupResult:
        if self._compared > COMPARED_MAX or self._fitting > FITTING_MAX:
            return LookupResult((), complete=False)
        fitting: list[str] = []
        complete = True
        try:
            for each in self._below("/", candidate.components):
                fitting.append(each)
                self._fitting += 1
                if self._fitting > FITTING_MAX:
                    complete = False
                    break
        except (_TooManyError, OSError, ValueError):
            complete = False
        exists = not complete or os.path.isdir(candidate.folder)
        return LookupResult(tuple(fitting), exists, complete=complete)

    def _below(self, folder: str, components: Sequence[Component]) -> Iterator[str]:
        """Yield the paths that fit below a folder, both without links.

        A last name need not exist: the text may make it.
        """
        if not components:
            yield folder
            return
        component, *rest = components
        if component.is_deep:
            yield from self._below(folder, rest)
            for entry in self._entries(folder):
                if entry.is_dir(follow_symlinks=False):
                    yield from self._below(entry.path, components)
        elif component.is_literal:
            is_made = not rest and not component.exists
            path = _entered(folder, component.name, is_last=is_made)
            if path is not None and not rest:
                yield path
            elif path is not None:
                yield from self._below(path, rest)
        else:
            yield from self._fit(folder, component, rest)

    def _fit(self, folder: str, component: Component, rest: Sequence[Component]) -> Iterator[str]:
        for entry in self._entries(folder):
            if not component.fits(entry.name):
                continue
            path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
            if not rest:
                yield path
            elif os.path.isdir(path):
                yield from self._below(path, rest)

    def _entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._compared += 1
                    if self._compared > COMPARED_MAX:
                        raise _TooManyError
                    yield entry
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return  # no folder, or not ours to read


def _entered(folder: str, name: str, *, is_last: bool) -> str | None:
    """Return where `name` in a folder leads; `None`: nothing is there, nor may be made there."""
    if name in ("", "."):
        return folder
    if name == "..":
        return os.path.dirname(folder)
    path = os.path.join(folder, name)
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return path if is_last else None
    return os.path.realpath(path) if stat.S_ISLNK(mode) else path
