"""Folders that a text may be in, as `cd` makes them. Pure."""

from collections.abc import Iterable
from typing import Final

from wcore.policy.shell_paths.values import ANYTHING, Hole, Value, joined

FOLDERS_MAX: Final = 16  # that a text may be in; more is anywhere


def few(values: Iterable[Value]) -> tuple[Value, ...]:
    """Return each once; too many are anywhere as well as in the first of them."""
    found = tuple(dict.fromkeys(values))
    return found if len(found) <= FOLDERS_MAX else (*found[: FOLDERS_MAX - 1], ANYTHING)


def is_option(value: Value) -> bool:
    """Whether a word of `cd` is an option."""
    literal = value.literal
    return literal is not None and literal.startswith("-") and literal != "-"


def normal(value: Value) -> Value:
    """Return a folder as `cd` names it: without `.` and `..`, as far as it is known."""
    if value.is_anything:
        return value
    parts: list[list[str | Hole]] = [[]]
    for piece in value.pieces:
        if isinstance(piece, Hole):
            parts[-1].append(piece)
            continue
        first, *others = piece.split("/")
        parts[-1].append(first)
        parts.extend([other] for other in others)
    kept: list[list[str | Hole]] = []
    for part in parts:
        match [piece for piece in part if piece != ""]:
            case [] | ["."]:
                continue
            case [".."]:
                kept[-1:] = []
            case _:
                kept.append(part)
    pieces = [piece for part in kept for piece in ("/", *part)]
    return joined(pieces or ["/"], private=value.private)
