import os
import stat
from collections.abc import Callable

import anyio
import pytest
from unit.tools.room import Room

from wcore.errors import ToolError
from wcore.tools.fs import files
from wcore.vocabulary import PREVIEW_BYTES_MAX, Access, Status, ToolOutput


def _names(room: Room) -> list[str]:
    return sorted(os.listdir(room.folder))


async def test_writing_makes_folders_and_reports_the_diff(room: Room) -> None:
    done = await room.call("Write", file_path="new/deep/a.txt", content="one\n")
    path = room.folder / "new/deep/a.txt"
    assert path.read_text() == "one\n"
    assert done.status is Status.SUCCESS
    assert done.output_type == "diff"
    assert done.metadata == {"file_path": str(path)}
    assert done.output == "--- /dev/null\n+++ b/new/deep/a.txt\n@@ -0,0 +1 @@\n+one\n"


async def test_preparing_touches_nothing(room: Room) -> None:
    prepared = await room.prepare("Write", file_path="new/a.txt", content="one\n")
    assert _names(room) == []
    assert prepared.accesses[0].access is Access.WRITE
    assert prepared.description == "Write to new/a.txt"
    assert prepared.preview is not None
    assert prepared.preview.kind == "diff"


async def test_an_existing_file_keeps_its_mode_and_loses_set_id_bits(room: Room) -> None:
    path = room.put("tool.sh", "a\n")
    path.chmod(0o4750)
    await room.call("Edit", file_path="tool.sh", old_string="a", new_string="b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


async def test_a_new_file_gets_the_mode_of_the_owners_umask(room: Room) -> None:
    before = os.umask(0o027)
    try:
        await room.call("Write", file_path="a", content="")
    finally:
        os.umask(before)
    assert stat.S_IMODE((room.folder / "a").stat().st_mode) == 0o640


async def test_a_hard_link_elsewhere_keeps_its_content(room: Room) -> None:
    outside = room.home / "rc"
    outside.write_text("theirs\n")
    os.link(outside, room.folder / "a")
    await room.call("Write", file_path="a", content="mine\n")
    assert outside.read_text() == "theirs\n"


async def test_writing_through_a_link_is_a_touch_of_its_target(room: Room) -> None:
    (room.folder / "link").symlink_to(room.home / "target")
    prepared = await room.prepare("Write", file_path="link", content="x")
    assert prepared.accesses[0].path == f"{room.home}/target"


def _content(room: Room) -> None:
    room.put("a", "other")


def _gone(room: Room) -> None:
    (room.folder / "a").unlink()


def _linked(room: Room) -> None:
    room.put("b", "text")
    (room.folder / "a").unlink()
    (room.folder / "a").symlink_to("b")


def _folder(room: Room) -> None:
    (room.folder / "a").unlink()
    (room.folder / "a").mkdir()


def _pipe(room: Room) -> None:
    (room.folder / "a").unlink()
    os.mkfifo(room.folder / "a")


def _states(room: Room) -> list[tuple[object, ...]]:
    """Return what tells that something was changed; not when it was read, which looking changes."""
    found: list[tuple[object, ...]] = []
    for name in _names(room):
        at = (room.folder / name).lstat()
        found.append((name, at.st_mode, at.st_ino, at.st_nlink, at.st_size, at.st_mtime_ns))
    return found


CALLS = {
    "Write": {"content": "new"},
    "Edit": {"old_string": "text", "new_string": "new"},
    "MultiEdit": {"edits": [{"old_string": "text", "new_string": "new"}]},
    "Delete": {},
}


@pytest.mark.parametrize("change", [_content, _gone, _linked, _folder, _pipe])
@pytest.mark.parametrize("tool", CALLS)
async def test_what_changed_since_it_was_shown_stays_as_it_is(
    room: Room, tool: str, change: Callable[[Room], None]
) -> None:
    room.put("a", "text")
    prepared = await room.prepare(tool, file_path="a", **CALLS[tool])
    change(room)
    before = _states(room)
    with pytest.raises(ToolError, match=r"changed|link|not a file"):
        await room.run(prepared)
    assert _states(room) == before


async def test_a_file_that_appeared_since_is_not_overwritten(room: Room) -> None:
    prepared = await room.prepare("Write", file_path="a", content="mine")
    path = room.put("a", "theirs")
    with pytest.raises(ToolError, match="has changed since it was shown"):
        await room.run(prepared)
    assert path.read_text() == "theirs"
    assert _names(room) == ["a"]


async def test_a_folder_exchanged_for_a_link_is_not_written_through(room: Room) -> None:
    room.put("sub/a", "text")
    (room.home / "a").write_text("text")
    prepared = await room.prepare(
        "Edit", file_path="sub/a", old_string="t", new_string="x", replace_all=True
    )
    (room.folder / "sub").rename(room.folder / "moved")
    (room.folder / "sub").symlink_to(room.home)
    with pytest.raises(ToolError, match="link"):
        await room.run(prepared)
    assert (room.home / "a").read_text() == "text"


async def test_folders_made_for_a_write_that_fails_are_removed_again(room: Room) -> None:
    prepared = await room.prepare("Write", file_path="new/deep/a" + "x" * 300, content="")
    with pytest.raises(ToolError, match="too long"):
        await room.run(prepared)
    assert _names(room) == []


async def test_a_path_below_a_file_is_refused(room: Room) -> None:
    room.put("a", "text")
    with pytest.raises(ToolError):
        await room.call("Write", file_path="a/b", content="")
    with pytest.raises(ToolError, match="folder"):
        await room.call("Write", file_path="sub/", content="")


async def test_cancelled_at_its_rename_a_write_still_reports_what_it_did(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = await room.prepare("Write", file_path="a", content="x")
    replace = files.replace
    done: ToolOutput | None = None
    with anyio.CancelScope() as scope:

        def cancel_then_replace(path: str, data: bytes, expected: str) -> None:
            anyio.from_thread.run_sync(scope.cancel)
            replace(path, data, expected)

        monkeypatch.setattr(files, "replace", cancel_then_replace)
        done = await room.run(prepared)
    assert done is not None
    assert done.status is Status.SUCCESS
    assert _names(room) == ["a"]


async def test_cancelled_before_it_starts_a_write_does_nothing(room: Room) -> None:
    prepared = await room.prepare("Write", file_path="a", content="x")
    with anyio.CancelScope() as scope:
        scope.cancel()
        await room.run(prepared)
    assert _names(room) == []


async def test_the_digest_follows_arguments_path_and_content(room: Room) -> None:
    room.put("a", "text")
    room.put("sub/a", "text")

    async def digest(path: str = "a", content: str = "x") -> str:
        return (await room.prepare("Write", file_path=path, content=content)).digest

    first = await digest()
    assert await digest() == first
    assert await digest(path="sub/a") != first
    assert await digest(content="y") != first
    room.put("a", "other")
    assert await digest() != first


async def test_what_a_guarded_file_holds_is_not_told_before_the_gate(room: Room) -> None:
    room.put(".env", "KEY=1")
    (room.home / "note").write_text("KEY=1")
    for path in (".env", "~/note", "~/missing"):
        prepared = await room.prepare("Edit", file_path=path, old_string="2", new_string="3")
        assert prepared.preview is not None
        assert "This will fail" in prepared.preview.text
        with pytest.raises(ToolError, match=r"not found|not exist"):
            await room.run(prepared)


async def test_a_preview_marks_what_cannot_be_seen_and_the_result_does_not(room: Room) -> None:
    prepared = await room.prepare("Write", file_path="a", content="x = '\u202eabc'\x1b[0m\n")
    assert prepared.preview is not None
    assert "⟨U+202E⟩" in prepared.preview.text
    assert "⟨U+001B⟩" in prepared.preview.text
    assert "\u202e" in (await room.run(prepared)).output


async def test_a_huge_change_has_a_bounded_preview_that_says_so(room: Room) -> None:
    content = "".join(f"line {number}\n" for number in range(100_000))
    prepared = await room.prepare("Write", file_path="a", content=content)
    assert prepared.preview is not None
    assert prepared.preview.truncated
    assert len(prepared.preview.text.encode()) <= PREVIEW_BYTES_MAX
    assert "cut here" in prepared.preview.text


async def test_a_link_is_deleted_and_its_target_stays(room: Room) -> None:
    target = room.put("target", "x")
    (room.folder / "link").symlink_to(target)
    await room.call("Delete", file_path="link")
    assert _names(room) == ["target"]


async def test_a_link_that_points_elsewhere_by_now_is_not_deleted(room: Room) -> None:
    (room.folder / "link").symlink_to("one")
    prepared = await room.prepare("Delete", file_path="link")
    (room.folder / "link").unlink()
    (room.folder / "link").symlink_to("two")
    with pytest.raises(ToolError, match="changed"):
        await room.run(prepared)
    assert _names(room) == ["link"]


async def test_folders_and_missing_files_are_not_deleted(room: Room) -> None:
    (room.folder / "sub").mkdir()
    with pytest.raises(ToolError, match="folder"):
        await room.call("Delete", file_path="sub")
    with pytest.raises(ToolError, match="no such file"):
        await room.call("Delete", file_path="missing")
