"""What programs in a sandbox write to the configuration of git: put back, or told."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import waiting
from sandbox.test_calls import result_of
from sandbox.test_command import WCORE, environ, run, ws
from talking import Conversation

__all__ = ["ws"]
Talk = Callable[..., Conversation]
LATER: Final = "echo up; read line;"
OWN: Final = "[alias]\n\tx = !id\n[core]\n\tsshCommand = ssh -v\n[include]\n\tpath = ../more\n"


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    env = {**environ(folder), "HOME": str(folder.parent)}
    return waiting.run(["git", *who, *words], cwd=folder, env=env, check=True).stdout


@pytest.fixture
def config(ws: Path) -> Path:
    git(ws, "init", "-q", "-b", "main")
    git(ws, "commit", "-q", "--allow-empty", "-m", "first")
    path = ws / ".git" / "config"
    path.write_text(path.read_text() + OWN)
    path.chmod(0o640)
    return path


@pytest.mark.parametrize(
    ("script", "key", "value"),
    [
        ("git remote add up https://a.example/b", "remote.up.url", "https://a.example/b"),
        (
            "git remote add up git@b.example:c; git remote rename up on",
            "remote.on.url",
            "git@b.example:c",
        ),
        ("git switch -qc new; git branch -q -u main", "branch.new.merge", "refs/heads/main"),
        ("git switch -qc a -t main; git branch -m a b", "branch.b.merge", "refs/heads/main"),
        ("git config user.email z@example.org", "user.email", "z@example.org"),
        ("git config submodule.s.url ssh://b.example/s", "submodule.s.url", "ssh://b.example/s"),
        ("printf '[user]\\n\\tname = z\\n' >>.git/config", "user.name", "z"),
        ("git config user.name z; mv -f .git/config.lock x || git gc -q", "user.name", "z"),
    ],
)
def test_what_starts_no_program_is_put_back(
    ws: Path, config: Path, script: str, key: str, value: str
) -> None:
    done = run(ws, script)
    assert "was not kept" not in done.stderr
    assert git(ws, "config", "--file", str(config), key) == f"{value}\n"
    assert config.read_text().startswith("[core]")
    assert OWN.splitlines()[1] in config.read_text()
    assert config.stat().st_mode & 0o777 == 0o640
    assert not (config.parent / "config.lock").exists()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("git config core.hooksPath x", "core.hookspath"),
        ("git config core.fsmonitor ./x", "core.fsmonitor"),
        ("git config alias.x '!ls'", "alias.x"),
        ("git config --unset alias.x", "alias.x"),
        ("git config include.path x", "include.path"),
        ("git config filter.a.clean x", "filter.*.clean"),
        ("git config user.name z; git config core.pager x", "core.pager"),
        ("git remote add up ext::sh", "remote.*.url"),
        ("git remote add up ../x", "remote.*.url"),
        ("git config user.name ''", "user.name"),
        ("printf '[remote \"--x\"]\n\turl = git@b.example:c\n' >>.git/config", "remote.*.url"),
        ("seq -f '[branch \"name-of-number-%g\"]' 3000 >>.git/config", "too long"),
        ("git config remote.up.uploadpack x", "remote.*.uploadpack"),
        ("git config submodule.s.update '!x'", "submodule.*.update"),
        ("git config --rename-section core other", "core."),
        ("echo '[core' >>.git/config", "not as git writes it"),
        ("printf '[user]\\n\\tname = x\\\\\\n' >>.git/config", "not as git writes it"),
        ("printf '[user]\\n\\tname = \\xff\\n' >>.git/config", "not as git writes it"),
        ("{ printf '[user]\\n\\tname = x\\n'; cat .git/config; } >y; cat y >.git/config", ""),
        ("head -c 70000 /dev/zero >.git/config", "not as git writes it"),
        ("rm /dev/git/config", "No such file"),
        ("ln -sf /etc/passwd /dev/git/config", "Too many levels"),
        ("rm /dev/git/config; mkdir /dev/git/config", "Is a directory"),
        ("rm /dev/git/config; mkfifo /dev/git/config", "not as git writes it"),
        ("rm -f .git/config; mv .git/config x; ln -sf x .git/config; mv .git way", ""),
        ("mv /dev/git/config /dev/git/x; ln /dev/git/x /dev/git/config", ""),
    ],
)
def test_nothing_else_is(ws: Path, config: Path, script: str, told: str) -> None:
    before = config.read_bytes()
    done = run(ws, script)
    if told:
        assert config.read_bytes() == before
        assert f"what was written to {config} was not kept" in done.stderr
        assert told in done.stderr
        assert done.returncode == 1
    assert OWN in config.read_text()
    assert not config.is_symlink()
    assert not [each for each in os.listdir(config.parent) if "lock" in each]


@pytest.mark.parametrize("other", ["writes", "is at it"])
def test_what_others_write_meanwhile_stays(ws: Path, config: Path, other: str) -> None:
    command = [*WCORE, "run", "--", "bash", "-c", f"git config user.name z; {LATER}"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, cwd=ws, env=environ(ws), stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert waiting.line(process) == "up\n"
    if other == "writes":
        with config.open("a") as file:
            file.write("# theirs\n")
    else:
        (config.parent / "config.lock").touch()
    before = config.read_text()
    done = waiting.finish(process, b"\n")
    assert "was not kept: somebody else" in done.stderr
    assert config.read_text() == before


def test_a_work_tree_shares_the_configuration_of_its_repository(ws: Path, config: Path) -> None:
    git(ws, "worktree", "add", "-q", "../tree")
    done = run(ws.parent / "tree", "git config user.name z; git config core.editor x")
    assert "core.editor" in done.stderr
    assert not run(ws.parent / "tree", "git config user.name z").stderr
    assert git(ws, "config", "--file", str(config), "user.name") == "z\n"


def test_git_is_led_nowhere_by_its_older_files(ws: Path, config: Path) -> None:
    (config.parent / "branches").mkdir(exist_ok=True)
    new = "git init -q new; git -C new remote add up /x; mkdir -p new/.git/remotes"
    leaves = (
        "mkdir -p .git/remotes; for d in {,new/}.git/{remotes,branches}; do echo /x >$d/y; done"
    )
    done = run(ws, f"{new}; {leaves}")
    assert "new/.git/remotes/y was moved" in done.stderr
    assert not list(ws.rglob(".git/*/y"))
    assert "moved" not in run(ws, "git init -q newer; mkdir -p newer/.git/branches").stderr


def test_one_program_runs_at_a_time_in_a_repository_with_work_trees(ws: Path, config: Path) -> None:
    """What one puts back would take the mask off the file for the other."""
    tree = ws.parent / "tree"
    git(ws, "worktree", "add", "-q", str(tree))
    for first, second in ((ws, tree), (tree, ws)):
        command = [*WCORE, "run", "--", "bash", "-c", LATER]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, cwd=first, env=environ(ws), stdin=pipe, stdout=pipe)
        assert waiting.line(process) == "up\n"
        done = run(second, "touch new", HOME=str(ws.parent))
        assert "another program runs in this sandbox, or repository" in done.stderr
        assert not (second / "new").exists()
        waiting.finish(process, b"\n")
    assert config.exists()


def test_to_read_only_it_cannot_be_written(ws: Path, config: Path) -> None:
    before = config.read_bytes()
    done = run(ws, "git config user.name z", "--view", "read_only")
    assert done.returncode != 0
    assert config.read_bytes() == before


async def test_a_call_says_what_was_not_kept(talk: Talk, workspace: Path) -> None:
    git(workspace, "init", "-q")
    found = await result_of(talk, "git remote add up git@b.example:c; git config core.editor vi")
    assert found["status"] == "error"
    assert "was not kept: core.editor" in found["output"]
    found = await result_of(talk, "git remote add up git@b.example:c && echo done")
    assert (found["status"], found["output"]) == ("success", "done\n")
    assert git(workspace, "remote") == "up\n"
