import codecs
import json
import re

import pytest
from unit.tools.room import Room

from wcore.errors import ToolError


async def _edit(
    room: Room, before: str | bytes, old: str, new: str, *, every: bool = False
) -> bytes:
    path = room.put("a", before)
    await room.call("Edit", file_path="a", old_string=old, new_string=new, replace_all=every)
    return path.read_bytes()


async def test_a_unique_text_is_replaced(room: Room) -> None:
    assert await _edit(room, "one two\n", "two", "2") == b"one 2\n"


async def test_replace_all_replaces_every_one(room: Room) -> None:
    assert await _edit(room, "a b a", "a", "c", every=True) == b"c b c"


@pytest.mark.parametrize(
    ("before", "old", "new", "problem"),
    [
        ("abc", "x", "y", "was not found"),
        ("aba", "a", "y", "found 2 times"),
        ("abc", "b", "b", "no change"),
        (b"a\0b", "a", "y", "binary"),
        (b"\xff\xfea", "a", "y", "not valid UTF-16"),
        (b"a\x01\xff", "a", "y", "binary"),
        (b"\xffa", "a", "y", "names no encoding"),
    ],
)
async def test_an_edit_that_does_not_fit_is_refused_and_says_why(
    room: Room, before: str | bytes, old: str, new: str, problem: str
) -> None:
    path = room.put("a", before)
    stored = path.read_bytes()
    with pytest.raises(ToolError, match=problem):
        await room.prepare("Edit", file_path="a", old_string=old, new_string=new)
    assert path.read_bytes() == stored


NEARLY = [  # in the file, and as a model writes it
    ("list in\u00a0current", "list in current"),
    ("list in current", "list in\u202fcurrent"),
    ("\u2018a\u2019 \u201cb\u201d \u201eb\u201f", '\'a\' "b" "b"'),
    ("say 'a'", "say \u2019a\u2019"),
    ("\treturn 1", "    return 1"),
    ("    return 1", "\treturn 1"),
    ("a = 1  \n    b", "a = 1\n  b"),
    ("a = 1  # one", "a = 1 # one"),
]


@pytest.mark.parametrize(("there", "old"), NEARLY)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_a_text_that_differs_only_in_blanks_and_quotes_is_told_as_it_stands(
    room: Room, there: str, old: str, end: str
) -> None:
    path = room.put("a", f"x\n{there}\ny\n".replace("\n", end))
    with pytest.raises(ToolError) as refused:
        await room.prepare("Edit", file_path="a", old_string=old, new_string="new")
    told = re.search("; line 2 has it with other blanks or quotes: (.+)$", str(refused.value))
    assert told
    await room.call("Edit", file_path="a", old_string=json.loads(told[1]), new_string="n")
    assert path.read_bytes() == "x\nn\ny\n".replace("\n", end).encode()


@pytest.mark.parametrize("old", ["list in currant", "Say", "list-in", "say  'b'", "\t"])
async def test_a_text_that_differs_otherwise_is_only_missing(room: Room, old: str) -> None:
    room.put("a", "list in\u00a0current, say 'a'\n")
    with pytest.raises(ToolError, match=r"not found in the file$"):
        await room.prepare("Edit", file_path="a", old_string=old, new_string="new")


async def test_a_missing_file_is_not_edited(room: Room) -> None:
    with pytest.raises(ToolError, match="use Write"):
        await room.prepare("Edit", file_path="a", old_string="a", new_string="b")


async def test_crlf_is_kept_when_the_model_writes_lf(room: Room) -> None:
    assert await _edit(room, "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n") == b"x\r\ny\r\nz\r\nc\r\n"
    assert await _edit(room, "a\r\nb\r\n", "b", "x\ny") == b"a\r\nx\r\ny\r\n"
    assert await _edit(room, "a\r\nb\r\n", "a\r\nb", "x") == b"x\r\n"


async def test_mixed_line_ends_change_only_where_the_edit_is(room: Room) -> None:
    assert await _edit(room, "a\nb\r\nc\r\n", "b\nc", "x\ny") == b"a\nx\r\ny\r\n"
    assert await _edit(room, "a\nb\r\nc\n", "a", "x\ny") == b"x\ny\nb\r\nc\n"


@pytest.mark.parametrize(
    ("bom", "name"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (b"", "utf-8"),
    ],
)
async def test_encoding_and_byte_order_mark_are_kept(room: Room, bom: bytes, name: str) -> None:
    after = await _edit(room, bom + "früh\n".encode(name), "früh", "spät ☃")
    assert after == bom + "spät ☃\n".encode(name)


async def test_the_diff_of_a_crlf_file_shows_no_marks_unless_line_ends_change(room: Room) -> None:
    room.put("a", "a\r\nb\r\n")
    same = await room.prepare("Edit", file_path="a", old_string="a", new_string="x")
    changed = await room.prepare("Write", file_path="a", content="a\nb\r\n")
    assert same.preview is not None
    assert "⟨U+000D⟩" not in same.preview.text
    assert changed.preview is not None
    assert "-a⟨U+000D⟩\n" in changed.preview.text


async def test_several_edits_build_on_each_other(room: Room) -> None:
    path = room.put("a", "one two")
    edits = [
        {"old_string": "one", "new_string": "1 1"},
        {"old_string": "1", "new_string": "x", "replace_all": True},
    ]
    await room.call("MultiEdit", file_path="a", edits=edits)
    assert path.read_text() == "x x two"


async def test_one_edit_that_does_not_fit_undoes_all(room: Room) -> None:
    path = room.put("a", "one two")
    edits = [
        {"old_string": "one", "new_string": "1"},
        {"old_string": "one", "new_string": "2"},
    ]
    with pytest.raises(ToolError, match="edit 2: `old_string` was not found"):
        await room.prepare("MultiEdit", file_path="a", edits=edits)
    assert path.read_text() == "one two"


async def test_a_replacement_cannot_blow_up_the_memory(room: Room) -> None:
    room.put("a", "x" * 1_000_000)
    with pytest.raises(ToolError, match="grow"):
        await room.prepare(
            "Edit", file_path="a", old_string="x", new_string="y" * 100_000, replace_all=True
        )
