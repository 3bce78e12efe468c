"""Masked names, and who takes them."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from wcore.sandbox.masks import Masks, SandboxError
from wcore.sandbox.watch import Watch

DOES: dict[str, tuple[Callable[[Path], object], str | None]] = {
    "nothing": (lambda _: None, None),
    "written": (lambda ws: (ws / "a/secret").write_text("y"), None),
    "beside": (lambda ws: (ws / "a/other").write_text("y"), None),
    "other name": (lambda ws: (ws / "a/secret2").rename(ws / "a/secret3"), None),
    "replaced": (lambda ws: (ws / "a/secret2").rename(ws / "a/secret"), "a/secret"),
    "removed": (lambda ws: (ws / "a/secret").unlink(), "a/secret"),
    "moved away": (lambda ws: (ws / "a/secret").rename(ws / "b"), "a/secret"),
    "folder moved": (lambda ws: (ws / "a").rename(ws / "b"), "a"),
    "kept replaced": (lambda ws: (ws / "kept").rmdir(), "kept"),
}


@pytest.mark.parametrize("name", DOES)
def test_a_name_that_is_taken_is_told(tmp_path: Path, name: str) -> None:
    does, lost = DOES[name]
    ws = Path(os.path.realpath(tmp_path))
    (ws / "a").mkdir()
    (ws / "kept").mkdir()
    (ws / "a/secret").write_text("x")
    (ws / "a/secret2").write_text("x")
    with closing(Watch(Masks((f"{ws}/a/secret",), (), (f"{ws}/kept",)))) as watch:
        does(ws)
        assert watch.lost() == (f"{ws}/{lost}" if lost else None)


def test_what_is_too_much_to_be_told_counts_as_lost(tmp_path: Path) -> None:
    """The kernel keeps so many events for somebody who does not read them, and drops the rest."""
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    (tmp_path / "secret").write_text("x")
    with closing(Watch(Masks((f"{tmp_path}/secret",)))) as watch:
        for _ in range(most // 2 + 1):
            (tmp_path / "a").touch()
            (tmp_path / "a").unlink()
        assert watch.lost() is not None


def test_what_cannot_be_watched_is_said(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"gone cannot be watched: No such file .*inotify"):
        Watch(Masks((f"{tmp_path}/gone/x",)))
