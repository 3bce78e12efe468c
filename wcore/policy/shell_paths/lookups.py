"""What of the paths of a shell text is looked up on disk, and what is said of it. Values."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from wcore.policy.shell_paths.values import Hole, Value

PATH_CHARS_MAX: Final = 4096  # what the kernel takes


class LookupResult(Struct, frozen=True):
    """What is on disk. `real`: where a path leads, or the paths that fit a pattern.

    Of a pattern it is the folder it begins with that `exists`, and `names` are the last names of
    what fits. `below`: for each of `real` the relative paths in it, where that was asked for. Not
    `complete`: there is more than was looked at, or it could not be looked at.
    """

    real: tuple[str, ...]
    exists: bool = True
    has_parent: bool = True
    complete: bool = True
    names: tuple[str, ...] = ()
    below: tuple[tuple[str, ...], ...] = ()


class Component(Struct, frozen=True):
    """One name of a path: `parts` with any characters between them; one part is literal.

    `hidden`: a leading dot fits a hole as well. `deep`: it stands for any folders, or none.
    `exists`: what is not there is not meant.
    """

    parts: tuple[str, ...]
    hidden: bool = False
    deep: bool = False
    exists: bool = False

    def fits(self, name: str) -> bool:
        """Whether it may be `name`; linear, letters in either case."""
        if len(self.parts) == 1:
            return name == self.parts[0]
        if not self.parts[0] and not self.hidden and name.startswith("."):
            return False
        folded = name.casefold()
        first, *middle, last = (part.casefold() for part in self.parts)
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
    """What to look up. `holes`: where a `*` in `path` stands for any characters but `/`.

    Those in `patterns` take no leading dot of a name, those in `deep` are components that stand for
    any folders or none. A path without holes is literal. Letters fit in either case. `tree`: what
    lies below is wanted too, `copied` only, or to be changed. `searched`: only what is there.
    """

    path: str
    holes: tuple[int, ...] = ()
    patterns: tuple[int, ...] = ()
    deep: tuple[int, ...] = ()
    tree: bool = False
    copied: bool = False
    searched: bool = False

    @property
    def components(self) -> list[Component]:
        """The names that the path is made of, each as the literal parts between its holes."""
        found: list[Component] = []
        at = 1
        for name in self.path[1:].split("/"):
            cuts = [hole - at for hole in self.holes if at <= hole < at + len(name)]
            edges = zip([-1, *cuts], [*cuts, len(name)], strict=True)
            parts = tuple(name[begin + 1 : end] for begin, end in edges)
            is_deep = at in self.deep
            found.append(Component(parts, at not in self.patterns, is_deep, self.searched))
            at += len(name) + 1
        return found


Disk = Mapping[Candidate, LookupResult]


def candidate_of(value: Value, *, searched: bool = False) -> Candidate | None:
    """Return what to look up for an absolute value; `None` where that cannot be told.

    `searched`: a program looks for it, and finds only what is there.
    """
    if value.is_anything or not value.beginning.startswith("/"):
        return None
    path, holes, patterns, deep = "", list[int](), list[int](), list[int]()
    for piece in value.pieces:
        if isinstance(piece, Hole):
            holes.append(len(path))
            patterns += [len(path)] if piece is Hole.PATTERN else []
            deep += [len(path)] if piece is Hole.FOLDERS else []
            path += "*/" if piece is Hole.FOLDERS else "*"
        else:
            path += piece
    usable = len(path) <= PATH_CHARS_MAX and "\0" not in path
    marks = (tuple(holes), tuple(patterns), tuple(deep))
    return Candidate(path, *marks, searched=searched) if usable else None
