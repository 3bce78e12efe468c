"""What the paths of a text need to know of the disk: questions and answers, as values."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from wcore.policy.shell_paths.values import Hole, Value

PATH_CHARS_MAX: Final = 4096  # what the kernel takes


class Found(Struct, frozen=True):
    """What is on disk. `real`: where a path leads, or the paths that fit a pattern.

    Of a pattern it is the folder it begins with that `exists`, and `names` are the last components
    of what fits. `below`: for each of `real` the relative paths in it, where that was asked for.
    """

    real: tuple[str, ...]
    exists: bool = True
    has_parent: bool = True
    names: tuple[str, ...] = ()
    below: tuple[tuple[str, ...], ...] = ()


class Candidate(Struct, frozen=True):
    """What to look up. `holes`: where a `*` in `path` stands for any characters but `/`.

    Those in `patterns` take no leading dot of a name. A path without holes is literal. `deep`:
    what lies below is wanted too, `copied` only, or to be changed.
    """

    path: str
    holes: tuple[int, ...] = ()
    patterns: tuple[int, ...] = ()
    deep: bool = False
    copied: bool = False


Disk = Mapping[Candidate, Found]


def candidate_of(value: Value) -> Candidate | None:
    """Return what to look up for an absolute value; `None` where that cannot be told."""
    if value.is_anything or not value.beginning.startswith("/"):
        return None
    path, holes, patterns = "", list[int](), list[int]()
    for piece in value.pieces:
        if isinstance(piece, Hole):
            holes.append(len(path))
            patterns += [len(path)] if piece is Hole.PATTERN else []
            path += "*"
        else:
            path += piece
    usable = len(path) <= PATH_CHARS_MAX and "\0" not in path
    return Candidate(path, tuple(holes), tuple(patterns)) if usable else None
