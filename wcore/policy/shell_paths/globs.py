"""Which characters of a word are file name patterns, and how far a bracket may reach.

Brackets are not evaluated: one stands for any characters of a name, as far as it may reach. A
bracket that is more than a plain set (a class, a quote, a `]` that stands first) ends no sooner
than the last `]` of its component.
"""

import re
from collections.abc import Sequence
from typing import Final

from wcore.policy.shell_paths.values import Hole, Piece, Value, joined

_SPECIAL: Final = re.compile(r"[?*+@!]\([^/]*\)|[*?]+|\[|\]|\\")
_MARKS: Final = {Hole.OPENING: "[", Hole.CLOSING: "]"}


def active(literal: str, pattern: Hole) -> list[Piece]:
    """Return the pieces of unquoted characters; `pattern`: what a `*` stands for.

    A backslash comes from a variable: it may quote what follows, and is then no character.
    """
    if not _SPECIAL.search(literal):
        return [literal]
    pieces: list[Piece] = []
    at = 0
    for match in _SPECIAL.finditer(literal):
        pieces.append(literal[at : match.start()])
        at = match.end()
        match match[0]:
            case "[":
                pieces.append(Hole.OPENING)
            case "]":
                pieces.append(Hole.CLOSING)
            case "**" if _is_component(literal, match) and pattern is Hole.NAME:
                pieces.append(Hole.FOLDERS)
                if literal[at : at + 1] == "/":
                    at += 1
                else:
                    pieces.append(Hole.NAME)
            case found:
                pieces.append(Hole.NAME if found[0] == "\\" or "(" in found else pattern)
    return [*pieces, literal[at:]]


def _is_component(literal: str, match: re.Match[str]) -> bool:
    begins = match.start() == 0 or literal[match.start() - 1] == "/"
    return begins and literal[match.end() : match.end() + 1] in ("", "/")


def resolved(value: Value, pattern: Hole) -> Value:
    """Return the value with its brackets as holes; one that nothing closes is a character."""
    if Hole.OPENING not in value.pieces and Hole.CLOSING not in value.pieces:
        return value
    pieces = list(value.pieces)
    found: list[Piece] = []
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        at += 1
        if piece is Hole.OPENING and (end := _end(pieces, at)) is not None:
            last, behind = end
            found.append(Hole.ANY if Hole.ANY in pieces[at : last + 1] else pattern)
            at = last + 1
            found.append(behind)
        else:
            found.append(_MARKS.get(piece, piece) if isinstance(piece, Hole) else piece)
    return joined(found, private=value.private, guessed=value.guessed)


def _end(pieces: Sequence[Piece], begin: int) -> tuple[int, str] | None:
    """Return the last piece of a bracket, and what of that piece is behind it."""
    match pieces[begin : begin + 2]:
        case [str(content), Hole.CLOSING] if content not in "!^" and not set("[/") & set(content):
            return begin + 1, ""
        case _:
            pass
    end: tuple[int, str] | None = None
    for at in range(begin, len(pieces)):
        piece = pieces[at]
        if isinstance(piece, Hole):
            end = end if piece is Hole.OPENING else (at, "")
            continue
        inside, slash, _ = piece.partition("/")
        if "]" in inside:
            end = at, piece[inside.rindex("]") + 1 :]
        if slash:
            break
    return end
