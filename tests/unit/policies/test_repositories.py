"""What a repository's own configuration makes git run is not covered by a prefix."""

import os
import subprocess
from pathlib import Path

import pytest

from wcore.policies.named_paths import finder
from wcore.policies.repositories import CONFIG_BYTES_MAX
from wcore.policy import shell
from wcore.policy.decide import Standing, decide
from wcore.policy.facts import gather
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.protected import Places
from wcore.vocabulary import AlwaysPrefix, Category, Mode, Prepared, Verdict

PLAIN = '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://x.invalid/command=y\n'
PROGRAMS = [
    *("[diff]\n\texternal = ./e", '[diff "x"]\n\ttextconv = ./e', '[diff "x"]\nCommand=./e'),
    *('[filter "x"]\n\tclean = ./e', '[filter "x"] process = ./e', "[include]\n path = x"),
    *('[includeIf "gitdir:x"]\n\tpath = x', "[diff.x] textconv = e", "[gpg]\n program = ./e"),
    *(
        '[diff "x"]\n\ttextconv = \\\n ./e',
        "[core]\n\tsshCommand = ./e",
        "\r\n[diff]\r\nexternal=e",
    ),
    *("[core]\n gitProxy = e", '[remote "o"]\n uploadpack = ./e', '[protocol "ext"]\nallow=always'),
]
HARMLESS = [
    *("[user]\n\tname = external", '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\trequired = 1'),
    *("[clean]\n\trequireForce = true", "[core]\n\thooksPath = .husky", "[diff]\n\talgorithm = x"),
]


def asks(workspace: Path, text: str) -> bool:
    """Whether `text` asks where `git diff` and `cd` were granted."""
    places = Places(str(workspace), str(workspace.parent))
    found = finder(places)(text, {"PATH": "/usr/bin:/bin", "HOME": places.home})
    prepared = Prepared(
        "Bash", Category.EXEC, {}, "", "", (), text, named=(), programs=found.programs
    )
    grants: list[Grant] = []
    for prefix in ("git diff", "cd"):
        parsed = shell.parse_grant(prefix)
        assert isinstance(parsed, shell.Grant)
        grants.append(Grant(prefix, "Bash", AlwaysPrefix(prefix), "", "", prefix=parsed))
    standing = Standing(Mode.DEFAULT, GrantBook(grants), frozenset({"Bash"}))
    decision = decide(gather(prepared, shell.analyse(text), places), standing)
    return decision.verdict is not Verdict.ALLOW


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "ws"
    (folder / "sub/deeper").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True, env=_environ(tmp_path))
    return folder


def _environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


@pytest.mark.parametrize("config", PROGRAMS)
def test_git_asks_where_its_repository_names_a_program(workspace: Path, config: str) -> None:
    assert not asks(workspace, "git diff")
    (workspace / ".git/config").write_text(PLAIN + config + "\n")
    assert asks(workspace, "git diff")
    assert asks(workspace / "sub/deeper", "cd . && git diff --stat")
    assert not asks(workspace, "cd sub")


@pytest.mark.parametrize("config", HARMLESS)
def test_git_does_not_ask_for_other_settings(workspace: Path, config: str) -> None:
    (workspace / ".git/config").write_text(PLAIN + config + "\n")
    assert not asks(workspace, "git diff")


def test_a_repository_below_counts_where_the_text_goes_there(workspace: Path) -> None:
    (workspace / "sub/deeper/.git").mkdir()
    (workspace / "sub/deeper/.git/config").write_text(PROGRAMS[0])
    assert not asks(workspace, "git diff")
    for text in (
        "cd sub/deeper && git diff",
        "cd sub; cd deeper; git diff",
        "cd sub/deeper; git diff",
    ):
        assert asks(workspace, text), text


def test_a_work_tree_has_the_configuration_of_its_repository(workspace: Path) -> None:
    place = workspace / ".git/worktrees/w"
    place.mkdir(parents=True)
    (place / "commondir").write_text("../..\n")
    (workspace / "sub/.git").write_text(f"gitdir: {place}\n")
    assert not asks(workspace / "sub", "git diff")
    (place / "config.worktree").write_text(PROGRAMS[0])
    assert asks(workspace / "sub", "git diff")
    (place / "config.worktree").unlink()
    (workspace / ".git/config").write_text(PROGRAMS[0])
    assert asks(workspace / "sub", "git diff")


def test_what_cannot_be_read_may_name_a_program(workspace: Path) -> None:
    config = workspace / ".git/config"
    config.write_text("#" * (CONFIG_BYTES_MAX + 1))
    assert asks(workspace, "git diff")
    config.unlink()
    os.mkfifo(config)
    assert asks(workspace, "git diff")
