from codecs import BOM_UTF8
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcore.models.http.sse import EVENT_BYTES_MAX, EventReader, TooLongError

LINE_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
DATA = st.binary(max_size=20).filter(lambda data: not {10, 13} & set(data))


def read(*chunks: bytes) -> list[bytes]:
    reader = EventReader()
    found = [event for chunk in chunks for event in reader.feed(chunk)]
    return [*found, *reader.finish()]


@given(
    st.lists(DATA, max_size=5),
    LINE_ENDS,
    st.lists(st.integers(0, 200), max_size=6),
    st.sampled_from([b"", BOM_UTF8]),
)
def test_borders_line_ends_and_a_byte_order_mark_change_nothing(
    events: list[bytes], end: bytes, cuts: list[int], mark: bytes
) -> None:
    whole = mark + b"".join(b"data: " + data + end + end for data in events)
    at = sorted({0, len(whole), *(min(cut, len(whole)) for cut in cuts)})
    chunks = [whole[start:stop] for start, stop in pairwise(at)]
    assert read(*chunks) == events


def test_an_event_may_have_several_lines_and_other_fields() -> None:
    stream = b": hello\nevent: x\nid: 1\ndata: a\ndata:b\nretry: 5\n\n: ping\n\ndata:\n\n"
    assert read(stream) == [b"a\nb", b""]
    assert read(b"data: a\n\n" + BOM_UTF8 + b"data: b\n\n") == [b"a"], "a mark is one only in front"


def test_a_line_end_of_two_bytes_may_be_cut_in_the_middle() -> None:
    assert read(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == [b"a\nb"]


def test_an_event_comes_out_as_soon_as_it_is_complete() -> None:
    reader = EventReader()
    assert reader.feed(b"data: a\n") == []
    assert reader.feed(b"\ndata: b") == [b"a"]
    assert reader.finish() == [b"b"]


@pytest.mark.parametrize("chunk", [b"x" * 1024 * 1024, b"data: " + b"x" * 1024 * 1024 + b"\n"])
def test_a_flood_without_an_end_is_refused(chunk: bytes) -> None:
    with pytest.raises(TooLongError):
        read(*[chunk] * (EVENT_BYTES_MAX // len(chunk) + 2))
