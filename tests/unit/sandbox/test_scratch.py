"""What programs of a sandbox keep, and when it goes."""

import os
import time
from pathlib import Path

import pytest

from wcore.sandbox import scratch
from wcore.sandbox.masks import SandboxError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = Path(scratch.folder_of(str(tmp_path), "/ws"))
    scratch.make([f"{found}/tmp", f"{found}/cache"])
    return found


def deep(folder: Path, count: int) -> None:
    for _ in range(count):
        folder /= "d"
    folder.mkdir(parents=True)
    (folder / "x").write_text("x" * 5000)


def test_each_workspace_has_its_own(tmp_path: Path) -> None:
    names = {scratch.folder_of(str(tmp_path), each) for each in ("/ws", "/ws/a", "/WS")}
    assert len(names) == 3


def test_folders_are_for_everybody_in_one_that_is_nobody_elses(folder: Path) -> None:
    assert (folder / "tmp").stat().st_mode & 0o7777 == 0o1777
    assert folder.stat().st_mode & 0o7777 == 0o700


def test_what_a_program_has_closed_is_usable_again(folder: Path) -> None:
    (folder / "tmp").chmod(0)
    scratch.make([f"{folder}/tmp"])
    assert (folder / "tmp").stat().st_mode & 0o7777 == 0o1777


def test_what_is_small_stays(folder: Path) -> None:
    deep(folder / "tmp", 3)
    assert not scratch.is_emptied(str(folder))
    assert len(list(folder.rglob("x"))) == 1


@pytest.mark.parametrize("limit", ["KEPT_BYTES_MAX", "KEPT_ENTRIES_MAX"])
def test_what_is_too_large_goes_whatever_it_did_to_stay(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("theirs")
    deep(folder / "tmp" / "closed", 300)
    (folder / "tmp" / "closed").chmod(0)
    (folder / "cache" / "link").symlink_to(outside)
    (folder / "cache" / "fixed").mkdir(mode=0o500)
    os.mkfifo(folder / "cache" / "pipe")
    monkeypatch.setattr(scratch, limit, 4)
    assert scratch.is_emptied(str(folder))
    assert sorted(os.listdir(tmp_path)) == ["outside"]
    assert (outside / "file").read_text() == "theirs"
    assert outside.stat().st_mode & 0o777 == 0o755


def test_what_lies_deeper_than_a_path_is_long_goes_too(folder: Path) -> None:
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(folder / "tmp")
        for _ in range(2000):
            os.mkdir("d" * 50)
            os.chdir("d" * 50)
        (Path("x")).write_text("x")
    finally:
        os.fchdir(before)
        os.close(before)
    assert scratch.is_emptied(str(folder))
    assert os.listdir(folder.parent) == []


def locked(folder: Path) -> int:
    held = scratch.lock(str(folder))
    assert held is not None
    return held


def test_one_works_in_it_at_a_time(folder: Path) -> None:
    held = locked(folder)
    assert scratch.lock(str(folder)) is None
    os.close(held)
    os.close(locked(folder))


def test_what_nobody_has_used_for_long_goes_unless_somebody_does(tmp_path: Path) -> None:
    folders = {
        name: Path(scratch.folder_of(str(tmp_path), name)) for name in ("old", "new", "held")
    }
    for name, each in folders.items():
        scratch.make([f"{each}/tmp"])
        deep(each / "tmp", 2)
        if name != "new":
            then = time.time() - scratch.KEPT_S - 60
            os.utime(each, (then, then))
    held = locked(folders["held"])
    scratch.tidy(str(tmp_path))
    os.close(held)
    assert {name for name, each in folders.items() if each.exists()} == {"new", "held"}
    scratch.tidy(str(tmp_path / "nowhere"))


def test_what_is_much_goes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "TIDY_S_MAX", -1.0)
    monkeypatch.setattr(scratch, "KEPT_S", -60.0)
    each = Path(scratch.folder_of(str(tmp_path), "/ws"))
    scratch.make([f"{each}/tmp"])
    scratch.tidy(str(tmp_path))
    assert (each / "tmp").exists()


def test_a_place_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    why = r"cannot be used: (Not a directory|File exists)"
    with pytest.raises(SandboxError, match=why):
        scratch.lock(f"{tmp_path}/file/x")
    with pytest.raises(SandboxError, match=why):
        scratch.make([f"{tmp_path}/file/x/tmp"])
