"""What is known of a text that bash makes: literal pieces, and holes where it is not known."""

from collections.abc import Iterable
from enum import Enum
from typing import Final

from msgspec import Struct


class Hole(Enum):
    """Characters that nobody knows before the text runs."""

    PATTERN = "pattern"  #: what a file name pattern takes: no `/`, no leading dot of a name
    NAME = "name"  #: anything without `/`
    ANY = "any"  #: anything


Piece = str | Hole


class Value(Struct, frozen=True):
    """Pieces, no two texts beside each other. `private`: some of it came from the environment."""

    pieces: tuple[Piece, ...] = ()
    private: bool = False

    @property
    def literal(self) -> str | None:
        """The text, where all of it is known."""
        match self.pieces:
            case ():
                return ""
            case (str(text),):
                return text
            case _:
                return None

    @property
    def is_anything(self) -> bool:
        """Whether it has a hole for any text."""
        return Hole.ANY in self.pieces

    @property
    def beginning(self) -> str:
        """The literal text that it begins with."""
        first = self.pieces[0] if self.pieces else ""
        return first if isinstance(first, str) else ""

    def __add__(self, other: "Value") -> "Value":
        return joined((*self.pieces, *other.pieces), private=self.private or other.private)


EMPTY: Final = Value()
ANYTHING: Final = Value((Hole.ANY,))
A_NAME: Final = Value((Hole.NAME,))


def text(literal: str, *, private: bool = False) -> Value:
    """Return the value of a known text."""
    return Value((literal,) if literal else (), private)


def joined(pieces: Iterable[Piece], *, private: bool = False) -> Value:
    """Return the value of these pieces one after the other."""
    found: list[Piece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if isinstance(piece, str) and isinstance(last, str):
            found[-1] = last + piece
        elif piece and piece is not last:
            found.append(piece)
    return Value(tuple(found), private)


def split(value: Value, separators: str) -> list[Value]:
    """Return what stands between any of the separators; holes stay where they are."""
    parts: list[list[Piece]] = [[]]
    for piece in value.pieces:
        if isinstance(piece, Hole):
            parts[-1].append(piece)
            continue
        begin = 0
        for at, character in enumerate(piece):
            if character in separators:
                parts[-1].append(piece[begin:at])
                parts.append([])
                begin = at + 1
        parts[-1].append(piece[begin:])
    return [joined(part, private=value.private) for part in parts]
