"""Colour, and rows that fit the terminal."""

from collections.abc import Iterator
from dataclasses import dataclass

from wcore_host.plain.cells import cells

ROWS_WITHOUT_TERMINAL = 10_000  # nothing is folded for a pipe that somebody else shows


@dataclass(frozen=True)
class Style:
    """How this terminal is written to: with colours or without, and how large it is."""

    colour: bool = False
    width: int = 80
    rows: int = ROWS_WITHOUT_TERMINAL

    def bold(self, text: str) -> str:
        return self._sgr("1", text)

    def dim(self, text: str) -> str:
        return self._sgr("2", text)

    def red(self, text: str) -> str:
        return self._sgr("31", text)

    def green(self, text: str) -> str:
        return self._sgr("32", text)

    def yellow(self, text: str) -> str:
        return self._sgr("33", text)

    def cyan(self, text: str) -> str:
        return self._sgr("36", text)

    def _sgr(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


def diff_colour(row: str, style: Style, line: str = "") -> str:
    """Return one row of a diff in its colour; `line` is the whole line of a wrapped row."""
    match (line or row)[:1]:
        case "+":
            return style.green(row)
        case "-":
            return style.red(row)
        case "@":
            return style.cyan(row)
        case _:
            return row


def wrap(text: str, width: int) -> Iterator[str]:
    """Cut one line into rows of at most `width` columns; a prefix of ours then fits each row."""
    row, used = "", 0
    for char in text:
        size = cells(char)
        if used + size > width:
            yield row
            row, used = "", 0
        row += char
        used += size
    yield row


def fold(rows: list[str], rows_max: int, hint: str) -> list[str]:
    """Return at most `rows_max` rows, the last one saying how many are missing."""
    if len(rows) <= rows_max:
        return rows
    hidden = len(rows) - rows_max + 1
    return [*rows[: rows_max - 1], f"… {hidden} more lines; {hint}"]
