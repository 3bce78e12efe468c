"""Paths with holes, and what of them is looked up on disk. Values.

A hole is a character that stands in no command, for what nobody knows before the text runs.
"""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

ANY: Final = "\0"  # anything
PATTERN: Final = "\1"  # what a file name pattern takes: no `/`, no leading dot of a name
NAME: Final = "\2"  # anything without `/`
FOLDERS: Final = "\3"  # between two `/`: any folders, or none
HOLES: Final = re.compile("[\0-\3]")
PATH_CHARS_MAX: Final = 4096  # what the kernel takes


def literal(value: str) -> str | None:
    """Return what a value is, where all of it is known."""
    return None if HOLES.search(value) else value


def beginning(value: str) -> str:
    """Return the literal text that a value begins with."""
    return HOLES.split(value, maxsplit=1)[0]


class LookupResult(Struct, frozen=True):
    """What is on disk. `real`: where a path leads, or the paths that fit a pattern.

    Of a pattern it is the folder it begins with that `exists`. Not `complete`: there is more than
    was looked at, or it could not be looked at.
    """

    real: tuple[str, ...]
    exists: bool = True
    has_parent: bool = True
    complete: bool = True


class Component(Struct, frozen=True):
    """One name of a path; `exists`: what is not there is not meant."""

    name: str
    exists: bool = False

    @property
    def is_literal(self) -> bool:
        return literal(self.name) is not None

    @property
    def is_deep(self) -> bool:
        return self.name == FOLDERS

    def fits(self, name: str) -> bool:
        """Whether it may be `name`; linear, letters in either case."""
        if self.is_literal:
            return name == self.name
        if self.name.startswith(PATTERN) and name.startswith("."):
            return False
        folded = name.casefold()
        first, *middle, last = HOLES.split(self.name.casefold())
        if not folded.startswith(first):
            return False
        at = len(first)
        for part in middle:
            found = folded.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return len(folded) - at >= len(last) and folded.endswith(last)


class Candidate(Struct, frozen=True):
    """A path to look up, with holes or without; `searched`: only what is there is meant."""

    path: str
    searched: bool = False

    @property
    def is_literal(self) -> bool:
        return literal(self.path) is not None

    @property
    def folder(self) -> str:
        """The folder that it begins with."""
        return beginning(self.path).rpartition("/")[0] or "/"

    @property
    def components(self) -> list[Component]:
        return [Component(name, self.searched) for name in self.path[1:].split("/")]


Disk = Mapping[Candidate, LookupResult]


def candidate_of(value: str) -> Candidate | None:
    """Return what to look up for an absolute value; `None` where that cannot be told."""
    if ANY in value or not value.startswith("/") or len(value) > PATH_CHARS_MAX:
        return None
    return Candidate(value, f"/{FOLDERS}/" in value)
