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
    FOLDERS = "folders"  #: what `**/` takes: any folders, or none; the `/` belongs to it
    OPENING = "["  #: an unquoted bracket, while a word is put together
    CLOSING = "]"


Piece = str | Hole


class Value(Struct, frozen=True):
    """Pieces, no two texts beside each other. `private`: some of it came from the environment.

    `guessed`: it is so if something that nobody knows is empty.
    """

    pieces: tuple[Piece, ...] = ()
    private: bool = False
    guessed: bool = False

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
    def is_adrift(self) -> bool:
        """Whether it begins with a hole for any text."""
        return self.pieces[:1] == (Hole.ANY,)

    @property
    def beginning(self) -> str:
        """The literal text that it begins with."""
        first = self.pieces[0] if self.pieces else ""
        return first if isinstance(first, str) else ""

    def __add__(self, other: "Value") -> "Value":
        private, guessed = self.private or other.private, self.guessed or other.guessed
        return joined((*self.pieces, *other.pieces), private=private, guessed=guessed)


EMPTY: Final = Value()
PERHAPS_EMPTY: Final = Value(guessed=True)
ANYTHING: Final = Value((Hole.ANY,))
_BRACKETS: Final = (Hole.OPENING, Hole.CLOSING)
A_NAME: Final = Value((Hole.NAME,))


def text(literal: str, *, private: bool = False) -> Value:
    """Return the value of a known text."""
    return Value((literal,) if literal else (), private)


def joined(pieces: Iterable[Piece], *, private: bool = False, guessed: bool = False) -> Value:
    """Return the value of these pieces one after the other."""
    found: list[Piece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if isinstance(piece, str) and isinstance(last, str):
            found[-1] = last + piece
        elif piece and (piece is not last or piece in _BRACKETS):
            found.append(piece)
    return Value(tuple(found), private, guessed)


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
    return [joined(part, private=value.private, guessed=value.guessed) for part in parts]
