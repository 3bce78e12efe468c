"""A text for a terminal, with one part of it marked. Nothing in it stays invisible."""

import unicodedata
from typing import Final

from wcore.visible import visible_line

PART_CHARS_MAX: Final = 2000  # shown of the mark and of either side; a cut is shown as `…`
MARKER_CHARS_MAX: Final = 12  # what one invisible character may grow to
INDENT: Final = "  "
COLOUR_ON: Final = "\x1b[1;4;31m"
COLOUR_OFF: Final = "\x1b[0m"

Span = tuple[int, int]
Parts = tuple[str, str, str]  # before the mark, in it, after it


def marked(text: str, span: Span | None, *, colours: bool) -> str:
    """Return `text` as indented lines, with carets under `span` (UTF-8 bytes, `[start, end)`)."""
    before, inside, after = _clipped(_parted(text, span))
    shown: list[str] = []
    for line in _lines((before, inside, after)):
        left, middle, right = (_shown(part) for part in line)
        loud = f"{COLOUR_ON}{middle}{COLOUR_OFF}" if colours and middle else middle
        shown.append(f"{INDENT}{left}{loud}{right}\n")
        if middle:
            shown.append(f"{INDENT}{' ' * _width(left)}{'^' * max(1, _width(middle))}\n")
    return "".join(shown)


def _parted(text: str, span: Span | None) -> Parts:
    if span is None:
        return text, "", ""
    data = text.encode("utf-8", "surrogatepass")
    pieces = (data[: span[0]], data[slice(*span)], data[span[1] :])
    before, inside, after = (piece.decode("utf-8", "surrogatepass") for piece in pieces)
    return before, inside, after


def _clipped(parts: Parts) -> Parts:
    before, inside, after = parts
    if inside and len(before) > PART_CHARS_MAX:
        before = "…" + before[-PART_CHARS_MAX:]
    return _cut(before), _cut(inside), _cut(after)


def _cut(text: str) -> str:
    return text if len(text) <= PART_CHARS_MAX + 1 else text[:PART_CHARS_MAX] + "…"


def _lines(parts: Parts) -> list[Parts]:
    """Split adjoining parts into lines, each again in three parts."""
    lines = [["", "", ""]]
    for index, part in enumerate(parts):
        first, *others = part.split("\n")
        lines[-1][index] = first
        for other in others:
            lines.append(["", "", ""])
            lines[-1][index] = other
    return [(before, inside, after) for before, inside, after in lines]


def _shown(line: str) -> str:
    return visible_line(line, max(1, len(line)) * MARKER_CHARS_MAX)


def _width(text: str) -> int:
    """Return the columns that a terminal gives to `text`."""
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
