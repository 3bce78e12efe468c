"""What a person sees on a card is what is there: nothing invisible, nothing turned round."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcore.visible import visible, visible_line

INVISIBLE = {
    "a bidi override": "\u202e",
    "a bidi isolate": "\u2066",
    "a right-to-left mark": "\u200f",
    "a zero-width space": "\u200b",
    "a zero-width joiner": "\u200d",
    "a byte order mark": "\ufeff",
    "a soft hyphen": "\u00ad",
    "a no-break space": "\u00a0",
    "an ideographic space": "\u3000",
    "an em space": "\u2003",
    "a Hangul filler": "\u3164",
    "a half-width Hangul filler": "\uffa0",
    "a braille blank": "\u2800",
    "a grapheme joiner": "\u034f",
    "a variation selector": "\ufe0f",
    "a high variation selector": "\U000e0100",
    "a tag letter": "\U000e0041",
    "a line separator": "\u2028",
    "a paragraph separator": "\u2029",
    "NUL": "\x00",
    "escape": "\x1b",
    "backspace": "\x08",
    "carriage return": "\r",
    "delete": "\x7f",
    "next line": "\x85",
    "a C1 control": "\x9b",
    "a lone surrogate": "\ud800",
    "a private character": "\ue000",
    "an unassigned character": "\U000e0fff",
}


@pytest.mark.parametrize("char", INVISIBLE.values(), ids=INVISIBLE.keys())
def test_what_cannot_be_seen_becomes_its_number(char: str) -> None:
    marked = f"rm ⟨U+{ord(char):04X}⟩x"
    assert visible(f"rm {char}x") == marked
    assert visible_line(f"rm {char}x", 80) == marked


@pytest.mark.parametrize(
    "text",
    ["", "ls -la", "naïve", "日本語", "Ελλάδα", "é", "😀", "→ ✓", "עברית", "العربية", "a  b"],
)
def test_what_can_be_seen_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert visible_line(text, 80) == text


def test_lines_and_tabs_stay_in_text_and_are_shown_on_a_line() -> None:
    assert visible("a\n\tb\n") == "a\n\tb\n"
    assert visible_line("a\n\tb\n", 80) == "a⏎⇥b⏎"


@given(st.text())
def test_nothing_invisible_is_left_and_nothing_is_lost(text: str) -> None:
    shown = visible(text)
    for char in shown:
        assert char in "\n\t" or char.isprintable()
        assert unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} or (
            char in "\n\t"
        )
    assert visible(shown) == shown, "what is shown can be shown again"
    if text.isascii() and text.isprintable():
        assert shown == text


@given(st.text(), st.integers(min_value=1, max_value=20))
def test_a_line_is_one_line_and_never_too_long(text: str, chars_max: int) -> None:
    shown = visible_line(text, chars_max)
    assert len(shown) <= chars_max
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("text", "shown"), [("12345", "12345"), ("123456", "1234…"), ("", ""), ("\u202e", "⟨U+2…")]
)
def test_a_cut_is_marked(text: str, shown: str) -> None:
    assert visible_line(text, 5) == shown


def test_a_huge_text_is_cut_before_it_is_looked_at() -> None:
    assert visible_line("\u202e" * 10_000_000, 10) == "⟨U+202E⟩⟨…"
