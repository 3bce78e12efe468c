"""Names that people would call the same: read, never written beside each other."""

import json
import os
import re
import unicodedata

import pytest
from unit.tools.room import Room

from wcore.alike_names import true_name
from wcore.errors import ToolError
from wcore.models.attachments import attach
from wcore.vocabulary import Json, Prepared


async def test_a_name_is_found_by_what_people_see_of_it_if_there_is_only_one(room: Room) -> None:
    blanks = ["\u00a0", "\u202f", "\u2009", "\u3000"]
    for blank in blanks:
        path = room.put(f"Shot at 10.01{blank}AM.txt", "found\n")
        prepared = await room.prepare("Read", file_path="Shot at 10.01 AM.txt")
        assert prepared.accesses[0].path == str(path)
        assert f"⟨U+{ord(blank):04X}⟩" in prepared.description
        assert json.dumps(path.name) in (await room.run(prepared)).output
        path.unlink()
    for name in ("Übung/ré.txt", "ﬁle.txt"):
        path = room.put(unicodedata.normalize("NFD", name), "found\n")
        assert "found" in (await room.call("Read", file_path=name)).output
    for blank in blanks[:2]:
        room.put(f"two{blank}x", "no\n")
    with pytest.raises(ToolError, match="no such file"):
        await room.call("Read", file_path="two x")
    room.put("two x", "exact\n")
    assert "exact" in (await room.call("Read", file_path="two x")).output


CHANGES: dict[str, dict[str, Json]] = {
    "Write": {"content": "new\n"},
    "Edit": {"old_string": "old", "new_string": "new"},
    "MultiEdit": {"edits": [{"old_string": "old", "new_string": "new"}]},
    "Delete": {},
}
SAME = [  # on the disk, and as it was given
    ("cafe\u0301.txt", "caf\u00e9.txt"),
    ("caf\u00e9.txt", "cafe\u0301.txt"),
    ("Shot 1.01\u202fAM.png", "Shot 1.01 AM.png"),
    ("a b.txt", "a\u00a0b.txt"),
    ("\uff41.txt", "a.txt"),
    ("cafe\u0301/a b.txt", "caf\u00e9/a b.txt"),
]


@pytest.mark.parametrize(("there", "given"), SAME)
@pytest.mark.parametrize("tool", CHANGES)
async def test_what_changes_a_file_goes_by_its_true_name_alone_and_says_it(
    room: Room, tool: str, there: str, given: str
) -> None:
    path = room.put(there, "old\n")
    name = next(part for part in there.split("/") if part not in given.split("/"))
    with pytest.raises(ToolError, match=re.escape(f"its name is {json.dumps(name)}:")):
        await room.prepare(tool, file_path=given, **CHANGES[tool])
    assert path.read_text() == "old\n"
    attached = attach([given], str(room.folder))
    assert f"({'cannot be read: ' + true_name(name)})" in attached.note
    await room.call("Read", file_path=there)
    await room.call(tool, file_path=there, **CHANGES[tool])
    assert not path.exists() if tool == "Delete" else path.read_text() == "new\n"


@pytest.mark.parametrize(
    ("there", "given"), [("x²", "x2"), ("ﬁ", "fi"), ("A", "a"), ("½", "1\u20442")]
)
async def test_names_that_people_tell_apart_are_two(room: Room, there: str, given: str) -> None:
    room.put(there, "old\n")
    await room.call("Write", file_path=given, content="new\n")
    assert sorted(os.listdir(room.folder)) == sorted([there, given])


@pytest.mark.parametrize("tool", [*CHANGES, "Read", "LS", "Glob", "Grep"])
async def test_a_url_is_no_path_and_the_path_of_it_is_told(room: Room, tool: str) -> None:
    path = room.put("a b/c", "old\n")
    for start in ("file://", "FILE://", "file://localhost"):
        url = f"{start}{path}".replace(" ", "%20")
        args = CHANGES.get(tool, {"pattern": "x"} if tool in ("Glob", "Grep") else {})
        where = "path" if tool in ("LS", "Glob", "Grep") else "file_path"
        with pytest.raises(ToolError, match=f"a URL is no path: give {path}$"):
            await room.prepare(tool, **{**args, where: url})


async def test_a_name_that_looks_like_a_protected_one_is_judged_as_what_it_is(room: Room) -> None:
    room.put(".env", "KEY=1\n")
    prepared: Prepared = await room.prepare("Read", file_path=".\uff45nv")
    assert prepared.accesses[0].path == f"{room.folder}/.env"
    with pytest.raises(ToolError, match="does not exist"):
        await room.prepare("Edit", file_path=".\uff45nv", old_string="K", new_string="k")
