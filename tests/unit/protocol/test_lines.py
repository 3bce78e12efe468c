"""Bytes to lines: the same lines in whatever pieces the bytes come, and never too much memory."""

from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wcore.protocol.lines import BOM, LINE_BYTES_MAX, LineSplitter, Overlong

CAP: Final = 10
SOUP = st.lists(
    st.sampled_from([b"\n", b"\r\n", b"a", b"bcd", BOM, b"\xff", b"\xe2\x80\xa8", b"0123456789"]),
    max_size=30,
).map(b"".join)


def split(pieces: list[bytes], cap: int = CAP) -> list[bytes | Overlong]:
    splitter = LineSplitter(cap)
    return [line for piece in pieces for line in splitter.feed(piece)] + splitter.finish()


def expected(data: bytes, cap: int = CAP) -> list[bytes | Overlong]:
    """Say what the lines are: a newline counts towards the cap, also the one that is missing."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    found = [line if len(line) + 1 <= cap else Overlong(cap) for line in lines]
    if found and isinstance(found[0], bytes):
        found[0] = found[0].removeprefix(BOM)
    return found


@given(SOUP, st.lists(st.integers(min_value=0, max_value=400), max_size=12))
@example(b"0123456789\nx", [9, 10])
@example(BOM + BOM + b"a\n" + BOM + b"a", [1, 2, 4])
@example(b"01234567890123456789\nx\n", [10, 20, 21])
def test_any_cutting_of_any_bytes_gives_the_same_lines(data: bytes, places: list[int]) -> None:
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})
    pieces = [data[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    assert split(pieces) == expected(data)


@given(SOUP)
def test_one_byte_at_a_time_gives_the_same_lines(data: bytes) -> None:
    assert split([data[at : at + 1] for at in range(len(data))]) == expected(data)


@given(SOUP, st.integers(min_value=1, max_value=7))
def test_never_more_than_the_cap_is_held(data: bytes, step: int) -> None:
    splitter = LineSplitter(CAP)
    for at in range(0, len(data), step):
        splitter.feed(data[at : at + step])
        assert len(splitter._rest) <= CAP  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("step", [1, 3, 9, 10, 11, 100])
def test_the_exact_cap_is_a_line_and_one_more_is_one_overlong(step: int) -> None:
    data = b"123456789\n" + b"1234567890\n" + b"next\n"
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    assert split(pieces) == [b"123456789", Overlong(CAP), b"next"]


def test_a_line_far_over_the_cap_is_one_overlong_however_long_it_is() -> None:
    assert split([b"x" * 7] * 1000 + [b"\nnext\n"]) == [Overlong(CAP), b"next"]


def test_two_overlong_lines_are_two() -> None:
    assert split([b"x" * 50 + b"\n" + b"y" * 50 + b"\n\n"]) == [Overlong(CAP), Overlong(CAP), b""]


def test_an_unterminated_last_line_is_a_line() -> None:
    assert split([b"a\nlast"]) == [b"a", b"last"]
    assert split([b"a\n"]) == [b"a"]
    assert split([]) == []
    assert split([b"x" * 50]) == [Overlong(CAP)]


def test_a_splitter_has_nothing_left_after_its_end() -> None:
    splitter = LineSplitter(CAP)
    splitter.feed(b"last")
    assert splitter.finish() == [b"last"]
    assert splitter.finish() == []


def test_only_a_newline_ends_a_line() -> None:
    data = "a\r\x0b\x0c\x1c\x85\u2028\u2029b".encode()
    assert split([data, b"\n"], cap=100) == [data]


def test_the_cap_of_the_wire_is_eight_mebibytes_with_the_newline() -> None:
    assert LINE_BYTES_MAX == 8 * 1024 * 1024
    exact = b"x" * (LINE_BYTES_MAX - 1)
    splitter = LineSplitter()
    assert splitter.feed(exact + b"\n") == [exact]
    assert splitter.feed(exact + b"x\n" + b"next\n") == [Overlong(LINE_BYTES_MAX), b"next"]
