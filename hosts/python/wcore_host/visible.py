"""What a person must be able to see: control, bidi, zero-width and blank letters made visible.

The model, a file name or a program's output must not move the cursor, recolour the screen or
change what a card seems to say. What Unicode does not call printable becomes a marker such as
`⟨U+202E⟩`, and so do the few letters that are drawn as nothing.
"""

import unicodedata
from typing import Final

DRAWN_AS_NOTHING: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


class _Markers(dict[int, str]):
    """`str.translate` table that learns one code point at a time."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        hidden = not char.isprintable() or char in DRAWN_AS_NOTHING
        self[code] = f"⟨U+{code:04X}⟩" if hidden else char
        return self[code]


_TEXT: Final = _Markers({ord("\n"): "\n", ord("\t"): "\t"})
_LINE: Final = _Markers({ord("\n"): "⏎", ord("\t"): "⇥"})


def visible(text: str) -> str:
    """Return `text` with everything invisible marked; lines and tabs are kept."""
    return text.translate(_TEXT)


def visible_line(text: str, chars_max: int = 10_000) -> str:
    """Return `text` on one line of at most `chars_max` characters, a cut marked by `…`."""
    shown = text[: chars_max + 1].translate(_LINE)
    return shown if len(shown) <= chars_max else shown[: chars_max - 1] + "…"


def cells(text: str) -> int:
    """Return how many terminal columns `text` takes; it must be visible and without tabs."""
    return sum(_cells(char) for char in text)


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
