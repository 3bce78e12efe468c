"""The width of text on a terminal."""

import unicodedata


def cells(text: str) -> int:
    """Return how many terminal columns `text` takes; it must be visible and without tabs."""
    return sum(_cells(char) for char in text)


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
