"""What a text file was stays: encoding, byte order mark, line ends, attributes. Cards are whole."""

import codecs
import itertools
import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import waiting
from ordinary import become, give
from unit.tools.room import Room

from wcore.errors import ToolError
from wcore.tools.fs.text_encoding import kept_codec
from wcore.visible import visible
from wcore.vocabulary import PREVIEW_BYTES_MAX

ENDS = ("\n", "\r\n", "\r")
MARKED = (  # byte order mark, codec
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
)
NAMED = {  # codec: what a first line says, and a word that is not UTF-8
    "gbk": ("# -*- coding: gbk -*-", "中文"),
    "shift_jis": ("/* vim: set fileencoding=shift_jis : */", "表示ソ"),
    "euc_kr": ('<?xml version="1.0" encoding="euc-kr"?>', "한국"),
    "iso8859-1": ("# coding: latin-1", "café"),
    "cp1251": ('<meta charset="windows-1251">', "привет"),
    "big5": ("# coding=big5", "功許"),
}


def _kinds() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield codec, mark, first line, and a word that needs the codec."""
    yield "utf-8", b"", "plain", "é中"
    for mark, codec in MARKED:
        yield codec, mark, "marked", "é中"
    for codec, (line, word) in NAMED.items():
        yield codec, b"", line, word


async def _stored(room: Room, tool: str, before: bytes, **args: object) -> bytes:
    path = room.put("a", before)
    await room.call(tool, file_path="a", **args)  # type: ignore[arg-type]
    return path.read_bytes()


async def test_a_text_that_is_written_over_keeps_what_it_had(room: Room) -> None:
    for (codec, mark, line, word), end in itertools.product(_kinds(), ENDS):
        case = codec, mark, end
        old = [line, f"{word} one {word}", "two", ""]
        before = mark + end.join(old).encode(codec)
        edited = await _stored(room, "Edit", before, old_string="one", new_string=f"1{word}")
        assert edited == before.replace("one".encode(codec), f"1{word}".encode(codec)), case
        over = await _stored(
            room, "Edit", before, old_string=f"{word}\ntwo\n", new_string=f"{word}\n2\nthree\n"
        )
        assert over == mark + end.join([*old[:1], old[1], "2", "three", ""]).encode(codec), case
        new = [line, f"{word} new", "last"]
        whole = await _stored(room, "Write", before, content="\n".join(new))
        assert whole == mark + end.join(new).encode(codec), case


async def test_a_new_text_may_say_otherwise(room: Room) -> None:
    write = {"content": "# coding: utf-8\né\n"}
    assert await _stored(room, "Write", "# coding: latin-1\né\n".encode("latin-1"), **write) == (
        "# coding: utf-8\né\n".encode()
    )
    assert await _stored(room, "Write", b"a\nb\n", content="a\r\nb\r\n") == b"a\r\nb\r\n"
    assert await _stored(room, "Write", b"a\r\nb\n", content="a\nb\n") == b"a\nb\n"
    marked = codecs.BOM_UTF8 + b"a"
    assert await _stored(room, "Write", marked, content="\ufeffb") == codecs.BOM_UTF8 + b"b"


async def test_what_no_line_names_is_edited_to_the_byte_or_not_at_all(room: Room) -> None:
    """Every cut of a text of letters of two bytes, whose second one may look like ASCII."""
    rng, refused = random.Random(7), 0
    letters = "表示ソ十能ァa b\n"
    for codec in ("shift_jis", "gbk", "big5", "latin-1"):
        fits = [char for char in letters if char.encode(codec, "ignore")] + ["é"] * (
            codec == "latin-1"
        )
        for _ in range(60):
            text = "".join(rng.choice(fits) for _ in range(12)) + fits[-2]
            before = text.encode(codec)
            if before.isascii():
                continue
            start = rng.randrange(len(before))
            old = before[start : start + rng.randint(1, 6)].decode("latin-1")
            try:
                after = await _stored(
                    room, "Edit", before, old_string=old, new_string="+", replace_all=True
                )
            except ToolError:
                refused += 1
                continue
            assert after == before.replace(old.encode("latin-1"), b"+")
            assert after.decode(codec) == text.replace(old.encode("latin-1").decode(codec), "+")
    assert refused < 180, "most of what begins and ends with letters goes"


async def test_a_letter_that_the_encoding_lacks_is_named(room: Room) -> None:
    room.put("a", "# coding: latin-1\né\n".encode("latin-1"))
    with pytest.raises(ToolError, match=r"ISO8859-1, which has no U\+4E2D.*Write it whole"):
        await room.prepare("Edit", file_path="a", old_string="é", new_string="中")
    with pytest.raises(ToolError, match="ISO8859-1"):
        await room.prepare("Write", file_path="a", content="# coding: latin-1\n中\n")


async def test_a_change_of_encoding_stands_on_the_card(room: Room) -> None:
    for before, new, note in (
        ("# coding: gbk\n中\n".encode("gbk"), "x\n", "[stored as UTF-8; was GBK]"),
        (b"caf\xe9\n", "caf\u00e9\n", "[stored as UTF-8; was something that nothing names]"),
    ):
        room.put("a", before)
        prepared = await room.prepare("Write", file_path="a", content=new)
        assert prepared.preview is not None
        assert prepared.preview.text.startswith(note + "\n--- a/a\n+++ b/a\n"), before
        assert (await room.run(prepared)).output.startswith(note)


async def test_the_project_says_which_encoding_its_files_have(room: Room) -> None:
    room.put(".editorconfig", "root = true\n[*]\ncharset = utf-8\n[src/**.{c,h}]\ncharset=latin1\n")
    room.put("src/deep/.editorconfig", "[*.h]\ncharset = unicode_escape\n")
    before, new = "é\n".encode("latin-1"), {"content": "ü\n"}
    for name, codec in (
        ("src/a.c", "latin-1"),
        ("src/deep/a.c", "latin-1"),
        ("src/deep/a.h", "utf-8"),  # no encoding in which ASCII stands for itself
        ("a.c", "utf-8"),
    ):
        path = room.put(name, before)
        assert "1\té" in (await room.call("Read", file_path=name)).output
        await room.call("Write", file_path=name, **new)
        assert path.read_bytes() == "ü\n".encode(codec), name
    path = room.put("src/a.c", before)
    await room.call("Write", file_path="src/a.c", content="中\n")
    assert path.read_text() == "中\n"


def test_no_encoding_in_which_ascii_means_something_else_is_believed() -> None:
    for name in ("unicode_escape", "raw_unicode_escape", "utf-7", "rot13", "cp037", "hz", "zip"):
        assert kept_codec(name) is None, name
    for name in NAMED:
        assert kept_codec(name) == codecs.lookup(name).name, name


async def test_reading_shows_the_encoding_that_editing_will_keep(room: Room) -> None:
    for codec, (line, word) in NAMED.items():
        room.put("a", f"{line}\n{word}\n".encode(codec))
        output = (await room.call("Read", file_path="a")).output
        assert f"2\t{word}\n" in output, codec


# --- what is approved is what was shown -----------------------------------------------------------


def _old() -> Iterator[bytes | None]:
    yield from (None, b"", b"old\n", b"\0binary\xff", b"\xff\xfex", b"caf\xe9\n", b"a\r\nb\r\n")
    yield b"".join(b"old %d\n" % number for number in range(3_000))
    yield b"x" * (PREVIEW_BYTES_MAX + 1)


def _new() -> Iterator[str]:
    yield from ("", "new\n", "a\0b\x1b[0m\u202e\n", "no line end", "a\nb\n", "caf\u00e9\n")
    yield "".join(f"new {number}\n" for number in range(2_100))
    yield "".join(f"old {number}\n" for number in range(2_999))
    yield "y" * (PREVIEW_BYTES_MAX + 1)
    yield "\0" * PREVIEW_BYTES_MAX


async def test_a_card_is_whole_or_says_that_it_is_not(room: Room) -> None:
    cut = 0
    for before, content in itertools.product(_old(), _new()):
        path = room.folder / "a"
        path.unlink(missing_ok=True)
        if before is not None:
            room.put("a", before)
        prepared = await room.prepare("Write", file_path="a", content=content)
        case = before and before[:20], content[:20]
        preview = prepared.preview
        assert preview is not None
        assert len(preview.text.encode()) <= PREVIEW_BYTES_MAX, case
        if preview.truncated:
            cut += 1
            assert len(preview.text.encode()) > PREVIEW_BYTES_MAX // 2, "cut for want of space only"
        else:
            await room.run(prepared)
            _require_shown(preview.text, path.read_bytes(), content)
    assert 10 < cut < 80


def _require_shown(preview: str, stored: bytes, content: str) -> None:
    """Every line of the new content stands in the diff, or in the old text, in this order."""
    lines = [
        line[1:] for line in preview.split("\n") if line[:1] in ("+", " ") and line[:4] != "+++ "
    ]
    kept = visible(content).replace("⟨U+000D⟩", "").split("\n")
    if len(lines) == len([line for line in kept if line]):  # a wholly new text
        assert lines == [line for line in kept if line]
    else:
        added = iter(kept)
        assert all(line.replace("⟨U+000D⟩", "") in added for line in lines)
    assert stored.decode(errors="replace").replace("\r\n", "\n") == content.replace("\r\n", "\n")


async def test_what_is_lost_and_is_no_text_is_named_beside_all_that_comes(room: Room) -> None:
    room.put("a", b"\0" * 10)
    prepared = await room.prepare("Write", file_path="a", content="x\0y\n")
    assert prepared.preview is not None
    assert prepared.preview.text == (
        "[in place of 10 bytes: the file is binary]\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n"
        "+x⟨U+0000⟩y\n"
    )
    gone = await room.prepare("Delete", file_path="a")
    assert gone.preview is not None
    assert gone.preview.text == "a: 10 bytes removed (the file is binary)"


# --- what the system keeps of a file --------------------------------------------------------------


async def test_attributes_stay_and_capabilities_go(room: Room) -> None:
    path = room.put("a", "one\n")
    os.setxattr(path, "user.note", b"kept")
    inode = path.stat().st_ino
    await room.call("Edit", file_path="a", old_string="one", new_string="two")
    assert path.read_text() == "two\n"
    assert os.getxattr(path, "user.note") == b"kept"
    assert path.stat().st_ino != inode, "in one step where that is possible"


async def test_other_names_of_a_file_keep_what_they_have_and_the_card_says_so(room: Room) -> None:
    path = room.put("a", "one\n")
    os.link(path, room.home / "b")
    prepared = await room.prepare("Edit", file_path="a", old_string="one", new_string="two")
    assert prepared.preview is not None
    assert "[other names of this file (1) keep what they have]\n" in prepared.preview.text
    await room.run(prepared)
    assert (path.read_text(), (room.home / "b").read_text()) == ("two\n", "one\n")


WRITES = """
import sys
from wcore.errors import ToolError
from wcore.tools.fs import files
path = sys.argv[1]
try:
    expected = files.snapshot(path).digest if len(sys.argv) < 3 else "x"
    files.replace(path, b"new content\\n", expected)
except ToolError as error:
    print(error)
"""


def _write(path: Path, *words: str, first: tuple[str, ...] = ()) -> str:
    command = [*first, sys.executable, "-c", WRITES, str(path), *words]
    return waiting.run(command, check=True).stdout


@pytest.mark.parametrize("mode", [0o555, 0o755])
def test_in_a_folder_that_takes_no_new_file_the_old_one_is_written_over(
    tmp_path: Path, mode: int
) -> None:
    folder = tmp_path / "shut"
    folder.mkdir()
    path = folder / "a"
    path.write_text("old, and much longer than the new\n")
    give(folder)
    path.chmod(0o666)
    if mode == 0o755:
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(folder, 0, 0)
    folder.chmod(mode)
    inode = path.stat().st_ino
    assert "changed since" in _write(path, "as something else", first=tuple(become()))
    assert path.read_text().startswith("old")
    assert _write(path, first=tuple(become())) == ""
    assert path.read_text() == "new content\n"
    assert path.stat().st_ino == inode
    os.link(path, tmp_path / "b")
    assert "denied" in _write(path, first=tuple(become())), "never through another name"
    folder.chmod(0o755)


def test_a_file_that_is_mounted_is_written_over(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.write_text("old\n")
    inside.write_text("")
    first = ("bwrap", "--dev-bind", "/", "/", "--bind", str(outside), str(inside))
    if shutil.which("bwrap") is None or waiting.run([*first, "true"]).returncode:
        pytest.skip("bubblewrap cannot mount here")
    assert _write(inside, first=first) == ""
    assert outside.read_text() == "new content\n"


def test_what_fails_in_the_middle_is_taken_back(tmp_path: Path) -> None:
    """A disk that is full, as a file system of 64 KiB."""
    script = "mount -t tmpfs -o size=64k none $0 && cp $0/../old $0/a && cat /dev/zero >$0/rest; "
    (tmp_path / "old").write_text("old\n")
    (tmp_path / "full").mkdir()
    script += 'echo "$("$@")"; cat $0/a'
    first = ("unshare", "--mount", "bash", "-c", script, str(tmp_path / "full"))
    if shutil.which("unshare") is None:
        pytest.skip("no file system can be mounted here")
    done = waiting.run([*first, sys.executable, "-c", FILLS, str(tmp_path / "full/a")])
    if "mount: " in done.stderr or "unshare: " in done.stderr:
        pytest.skip("no file system can be mounted here")
    assert "No space left" in done.stdout
    assert done.stdout.endswith("\nold\n")


FILLS = """
import os, sys
from wcore.errors import ToolError
from wcore.tools.fs import files
path = sys.argv[1]
try:
    with files.folder_of(path) as (handle, name):
        files._overwrite(handle, name, path, b"x" * 70_000, files.snapshot(path).digest)
except (OSError, ToolError) as error:
    print(error)
"""
