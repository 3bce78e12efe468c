"""Looks up on disk where the words of a shell text lead; what that means is told by the policy."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from wcore.policy.protected import Places
from wcore.policy.shell.paths.named_paths import candidates, paths_named
from wcore.policy.shell.paths.values import Candidate, Component, LookupResult
from wcore.policy_files.plain_folders import plain_folders
from wcore.policy_files.programs import programs_of
from wcore.vocabulary import Named

COMPARED_MAX: Final = 65_536  # names that one text's patterns are held against: some 100 ms
FITTING_MAX: Final = 8192  # paths that one text's patterns fit; the decision looks at each

#: A folder may be a link then, that is made, moved or copied as one.
_LINKS: Final = re.compile(r"\b(?:ln|(?<!git )mv|cp +-\w*[adP])\b")
_MOVED: Final = re.compile(r"\b(?:cd|pushd)\b.*\bmv\b[^;&|]*\.\.", re.DOTALL)  # where it stands
_MOVES: Final = re.compile(r"\b(?:ln|cp|mv|tar|rsync)\b")  # a link may be among it; rarely is one
_CLIMB: Final = re.compile(r"/\.\.(?=/)")
_DESCRIPTOR: Final = re.compile(r"/(?:fd/+[0-9]+|std(?:in|out|err))/+[^/]")

Finder = Callable[[str, Mapping[str, str]], Named]


def finder(places: Places) -> Finder:
    """Return what tells the names in a text when it is run with an environment. Blocks."""

    def find(command: str, environ: Mapping[str, str]) -> Named:
        look = _PathLookup(command, places.workspace)
        disk = {each: look.at(each) for each in candidates(command, places, environ)}
        paths = tuple(paths_named(command, places, environ, disk))
        programs = programs_of(command, environ.get("PATH", ""), places.workspace)
        return Named(paths, programs, plain_folders(command, places.workspace))

    return find


class _PathLookup:
    """One look at the disk, with a limit on how many names are read and how many may fit."""

    def __init__(self, command: str, workspace: str) -> None:
        self._inside = f"{workspace}/"
        kinds = (_LINKS, _MOVES, _MOVED)
        self._links, self._moves, self._moved = (kind.search(command) for kind in kinds)
        self._compared = self._fitting = 0

    def at(self, candidate: Candidate) -> LookupResult:
        """Return what there is; it is not `complete` where that cannot be told."""
        if not candidate.is_literal:
            return self._of_pattern(candidate)
        try:
            real, is_sure = os.path.realpath(candidate.path), self._is_sure(candidate.path)
            exists, has_parent = os.path.lexists(real), os.path.isdir(os.path.dirname(real))
            return LookupResult((real,), exists, has_parent, complete=is_sure)
        except (OSError, ValueError):
            return LookupResult((candidate.path,), complete=False)

    def _is_sure(self, path: str) -> bool:
        """Whether a path leads there when the text runs as well: a new link may be on its way."""
        folder = os.path.dirname(path)
        is_ours = self._links and f"{os.path.normpath(folder)}/".startswith(self._inside)
        passed = [path[: each.start()] for each in _CLIMB.finditer(f"{path}/")]
        passed += [folder] if is_ours else []
        if _DESCRIPTOR.search(path) or (self._moved and _CLIMB.search(f"{path}/")):
            return False
        return not self._moves or all(map(os.path.isdir, passed))

    def _of_pattern(self, candidate: Candidate) -> LookupResult:
        if self._compared > COMPARED_MAX or self._fitting > FITTING_MAX:
            return LookupResult((), complete=False)
        fitting: list[str] = []
        is_whole = False
        with suppress(OSError, ValueError):
            for each in self._below("/", candidate.components):
                fitting.append(each)
                self._fitting += 1
                # A file named like an option is one, where a pattern puts it among the words.
                if self._fitting > FITTING_MAX or os.path.basename(each).startswith("-"):
                    break
            else:
                is_whole = True
        return LookupResult(tuple(fitting), os.path.isdir(candidate.folder), complete=is_whole)

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
            if path is not None:
                yield from self._below(path, rest)
        else:
            yield from self._fit(folder, component, rest)

    def _fit(self, folder: str, component: Component, rest: Sequence[Component]) -> Iterator[str]:
        for entry in (each for each in self._entries(folder) if component.fits(each.name)):
            path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
            if not rest or os.path.isdir(path):
                yield from self._below(path, rest)

    def _entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._compared += 1
                    if self._compared > COMPARED_MAX:
                        raise ValueError("too many names")
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
    if not os.path.lexists(path):
        return path if is_last else None
    return os.path.realpath(path) if os.path.islink(path) else path
