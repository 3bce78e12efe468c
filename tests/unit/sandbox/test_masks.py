"""What of a workspace is hidden or kept, on a real disk."""

import hashlib
import os
import socket
from pathlib import Path
from typing import Final

import pytest

from wcore.policy import protected
from wcore.sandbox import masks
from wcore.sandbox.masks import Masks, Rules, SandboxError


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "home" / "ws"
    folder.mkdir(parents=True)
    return folder


def rules() -> Rules:
    return Rules(protected.is_secret, protected.runs_unasked, lambda path: path.endswith("/denied"))


def write(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {path.name}\n")


def found(ws: Path, *repository: Path) -> dict[str, set[str]]:
    """Return the masks, below the workspace by the rest of their names."""
    given = masks.masks_of(str(ws), [*map(str, repository)], str(ws.parent), rules())
    told = {name: getattr(given, name) for name in ("files", "folders", "kept")}
    return {
        n: {each.removeprefix(f"{ws}/") for each in paths} for n, paths in told.items() if paths
    }


def test_secrets_are_hidden_and_what_others_run_is_kept(ws: Path) -> None:
    write(
        *(
            ws / ".env",
            ws / "a/.env.local",
            ws / "a/server.key",
            ws / ".ssh/config",
            ws / "b/denied",
        ),
        *(ws / "denied/x", ws / ".vscode/tasks.json", ws / ".mcp.json", ws / ".wcore/policy.toml"),
        *(ws / "README.md", ws / "src/main.py"),
    )
    assert found(ws) == {
        "files": {".env", "a/.env.local", "a/server.key", "b/denied", ".ssh/config"},
        "folders": {".ssh", "denied"},
        "kept": {".vscode", ".mcp.json", ".wcore"},
    }


def test_of_a_repository_what_git_runs_is_kept_and_the_rest_can_be_written(ws: Path) -> None:
    write(
        *(ws / ".git/config", ws / ".git/hooks/pre-commit", ws / ".git/HEAD", ws / ".git/index"),
        *(ws / ".git/objects/config", ws / ".git/refs/heads/hooks", ws / ".git/logs/config"),
        *(ws / ".git/modules/a/config", ws / ".git/modules/a/hooks/x"),
        *(ws / ".git/worktrees/b/commondir", ws / ".git/worktrees/b/gitdir"),
        *(ws / ".git/worktrees/b/config.worktree", ws / "deep/.git/config", ws / "sub/.git"),
    )
    assert found(ws) == {
        "kept": {
            *(".git/config", ".git/hooks", ".git/modules/a/config", ".git/modules/a/hooks"),
            *(".git/worktrees/b/commondir", ".git/worktrees/b/gitdir"),
            *(".git/worktrees/b/config.worktree", "deep/.git/config", "sub/.git"),
        }
    }


def test_a_repository_elsewhere_is_looked_at_too(ws: Path) -> None:
    other = ws.parent / "other" / ".git"
    write(other / "config", other / "hooks/x", other / "denied", ws / "a")
    assert found(ws, other) == {
        "files": {f"{other}/denied"},
        "kept": {f"{other}/config", f"{other}/hooks"},
    }


def test_what_git_has_is_not_hidden_as_long_as_it_is_the_same(ws: Path) -> None:
    write(ws / ".env.example", ws / "test/server.pem", ws / ".env")
    digests: list[bytes] = []
    for path in (ws / ".env.example", ws / "test/server.pem"):
        content = path.read_bytes()
        blob = b"blob %d\0" % len(content) + content
        digests.append(hashlib.sha1(blob, usedforsecurity=False).digest())
    (ws / ".git").mkdir()
    (ws / ".git/index").write_bytes(b"DIRC" + b"".join(digests))
    assert found(ws) == {"files": {".env"}}
    (ws / ".env.example").write_text("a real secret by now\n")
    assert found(ws) == {"files": {".env", ".env.example"}}


def test_what_is_denied_is_hidden_though_git_has_it(ws: Path) -> None:
    write(ws / "denied")
    content = (ws / "denied").read_bytes()
    (ws / ".git").mkdir()
    (ws / ".git/index").write_bytes(hashlib.sha256(b"blob %d\0" % len(content) + content).digest())
    assert found(ws) == {"files": {"denied"}}


def test_a_link_is_followed_to_what_is_hidden(ws: Path) -> None:
    write(ws / "config/dev", ws.parent / "elsewhere")
    (ws / ".env").symlink_to("config/dev")
    (ws / ".env.home").symlink_to(ws.parent / "elsewhere")
    (ws / "x.pem").symlink_to("/etc/hosts")  # of the system: everybody reads it
    (ws / ".env.gone").symlink_to("nowhere")
    assert found(ws) == {"files": {"config/dev", f"{ws.parent}/elsewhere"}}


def test_sockets_and_pipes_are_hidden_whatever_name_they_were_bound_by(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ws)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("name")
        (ws / "name").rename(ws / "other")
        os.mkfifo(ws / "pipe")
        assert found(ws) == {"files": {"other", "pipe"}}


def test_links_that_lead_nowhere_are_no_error(ws: Path) -> None:
    for name, to in (
        *(("loop", "loop"), (".env", ".env"), (".vscode", "gone"), ("long", "x" * 300)),
        *((".git", "index"), ("index", ".git"), (".mcp.json", "/proc/1/root/x")),
    ):
        (ws / name).symlink_to(to)
    assert found(ws) == {}


def test_a_link_hides_no_folder_that_one_works_in(ws: Path) -> None:
    (ws / ".env").symlink_to("..")
    (ws / ".env.here").symlink_to(".")
    assert found(ws) == {}


def test_what_is_installed_is_not_looked_into(ws: Path) -> None:
    write(ws / "node_modules/a/.env", ws / ".venv/lib/cert.pem", ws / "a/node_modules/.vscode/x")
    assert found(ws) == {}


def test_a_second_name_of_a_secret_is_an_error(ws: Path) -> None:
    write(ws / ".env")
    os.link(ws / ".env", ws / "plain")
    with pytest.raises(SandboxError, match=r"\.env cannot be masked: .* another name"):
        masks.together(masks.masks_of(str(ws), [], str(ws.parent), rules()))


@pytest.mark.parametrize("path", [".mcp.json", ".vscode/tasks.json", ".git/hooks/pre-commit"])
def test_a_second_name_of_what_is_kept_is_an_error(ws: Path, path: str) -> None:
    """By it the file could be written."""
    write(ws / path)
    os.link(ws / path, ws / "plain")
    with pytest.raises(SandboxError, match=f"{path} cannot be masked"):
        masks.together(masks.masks_of(str(ws), [], str(ws.parent), rules()))


def test_a_link_that_is_kept_is_noted_with_where_it_leads(ws: Path) -> None:
    write(ws / "ours/x")
    (ws / ".vscode").symlink_to("ours")
    (ws / ".idea").symlink_to("/etc")
    given = masks.masks_of(str(ws), [], str(ws.parent), rules())
    assert given.kept == (f"{ws}/ours",)
    assert sorted(given.names) == [(f"{ws}/.idea", "/etc"), (f"{ws}/.vscode", "ours")]


def test_more_masks_than_a_program_can_have_are_an_error(ws: Path) -> None:
    some = Masks(kept=tuple(map(str, range(masks.MASKS_MAX))))
    assert masks.together(some) == some
    with pytest.raises(SandboxError, match=f"{masks.MASKS_MAX + 1} files and folders"):
        masks.together(some, Masks(folders=("x",)))


def test_more_files_than_can_be_looked_at_are_an_error(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masks, "ENTRIES_MAX", 5)
    write(*(ws / str(n) for n in range(5)))
    assert found(ws) == {}
    write(ws / "one more")
    with pytest.raises(SandboxError, match="more than 5 files"):
        found(ws)


def test_what_is_not_there_is_not_masked(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(ws / "file", ws / "folder/x")
    (ws / "link").symlink_to("file")
    listener = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(ws)
    with listener:
        listener.bind("socket")
        given = [ws / name for name in ("file", "folder", "link", "socket", "gone")]
        assert masks.hidden_of(map(str, given)) == Masks(
            (f"{ws}/file", f"{ws}/socket"), (f"{ws}/folder",)
        )


def test_names_are_found_as_they_are_written(ws: Path) -> None:
    write(ws / "A/B/file", ws / "a.txt", ws / "A.TXT", ws / "other")
    found = masks.in_any_case([f"{ws}/a/b", f"{ws}/a/b/FILE", f"{ws}/a.txt", f"{ws}/no/such/x"])
    assert sorted(found) == [f"{ws}/A.TXT", f"{ws}/A/B", f"{ws}/A/B/file", f"{ws}/a.txt"]


def test_links_in_hidden_folders_are_followed(ws: Path) -> None:
    home = ws.parent
    write(home / "dots/aws", home / "dots/ssh/key", home / ".aws/plain", home / ".aws/deep/x")
    (home / ".aws/credentials").symlink_to("../dots/aws")
    (home / ".aws/deep/ssh").symlink_to("../../dots/ssh")
    (home / ".aws/deep/system").symlink_to("/etc/hosts")
    (home / ".aws/deep/home").symlink_to("../..")
    (home / ".aws/deep/ws").symlink_to(ws)
    assert sorted(masks.led_to_from([f"{home}/.aws"], str(home), str(ws))) == [
        f"{home}/dots/aws",
        f"{home}/dots/ssh",
    ]


def test_sockets_of_this_machine_are_found(ws: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        path = f"/tmp/wcore {os.getpid()} socket\nof two lines"
        listener.bind(path)
        try:
            assert path in masks.sockets()
        finally:
            os.unlink(path)


PROC: Final = "/proc"


def test_processes_are_seen_at_one_place_only() -> None:
    assert PROC not in masks.other_views_of_processes()


@pytest.mark.parametrize(
    "name", ["/srv/x", "/srv/a b", "/srv/tab\tnew\nline", "/srv/b\\040", "/ä/ü"]
)
def test_another_place_is_found_whatever_its_name(tmp_path: Path, name: str) -> None:
    escaped = "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in name)
    table = tmp_path / "mountinfo"
    line = "36 35 98:0 / {} rw,nosuid shared:1 - proc proc rw\n"
    table.write_text(line.format(PROC) + line.format(f"{PROC}/x") + line.format(escaped))
    assert masks.other_views_of_processes(str(table)) == [name]


def test_afterwards_more_files_than_can_be_looked_at_leave_what_was_found(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masks, "LEFT_ENTRIES_MAX", 2)
    write(ws / ".mcp.json", ws / "a/.vscode/x")
    unread: list[str] = []
    assert masks.guarded_names(str(ws), [], rules(), unread) == [f"{ws}/.mcp.json"]
    assert unread == [str(ws)]
