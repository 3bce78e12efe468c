import os
import socket
from pathlib import Path

import pytest
from unit.tools.room import Room

from wcore.errors import ToolError
from wcore.tools.fs import paths


def _resolve(room: Room, given: str) -> str:
    return paths.resolve(room.environment, given)


def test_relative_absolute_and_home_paths_lead_to_real_ones(room: Room) -> None:
    assert _resolve(room, "a/../b") == f"{room.folder}/b"
    assert _resolve(room, "/etc/../etc/hosts") == os.path.realpath("/etc/hosts")
    assert _resolve(room, "~/x") == f"{room.home}/x"
    assert _resolve(room, "~") == str(room.home)
    assert _resolve(room, "~x") == f"{room.folder}/~x"


def test_links_are_resolved_also_in_front_of_what_does_not_exist_yet(room: Room) -> None:
    (room.folder / "away").symlink_to(room.home)
    (room.folder / "dangling").symlink_to(room.home / "new")
    assert _resolve(room, "away/deep/file") == f"{room.home}/deep/file"
    assert _resolve(room, "dangling") == f"{room.home}/new"


def test_an_entry_is_the_link_itself(room: Room) -> None:
    (room.folder / "link").symlink_to(room.home)
    assert paths.resolve_entry(room.environment, "link") == f"{room.folder}/link"
    assert paths.resolve_entry(room.environment, "link/") == f"{room.folder}/link"


@pytest.mark.parametrize("given", ["", "\0", "a\0b", "x/" * 100_000])
def test_what_is_no_path_is_refused(room: Room, given: str) -> None:
    with pytest.raises(ToolError):
        _resolve(room, given)


@pytest.mark.parametrize("given", [".", "..", "a/..", "/", "a/."])
def test_an_entry_needs_a_name(room: Room, given: str) -> None:
    with pytest.raises(ToolError):
        paths.resolve_entry(room.environment, given)


@pytest.mark.parametrize("given", ["/proc/self/environ", "/proc/1/mem", "/proc"])
def test_file_tools_stay_out_of_proc(room: Room, given: str) -> None:
    with pytest.raises(ToolError, match="/proc"):
        _resolve(room, given)


def test_a_detour_through_proc_is_seen_as_what_it_is(room: Room) -> None:
    room.put("a")
    assert _resolve(room, f"/proc/self/root{room.folder}/a") == f"{room.folder}/a"


def test_a_name_that_is_not_utf8_is_refused_even_behind_a_link(room: Room) -> None:
    os.symlink(os.fsencode(room.folder) + b"/\xff", room.folder / "link")
    with pytest.raises(ToolError, match="UTF-8"):
        _resolve(room, "link")


@pytest.mark.parametrize("swapped", ["one", "one/two", "one/two/file"])
def test_a_component_that_became_a_link_is_not_followed(room: Room, swapped: str) -> None:
    path = room.put("one/two/file", "mine")
    other = room.home / "elsewhere"
    moved = room.folder / swapped
    moved.rename(other)
    moved.symlink_to(other)
    with pytest.raises(ToolError, match="link"), paths.open_file(str(path)):
        pass


def test_a_pipe_is_refused_without_waiting_for_a_writer(room: Room) -> None:
    os.mkfifo(room.folder / "pipe")
    with pytest.raises(ToolError, match="a pipe"), paths.open_file(f"{room.folder}/pipe"):
        pass


def test_devices_sockets_and_folders_are_no_files(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(room.folder)  # the path of a socket has to be short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("s")
        for path, kind in (("/dev/null", "device"), ("s", "socket"), (".", "folder")):
            real = _resolve(room, path)
            with pytest.raises(ToolError, match=kind), paths.open_file(real):
                pass


def test_no_handle_is_left_open_when_opening_fails(room: Room) -> None:
    os.mkfifo(room.folder / "pipe")
    before = set(os.listdir("/dev/fd"))
    for name in ("pipe", "missing/x", "missing"):
        with pytest.raises(ToolError), paths.open_file(f"{room.folder}/{name}"):
            pass
    assert len(set(os.listdir("/dev/fd"))) == len(before)


def test_inside_means_below_and_not_beside() -> None:
    assert paths.inside("/a/b", "/a/b")
    assert paths.inside("/a/b", "/a/b/c")
    assert paths.inside("/", "/a")
    assert not paths.inside("/a/b", "/a/bc")


def test_a_path_is_shown_relative_only_inside_the_workspace(room: Room) -> None:
    assert paths.display_path(room.environment, f"{room.folder}/a/b") == "a/b"
    assert paths.display_path(room.environment, str(room.folder)) == "."
    assert paths.display_path(room.environment, f"{room.folder}x") == f"{room.folder}x"


def test_a_hard_description_stays_on_one_line() -> None:
    line = paths.description_line("Read a\n\x1b[2K\u202eb" + "c" * 200)
    assert len(line) == 80
    assert line.isprintable()


def test_the_root_folder_can_be_held(tmp_path: Path) -> None:
    with paths.open_folder("/") as handle:
        assert os.path.samestat(os.fstat(handle), os.stat("/"))
    with paths.open_folder(os.path.realpath(tmp_path)) as handle:
        assert os.path.samestat(os.fstat(handle), tmp_path.stat())
