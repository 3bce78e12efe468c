import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcore.tools.truncate import HeadTail, head_of, truncate

PIECES = st.lists(st.text(max_size=50), max_size=40)


@given(PIECES, st.integers(10, 400))
def test_a_stream_is_kept_whole_or_both_ends_are_and_the_rest_is_counted(
    pieces: list[str], bytes_max: int
) -> None:
    kept = HeadTail(bytes_max)
    for piece in pieces:
        kept.add(piece)
    whole = "".join(pieces)
    text, truncated = kept.text()
    if not truncated:
        assert text == whole
        return
    assert len(whole.encode()) > bytes_max - bytes_max % 2
    head, _, rest = text.partition("\n[… ")
    number, _, tail = rest.partition(" bytes left out …]\n")
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len(head.encode()) <= bytes_max // 2
    assert len(tail.encode()) <= bytes_max // 2
    dropped = len(whole.encode()) - len(head.encode()) - len(tail.encode())
    assert 0 <= dropped - int(number) <= 6  # a character cut in two goes from both


def test_memory_stays_bounded_however_long_the_stream() -> None:
    kept = HeadTail(1000)
    for _ in range(10_000):
        kept.add("x" * 500)
    assert kept.total_bytes == 5_000_000
    assert sum(map(len, kept.__dict__["_tail"])) <= 1500


def test_a_cut_does_not_fall_inside_a_word() -> None:
    kept = HeadTail(100)
    kept.add("secret-one " * 50)
    text, _ = kept.text()
    words = set(text.replace("\n[… ", " ").split())
    assert {word for word in words if word.startswith("s")} == {"secret-one"}
    assert head_of("one two three", 9) == "one two "


@given(st.text(max_size=300), st.integers(40, 400))
def test_a_clipped_text_keeps_to_its_limit_and_says_so(text: str, bytes_max: int) -> None:
    shown, cut = truncate(text, bytes_max, "[cut]")
    assert len(shown.encode()) <= bytes_max
    assert cut == (len(text.encode()) > bytes_max)
    assert shown.endswith("\n[cut]\n") if cut else shown == text


@pytest.mark.parametrize("text", ["", "a", "☃" * 10])
def test_short_texts_are_left_alone(text: str) -> None:
    assert head_of(text, 100) == text
