"""What a person must be able to see: control, bidi, zero-width and look-alike blanks made visible.

The model chooses the text of cards; a right-to-left override or a no-break space must not
change what a card seems to say. Everything that Unicode calls neither printable nor a plain
space becomes a marker such as `⟨U+202E⟩`; newline and tab stay.
"""

from typing import Final


class _Markers(dict[int, str]):
    """`str.translate` table that learns one code point at a time; at most 0x110000 entries."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        shown = char if char.isprintable() else f"⟨U+{code:04X}⟩"
        self[code] = shown
        return shown


_TEXT: Final = _Markers({ord("\n"): "\n", ord("\t"): "\t"})
_LINE: Final = _Markers({ord("\n"): "⏎", ord("\t"): "⇥"})


def visible(text: str) -> str:
    """Return `text` with everything invisible marked; lines and tabs are kept."""
    return text if text.isprintable() else text.translate(_TEXT)


def visible_line(text: str, chars_max: int) -> str:
    """Return `text` on one line of at most `chars_max` characters, a cut marked by `…`."""
    line = text[: chars_max + 1]
    if not line.isprintable():
        line = line.translate(_LINE)
    return line if len(line) <= chars_max else line[: chars_max - 1] + "…"
