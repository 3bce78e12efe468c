import os
import subprocess
from pathlib import Path

import pytest
import waiting

from wcore.tools.process.child_environment import child_environment, find_bash, find_ripgrep


@pytest.mark.parametrize("path", ["", ".", ":relative:", None])
def test_a_path_without_absolute_folders_falls_back_to_the_systems(path: str | None) -> None:
    environ = {} if path is None else {"PATH": path}
    assert child_environment(environ)["PATH"] == "/usr/local/bin:/usr/bin:/bin"


def test_programs_that_the_project_brings_along_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    workspace, outside = tmp_path / "w", tmp_path / "o"
    for folder in (workspace, outside):
        folder.mkdir()
    planted = workspace / "rg"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    (outside / "rg").symlink_to(planted)
    environ = {"PATH": f"{workspace}:{outside}"}
    assert find_ripgrep(environ, str(workspace)) is None
    assert find_ripgrep(environ, str(outside)) == str(planted)


def test_the_systems_bash_comes_first(tmp_path: Path) -> None:
    planted = tmp_path / "bash"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    found = find_bash({"PATH": str(tmp_path)}, "/elsewhere")
    assert found in ("/bin/bash", "/usr/bin/bash")


def git(folder: Path, environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return waiting.run(command, cwd=folder, env=child_environment(environ))


def test_entries_for_git_stand_behind_those_of_the_user() -> None:
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    found = child_environment(given)
    assert found["GIT_CONFIG_COUNT"] == "4"
    assert (found["GIT_CONFIG_KEY_0"], found["GIT_CONFIG_VALUE_0"]) == ("a.b", "c")
    assert found["GIT_CONFIG_KEY_1"] == "safe.bareRepository"
    for broken in ("", "-1", "x", "٣", "99999"):
        assert child_environment({"GIT_CONFIG_COUNT": broken})["GIT_CONFIG_COUNT"] == "3"


EDITORS = ("EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR")


@pytest.mark.parametrize("names", [(), EDITORS])
@pytest.mark.parametrize(
    "command",
    [
        "git commit --allow-empty",
        "git commit --allow-empty --amend",
        "git tag -a v1",
        "git config --local --edit",
        "git rebase -i HEAD~1",
        "git notes edit",
        'sh -c "$VISUAL x"',  # as crontab, hg and svn start theirs
        'eval "$EDITOR x"',
    ],
)
def test_what_opens_an_editor_is_told_at_once_that_there_is_none(
    tmp_path: Path, command: str, names: tuple[str, ...]
) -> None:
    editor = "touch opened;"
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **dict.fromkeys(names, editor)}
    (tmp_path / ".gitconfig").write_text(f'[core]\neditor = "{editor}"\n[sequence]\neditor = vi\n')
    git(tmp_path, environ, "init", "-q")
    for message in ("one", "two"):
        git(tmp_path, environ, "commit", "-q", "--allow-empty", "-m", message)
    given = child_environment(environ) | {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    given |= {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b"}
    done = waiting.run(["bash", "-c", command], cwd=tmp_path, env=given, stdin=subprocess.DEVNULL)
    assert "no editor here: give the text with -m" in done.stderr
    assert not list(tmp_path.rglob("opened"))


def test_a_repository_that_was_written_as_files_runs_nothing(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "config").write_text(
        "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\n"
        'fsmonitor = "touch PWNED; false"\n'
    )
    for name in ("objects", "refs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "keep").touch()
    git(tmp_path, environ, "status")
    assert not (tmp_path / "PWNED").exists()


def test_git_works_in_a_repository_a_worktree_a_submodule_and_a_named_bare_one(
    tmp_path: Path,
) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        assert git(folder, environ, "init", "-q").returncode == 0
        assert git(folder, environ, "commit", "-q", "--allow-empty", "-m", "x").returncode == 0
    allow = ("-c", "protocol.file.allow=always")
    assert git(one, environ, *allow, "submodule", "add", str(other), "sub").returncode == 0
    assert git(one, environ, "worktree", "add", "-q", str(tmp_path / "tree")).returncode == 0
    assert git(tmp_path, environ, "clone", "-q", "--bare", str(other), "bare").returncode == 0
    for folder in (one, one / "sub", tmp_path / "tree"):
        assert git(folder, environ, "status").returncode == 0
        assert git(folder, environ, "log").returncode == 0
    bare = tmp_path / "bare"
    assert git(bare, environ, "log").returncode != 0  # only where it is named
    assert git(bare, environ, f"--git-dir={bare}", "log").returncode == 0
