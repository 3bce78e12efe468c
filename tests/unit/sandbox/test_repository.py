"""Where git keeps the history of a workspace: only what both sides say counts."""

import os
from pathlib import Path

import pytest
import waiting

from wcore.sandbox.repository import repository_folders


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    waiting.run(["git", *who, *words], cwd=folder, check=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "repo"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    return folder


def test_of_its_own_folder_there_is_nothing_elsewhere(repo: Path) -> None:
    assert repository_folders(str(repo)) == ()


def test_a_folder_of_a_repository_needs_that(repo: Path) -> None:
    assert repository_folders(str(repo / "sub")) == (f"{repo}/.git",)


def test_a_worktree_needs_the_repository_that_knows_it(repo: Path) -> None:
    git(repo, "worktree", "add", "-q", "../tree")
    tree = repo.parent / "tree"
    assert repository_folders(str(tree)) == (f"{repo}/.git",)
    tree.rename(repo.parent / "moved")  # now the repository says something else
    assert repository_folders(str(repo.parent / "moved")) == ()


def test_a_folder_outside_of_any_repository_needs_nothing(tmp_path: Path) -> None:
    assert repository_folders(os.path.realpath(tmp_path)) == ()


def test_a_pipe_is_no_repository_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert repository_folders(os.path.realpath(tmp_path)) == ()


@pytest.mark.parametrize(
    "marker", ["gitdir: a\0b", "gitdir: ../victim", "gitdir: /etc", "", "x", "gitdir: "]
)
def test_what_only_the_workspace_says_is_not_believed(repo: Path, marker: str) -> None:
    victim, ws = repo.parent / "victim", repo.parent / "ws"
    victim.mkdir()
    ws.mkdir()
    (ws / ".git").write_text(marker)
    assert repository_folders(str(ws)) == ()


def test_a_link_is_no_other_side(repo: Path) -> None:
    ws, fake = repo.parent / "ws", repo.parent / "ws" / "fake"
    (fake / "worktrees" / "a").mkdir(parents=True)
    (ws / ".git").write_text("gitdir: fake/worktrees/a")
    (fake / "worktrees/a/gitdir").write_text(f"{ws}/.git\n")
    (fake / "worktrees/a/commondir").write_text(f"{repo}/.git\n")  # not where it lies
    assert repository_folders(str(ws)) == ()
