# A copy of wcore/visible.py, made by tests/write_spec.py; not edited by hand.
"""What a person must be able to see: control, bidi, zero-width and look-alike blanks made visible.

The model chooses the text of cards, a file its name, a program its output: none of them may move
the cursor, recolour the screen or change what a card seems to say. Everything that Unicode calls
neither printable nor a plain space becomes a marker such as `⟨U+202E⟩`, and so do letters that are
drawn as nothing; newline and tab stay.
"""

from typing import Final

LINE_CHARS_MAX: Final = 10_000  # more than any line of a screen

# Printable by Unicode's word, but drawn as nothing or as a blank: joiners, fillers, selectors.
DRAWN_AS_NOTHING: Final = frozenset(
    [
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
        *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
    ]
)


class _Markers(dict[int, str]):
    """`str.translate` table that learns one code point at a time; at most 0x110000 entries."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        seen = char.isprintable() and code not in DRAWN_AS_NOTHING
        shown = char if seen else f"⟨U+{code:04X}⟩"
        self[code] = shown
        return shown


_TEXT: Final = _Markers({ord("\n"): "\n", ord("\t"): "\t"})
_LINE: Final = _Markers({ord("\n"): "⏎", ord("\t"): "⇥"})


def whole(text: str) -> str:
    """Return `text` with the halves of characters joined; one that is alone becomes U+FFFD.

    Halves (lone surrogates) have no UTF-8 form, and come from programs that cut texts into pieces.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def visible(text: str) -> str:
    """Return `text` with everything invisible marked; lines and tabs are kept."""
    return text if text.isascii() and text.isprintable() else text.translate(_TEXT)


def visible_line(text: str, chars_max: int = LINE_CHARS_MAX) -> str:
    """Return `text` on one line of at most `chars_max` characters, a cut marked by `…`."""
    line = text[: chars_max + 1]
    if not (line.isascii() and line.isprintable()):
        line = line.translate(_LINE)
    return line if len(line) <= chars_max else line[: chars_max - 1] + "…"
