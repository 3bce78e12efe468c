"""The engine's unified diff as the pairs of texts that ACP wants. Pure.

Each hunk becomes one pair, so what the editor draws is exactly what the engine showed, and no
file is read a second time.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_NO_NEWLINE: Final = "\\ No newline at end of file"


@dataclass
class Hunk:
    """`old` is what stands there, `new` what will; `line` is where, counted from 1."""

    line: int
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])

    def texts(self) -> tuple[str, str]:
        return "".join(self.old), "".join(self.new)

    @property
    def changed(self) -> int:
        """The first line that really differs; the lines before it are context."""
        pairs = zip(self.old, self.new, strict=False)
        same = next((at for at, (old, new) in enumerate(pairs) if old != new), None)
        shorter = min(len(self.old), len(self.new))
        return self.line + (shorter if same is None else same)


@dataclass(frozen=True)
class Change:
    """What happens to one file."""

    is_new: bool
    hunks: tuple[Hunk, ...]


def read(diff: str) -> Change | None:
    """Return the change, or `None` if the text is not wholly a diff (a summary, a cut one)."""
    lines = [line + "\n" for line in diff.removesuffix("\n").split("\n")]
    if len(lines) < 2 or not lines[0].startswith("--- ") or not lines[1].startswith("+++ "):
        return None
    try:
        hunks = tuple(_hunks(lines[2:]))
    except _NotADiffError:
        return None
    return Change(lines[0].startswith("--- /dev/null"), hunks)


class _NotADiffError(Exception):
    """A line of the text belongs to no hunk."""


def _hunks(lines: list[str]) -> Iterator[Hunk]:
    hunk: Hunk | None = None
    last: tuple[list[str], ...] = ()
    for line in lines:
        if found := _HUNK.match(line):
            if hunk is not None:
                yield hunk
            hunk = Hunk(max(1, int(found[1])))
        elif hunk is None:
            raise _NotADiffError
        elif line.startswith(_NO_NEWLINE):
            for side in last:
                side[-1] = side[-1].removesuffix("\n")
        else:
            last = _sides(hunk, line[:1])
            for side in last:
                side.append(line[1:])
    if hunk is not None:
        yield hunk


def _sides(hunk: Hunk, sign: str) -> tuple[list[str], ...]:
    match sign:
        case " ":
            return hunk.old, hunk.new
        case "-":
            return (hunk.old,)
        case "+":
            return (hunk.new,)
        case _:
            raise _NotADiffError
