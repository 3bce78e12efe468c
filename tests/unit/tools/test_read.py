import base64
import codecs
import os
import tracemalloc

import pytest
from unit.tools.room import Room

from wcore.errors import ToolError
from wcore.tools.builtin.read import IMAGE_BYTES_MAX
from wcore.tools.fs.line_window import LINE_BYTES_MAX
from wcore.vocabulary import OUTPUT_BYTES_MAX

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


async def test_lines_come_with_their_numbers(room: Room) -> None:
    path = room.put("a", "one\ntwo\n\nfour")
    done = await room.call("Read", file_path="a")
    assert done.output == "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n"
    assert done.metadata == {"file_path": str(path)}


@pytest.mark.parametrize(
    ("offset", "limit", "numbers", "more"),
    [(1, 2, [1, 2], True), (3, 9, [3, 4], False), (4, 1, [4], False), (2, 2, [2, 3], True)],
)
async def test_a_part_is_read_and_says_how_to_read_on(
    room: Room, offset: int, limit: int, numbers: list[int], more: bool
) -> None:
    room.put("a", "a\nb\nc\nd\n")
    done = await room.call("Read", file_path="a", offset=offset, limit=limit)
    lines = done.output.splitlines()
    assert [int(line.split("\t")[0]) for line in lines if "\t" in line] == numbers
    assert (f"read on with offset={numbers[-1] + 1}]" in done.output) == more


async def test_reading_on_gives_every_line_once(room: Room) -> None:
    room.put("a", "".join(f"{number} {'x' * (number % 300)}\n" for number in range(5000)))
    offset, seen = 1, 0
    while True:
        done = await room.call("Read", file_path="a", offset=offset, limit=100_000)
        assert len(done.output.encode()) <= OUTPUT_BYTES_MAX
        for line in done.output.splitlines():
            if "\t" in line:
                assert line.split("\t")[1].startswith(f"{seen} ")
                seen += 1
        if "read on with offset=" not in done.output:
            break
        offset = int(done.output.rpartition("offset=")[2].rstrip("]\n"))
    assert seen == 5000


async def test_an_offset_past_the_end_says_how_long_the_file_is(room: Room) -> None:
    room.put("a", "a\nb\nc")
    with pytest.raises(ToolError, match="has 3 lines"):
        await room.call("Read", file_path="a", offset=4)


async def test_an_empty_file_says_so(room: Room) -> None:
    room.put("a")
    assert (await room.call("Read", file_path="a")).output == "[the file is empty]\n"


@pytest.mark.parametrize(
    ("stored", "shown", "note"),
    [
        (codecs.BOM_UTF8 + "ü\r\n".encode(), "ü", None),
        (codecs.BOM_UTF16_LE + "ü☃\r\n".encode("utf-16-le"), "ü☃", "UTF-16-LE"),
        (codecs.BOM_UTF16_BE + "ü☃".encode("utf-16-be"), "ü☃", "UTF-16-BE"),
        (b"fr\xfch\n", "früh", "Latin-1"),
    ],
)
async def test_encodings_are_told_apart(
    room: Room, stored: bytes, shown: str, note: str | None
) -> None:
    room.put("a", stored)
    output = (await room.call("Read", file_path="a")).output
    assert output.startswith(f"     1\t{shown}\n")
    assert (note in output) if note else ("[" not in output)


async def test_latin1_stays_within_the_limit_though_it_grows(room: Room) -> None:
    room.put("a", (b"\xfc" * 99 + b"\n") * 3000)
    done = await room.call("Read", file_path="a", limit=3000)
    assert len(done.output.encode()) <= OUTPUT_BYTES_MAX


async def test_a_binary_file_is_refused_with_its_size(room: Room) -> None:
    room.put("a", b"ELF\0\1\2")
    with pytest.raises(ToolError, match="binary file of 6 bytes"):
        await room.call("Read", file_path="a")


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
async def test_an_image_comes_as_base64_whatever_its_name(
    room: Room, head: bytes, media_type: str
) -> None:
    room.put("a.txt", head)
    done = await room.call("Read", file_path="a.txt")
    assert done.output_type == "image"
    assert base64.b64decode(done.output) == head
    assert done.metadata["media_type"] == media_type


async def test_an_image_over_the_limit_is_refused(room: Room) -> None:
    room.put("a", PNG + b"\0" * IMAGE_BYTES_MAX)
    with pytest.raises(ToolError, match="larger"):
        await room.call("Read", file_path="a")


async def test_one_huge_line_is_cut_and_says_so(room: Room) -> None:
    room.put("a", "x" + "ü" * 1_000_000 + "\nsecond\n")
    done = await room.call("Read", file_path="a")
    first, second = done.output.splitlines()
    assert first.endswith("[line cut here: 2000001 bytes in all]")
    assert len(first.encode()) < LINE_BYTES_MAX + 100
    assert second == "     2\tsecond"


async def test_a_huge_file_is_read_in_bounded_memory(room: Room) -> None:
    path = room.put("a", "first\n")
    os.truncate(path, 200 * 1024 * 1024)  # one line of 200 MB of NULs, without taking disk
    with path.open("r+b") as stream:
        stream.write(b"first\n" * 2000)
        stream.seek(0, os.SEEK_END)
        stream.write(b"\nlast\n")
    tracemalloc.start()
    try:
        done = await room.call("Read", file_path="a", offset=2002)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert done.output == "  2002\tlast\n"
    assert peak_bytes < 16 * 1024 * 1024


async def test_a_swapped_file_is_not_followed(room: Room) -> None:
    path = room.put("a", "mine")
    secret = room.home / "secret"
    secret.write_text("theirs")
    prepared = await room.prepare("Read", file_path="a")
    path.unlink()
    path.symlink_to(secret)
    with pytest.raises(ToolError, match="link"):
        await room.run(prepared)


async def test_preparing_does_not_tell_whether_a_file_exists(room: Room) -> None:
    prepared = await room.prepare("Read", file_path="~/.ssh/id")
    assert prepared.accesses[0].path == f"{room.home}/.ssh/id"
    with pytest.raises(ToolError, match="no such"):
        await room.run(prepared)
