"""Secrets never leave, in whatever pieces they come.

What holds: neither `redact` nor a stripper's whole output contains a live secret; text without
secrets comes out unchanged; and pieces give what the whole gives.
"""

import html
import json
import re
from collections.abc import Callable, Iterable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tables import rows

from wcore.approval.redaction import (
    FRAGMENT_CHARS,
    MARKER,
    SECRET_CHARS_MIN,
    Secrets,
    StreamRedactor,
)

KEY = "sk-live-0123456789"
# A small alphabet makes overlaps and prefixes likely; none of it is in the marker.
LETTERS = st.sampled_from("abc")
SECRETS = st.lists(st.text(LETTERS, min_size=SECRET_CHARS_MIN, max_size=12), min_size=1, max_size=4)


@st.composite
def texts(draw: st.DrawFn) -> tuple[list[str], str]:
    """Return secrets and a text that is full of them, of their parts and of other text."""
    secrets = draw(SECRETS)
    parts = st.sampled_from(secrets).flatmap(
        lambda s: st.sampled_from([s, s, s[:-1], s[1:], s[: len(s) // 2], s[len(s) // 2 :]])
    )
    pieces = draw(
        st.lists(st.one_of(parts, st.text(LETTERS, max_size=4), st.just("\n")), max_size=8)
    )
    return secrets, "".join(pieces)


def live(values: Iterable[str]) -> Secrets:
    secrets = Secrets()
    for value in values:
        secrets.add(value)
    return secrets


def cut(text: str, places: list[int]) -> list[str]:
    """Return `text` in pieces, cut at `places` (modulo its length)."""
    ends = sorted({place % (len(text) + 1) for place in places} | {len(text)})
    return [text[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def streamed(secrets: Secrets, pieces: Iterable[str]) -> str:
    stripper = StreamRedactor(secrets)
    return "".join([*(stripper.feed(piece) for piece in pieces), stripper.finish()])


CUTS = st.lists(st.integers(min_value=0, max_value=200), max_size=8)


@given(texts())
def test_stripped_text_holds_no_secret(given_texts: tuple[list[str], str]) -> None:
    values, text = given_texts
    shown = live(values).redact(text)
    assert not [value for value in values if value in shown]


@given(texts(), CUTS)
def test_no_cutting_into_pieces_shows_a_secret(
    given_texts: tuple[list[str], str], places: list[int]
) -> None:
    values, text = given_texts
    shown = streamed(live(values), cut(text, places))
    assert not [value for value in values if value in shown]


@given(texts(), CUTS)
@example((["abcabcab", "abcabcabccca"], "abcabcabccca"), [8])
@example((["aaaabbbb", "bbbbccccaaaa"], "aaaabbbbccccaaaa"), [8])
def test_pieces_give_what_the_whole_gives(
    given_texts: tuple[list[str], str], places: list[int]
) -> None:
    values, text = given_texts
    assert streamed(live(values), cut(text, places)) == live(values).redact(text)


@given(st.text(), CUTS)
def test_text_without_secrets_comes_out_unchanged(text: str, places: list[int]) -> None:
    secrets = live([KEY])
    if KEY not in text:
        assert secrets.redact(text) == text
        assert streamed(secrets, cut(text, places)) == text


def test_one_character_at_a_time_shows_no_secret_and_loses_nothing() -> None:
    text = f"before {KEY} between {KEY[:-1]} and {KEY}{KEY} after {KEY[:5]}"
    expected = f"before {MARKER} between {KEY[:-1]} and {MARKER}{MARKER} after {KEY[:5]}"
    assert streamed(live([KEY]), text) == expected


@given(texts(), CUTS)
def test_less_than_one_secret_is_held_back(
    given_texts: tuple[list[str], str], places: list[int]
) -> None:
    values, text = given_texts
    values = values[:1]
    stripper = StreamRedactor(live(values))
    fed = shown = 0
    for piece in cut(text.replace(values[0], ""), places):
        fed += len(piece)
        shown += len(stripper.feed(piece))
        if values[0] not in text.replace(values[0], ""):
            assert fed - shown < len(values[0])


def test_text_that_cannot_be_a_secret_is_shown_at_once() -> None:
    stripper = StreamRedactor(live([KEY]))
    assert stripper.feed("building...\n") == "building...\n"
    assert stripper.feed("sk") == ""
    assert stripper.feed("y is blue\n") == "sky is blue\n"
    assert stripper.finish() == ""


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["abcdefgh", "abcdefghIJKL"], "x abcdefghIJKL y"),
        (["abcdefghIJKL", "abcdefgh"], "x abcdefghIJKL y"),
        (["efghIJKL", "abcdefghIJKL"], "x abcdefghIJKL y"),
        (["defghIJK", "abcdefghIJKL"], "x abcdefghIJKL y"),
    ],
)
def test_of_a_secret_inside_another_nothing_is_left_over(values: list[str], text: str) -> None:
    assert live(values).redact(text) == f"x {MARKER} y"
    for at in range(len(text) + 1):
        assert streamed(live(values), [text[:at], text[at:]]) == f"x {MARKER} y", at


def test_secrets_that_overlap_are_both_gone() -> None:
    secrets = live(["abcdefgh", "efghIJKLMN"])
    for at in range(15):
        text = "abcdefghIJKLMN"
        shown = streamed(secrets, [text[:at], text[at:]])
        assert "IJKL" not in shown, at
        assert "efgh" not in shown, at


@pytest.mark.parametrize("value", ["", " ", "key", "1234567"])
def test_a_value_too_short_to_be_a_secret_is_ignored(value: str) -> None:
    text = f"a {value} b key 1234567"
    secrets = live([value])
    assert secrets.redact(text) == text
    assert streamed(secrets, text) == text


def test_the_shortest_secret_is_hidden() -> None:
    assert len("12345678") == SECRET_CHARS_MIN
    text = "12345678 1234567"
    assert live(["12345678"]).redact(text) == f"{MARKER} 1234567"


def test_tokens_are_shown_again_when_their_turn_is_over_and_keys_are_not() -> None:
    secrets = live([KEY])
    text = f"{KEY} rt-0123 rt-4567"
    for token in ("rt-0123" * 3, "rt-4567" * 3):
        secrets.add_token(token)
        text += f" {token}"
    assert secrets.redact(text) == f"{MARKER} rt-0123 rt-4567 {MARKER} {MARKER}"
    secrets.forget_tokens()
    assert secrets.redact(text) == text.replace(KEY, MARKER)


def test_a_secret_that_becomes_live_in_the_middle_of_a_stream_is_hidden_from_then_on() -> None:
    secrets = Secrets()
    stripper = StreamRedactor(secrets)
    assert stripper.feed("hello ") == "hello "
    secrets.add(KEY)
    assert stripper.feed(KEY[:4]) == ""
    assert stripper.feed(KEY[4:] + "!") == f"{MARKER}!"


def test_what_is_held_back_is_stripped_at_the_end_too() -> None:
    secrets = live(["abcdefgh" + "x" * 8])
    stripper = StreamRedactor(secrets)
    assert stripper.feed("abcdefgh") == ""
    secrets.add("abcdefgh")
    assert stripper.finish() == MARKER
    assert stripper.finish() == "", "nothing comes twice"


def test_a_stripper_can_be_used_again_after_its_end() -> None:
    stripper = StreamRedactor(live([KEY]))
    stripper.feed(KEY[:6])
    assert stripper.finish() == KEY[:6]
    assert stripper.feed(KEY[6:]) == KEY[6:]


# --- text that was cut anywhere -------------------------------------------------------------------

TOKEN = "rt-0123456789abcdef0123456789abcdef"


@rows("size", range(1, len(TOKEN) + 1))
def test_of_a_secret_that_was_cut_only_little_is_left(size: int) -> None:
    secrets = live([TOKEN])
    for cut_off in (f"out: {TOKEN[:size]}", f"{TOKEN[-size:]} and more"):
        shown = secrets.redact_truncated(cut_off)
        assert TOKEN[:FRAGMENT_CHARS] not in shown
        assert TOKEN[-FRAGMENT_CHARS:] not in shown
        if size < FRAGMENT_CHARS:
            assert shown == cut_off, "too short to tell from ordinary text"


@given(
    st.lists(st.text(LETTERS, min_size=2 * FRAGMENT_CHARS, max_size=40), min_size=1, max_size=3),
    st.integers(0, 40),
    st.integers(0, 40),
    st.text(LETTERS, max_size=5),
)
def test_no_beginning_or_end_of_a_secret_is_left_of_text_cut_at_both_sides(
    values: list[str], start: int, size: int, between: str
) -> None:
    text = between.join(values)[start : start + size]
    shown = live(values).redact_truncated(text)
    for value in values:
        assert value not in shown
        assert value[:FRAGMENT_CHARS] not in shown
        assert value[-FRAGMENT_CHARS:] not in shown


@given(st.text(st.characters(exclude_characters=TOKEN)))
def test_text_without_parts_of_a_secret_is_left_as_it_is(text: str) -> None:
    assert live([TOKEN]).redact_truncated(text) == text


# --- texts that were escaped ----------------------------------------------------------------------

ESCAPES: dict[str, Callable[[str], str]] = {
    "nothing": str,
    "repr": lambda s: repr(s)[1:-1],
    "repr within more": lambda s: repr(s + "'\"")[1:-4],
    "ascii": lambda s: ascii(s)[1:-1],
    "repr of bytes": lambda s: repr(s.encode())[2:-1],
    "JSON": lambda s: json.dumps(s)[1:-1],
    "JSON in UTF-8": lambda s: json.dumps(s, ensure_ascii=False)[1:-1],
    "JSON with its slashes": lambda s: json.dumps(s)[1:-1].replace("/", "\\/"),
    "percent": lambda s: quote(s, safe=""),
    "percent, small": lambda s: re.sub("%..", lambda found: found.group().lower(), quote(s)),
    "a form": quote_plus,
    "HTML": html.escape,
}
TWICE = ("nothing", "repr", "repr of bytes", "JSON")  # of what was escaped before
SPELT = st.text(
    st.characters(max_codepoint=126, exclude_categories=["Cc"])
    | st.sampled_from("\n\té的\U0001f511"),
    min_size=SECRET_CHARS_MIN,
    max_size=40,
)


@given(SPELT, st.sampled_from(sorted(ESCAPES)), st.sampled_from(TWICE))
@example("sk-test+/=%\"'\\&<x", "repr", "JSON")
@example("aaaaaa%25bb", "percent", "nothing")
@example("aaaaaaa\\nb", "JSON", "repr")
@example("0000000%", "a form", "nothing")
def test_no_escaping_shows_a_secret_nor_does_a_second_one(value: str, one: str, two: str) -> None:
    escaped = ESCAPES[two](ESCAPES[one](value))
    assert live([value]).redact(f"so {escaped}!").endswith(f"{MARKER}!")
    assert escaped not in live([value]).redact(f"so {escaped}!")


def test_text_made_to_be_read_in_many_ways_is_read_in_one() -> None:
    """An exponential number of attempts would never end; these take milliseconds."""
    hard = (
        "+" * 60 + "bcdefghi",
        "a+" * 60 + "b",
        "x" * 8 + "\\" * 60 + "y",
        "的" * 60,
        "\\+" * 60,
    )
    texts = (
        "%2B",
        "\\x2b",
        "a+",
        "a%2B",
        "a&#43;",
        "\\",
        "x" * 8 + "\\" * 70,
        "%25",
        "\\u7684",
        "&",
    )
    for value in hard:
        for text in texts:
            live([value]).redact(text * 500)
