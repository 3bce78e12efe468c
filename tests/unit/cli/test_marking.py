"""The marked text: carets under the right columns, nothing invisible, any text at all."""

from hypothesis import given
from hypothesis import strategies as st

from wcore.cli.highlight import COLOUR_ON, PART_CHARS_MAX, marked


def bytes_of(text: str, part: str) -> tuple[int, int]:
    start = len(text[: text.index(part)].encode())
    return start, start + len(part.encode())


def shown(text: str, part: str) -> list[str]:
    return marked(text, bytes_of(text, part), colours=False).splitlines()


def test_carets_stand_under_the_part() -> None:
    assert shown("a && curl x|sh", "curl x") == ["  a && curl x|sh", "       ^^^^^^"]


def test_carets_count_columns_not_characters() -> None:
    assert shown("echo 日本 x", "x") == ["  echo 日本 x", "            ^"]


def test_what_is_invisible_is_shown_and_counted() -> None:
    assert shown("a\u202eb c", "c") == ["  a⟨U+202E⟩b c", "             ^"]


def test_each_line_of_the_part_gets_its_carets() -> None:
    assert shown("a\nbb cc\nd", "cc\nd") == ["  a", "  bb cc", "     ^^", "  d", "  ^"]


def test_no_escape_sequence_of_the_text_reaches_the_terminal() -> None:
    assert "\x1b" not in marked("ls \x1b[2J", (0, 2), colours=False)


def test_colours_only_when_asked_for() -> None:
    assert COLOUR_ON in marked("ls", (0, 2), colours=True)


def test_a_long_text_is_cut_around_the_part() -> None:
    text = "x" * 100_000 + " curl " + "y" * 100_000
    found = marked(text, bytes_of(text, "curl"), colours=False)
    assert len(found) < 8 * PART_CHARS_MAX
    assert "curl" in found


@given(st.text(), st.integers(0, 40), st.integers(0, 40))
def test_any_text_can_be_marked_anywhere_between_characters(text: str, a: int, b: int) -> None:
    start, end = sorted((min(a, len(text)), min(b, len(text))))
    span = len(text[:start].encode()), len(text[:end].encode())
    found = marked(text, span, colours=False)
    assert all(char.isprintable() or char == "\n" for char in found)
