"""Which folders a program has for itself, and which of them stay."""

import os
from pathlib import Path

import pytest

from wcore.sandbox.masks import Rules, SandboxError
from wcore.sandbox.workspace import Workspace


def workspace(folder: Path, **more: object) -> Workspace:
    home = str(folder.parent)
    rules = Rules(lambda _: False, lambda _: False)
    given = {"own": (), "secrets": (), "programs": (), "rules": rules, "scratch": "/state/x"}
    return Workspace(str(folder), home, **{**given, **more})  # type: ignore[arg-type]


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "home" / "ws"
    folder.mkdir(parents=True)
    (folder.parent / ".cache").mkdir()
    return folder


def test_a_private_folder_stays_where_nothing_is_mounted_below_it(ws: Path) -> None:
    cache = f"{ws.parent}/.cache"
    private = workspace(ws).look()[0].private
    assert private[cache] == "/state/x/.cache"
    assert private["/var/tmp"] == "/state/x/var-tmp"
    program = ws.parent / ".cache/tool/bin"
    program.mkdir(parents=True)
    assert workspace(ws, programs=(str(program),)).look()[0].private[cache] is None
    assert workspace(ws, scratch="").look()[0].private[cache] is None


def test_what_was_loaded_is_private_where_more_can_be_loaded(ws: Path, tmp_path: Path) -> None:
    (ws.parent / "go/pkg/mod").mkdir(parents=True)
    loaded, scratch = f"{ws.parent}/go/pkg/mod", tmp_path / "state"
    known = workspace(ws, scratch=str(scratch))
    assert loaded not in known.look()[0].private
    assert known.look(online=True)[0].private[loaded] == f"{scratch}/go-pkg-mod"
    assert known.look(online=True)[0].usual["GOMODCACHE"] == loaded
    (scratch / "go-pkg-mod").mkdir(parents=True)
    assert loaded in known.look()[0].private


def test_a_home_in_which_programs_lie_is_shown_without_its_secrets(ws: Path) -> None:
    place, masks = workspace(ws, homes=("/root",), secrets=("/etc/passwd",)).look()
    assert "/root" not in place.emptied
    assert "/etc/passwd" in masks.files


def test_no_mask_lies_where_nothing_is_seen(ws: Path) -> None:
    secret = ws.parent / ".cache" / "token"
    secret.write_text("x")
    assert str(secret) not in workspace(ws, secrets=(str(secret),)).look()[1].files


@pytest.mark.parametrize("folder", ["/", "/home", "/proc", "/etc"])
def test_the_system_is_no_workspace(folder: str) -> None:
    with pytest.raises(SandboxError, match="what programs are made of"):
        workspace(Path(folder)).look()
