"""What a repository's own configuration or hooks make git run is not covered by a prefix."""

import os
from pathlib import Path

import pytest
import waiting

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import gather
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.protected import Places
from wcore.policy_files.named_paths import finder
from wcore.policy_files.programs import WORDS_MAX
from wcore.policy_files.repositories import CONFIG_BYTES_MAX, refused_changes
from wcore.tools.process.child_environment import child_environment
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
    *("[credential]\n helper = /e", '[credential "http://h"]\nhelper=!e', "[core]\n askPass = e"),
    *("[core]\nalternateRefsCommand = e", '[remote "o"]\n promisor = true', "[new]\n thing = e"),
    *("[extensions]\n partialClone = o", "[gc]\n recentObjectsHook = e", "[pager]\n log = e"),
    *("[trace2]\n eventTarget = /x", '[hook "x"]\n command = e', "[core]\n hooksPath = ~/x"),
    *('[core]\nhooksPath = ""', "[core]\nhooksPath=x\nworktree=..", '[submodule "x"]\nupdate=!e'),
    *("no entry", "=", "[core", "[user]\n name = a\vb", '[filter "lfs"]\nclean = git-lfs clean; e'),
]
HARMLESS = [
    *("[user]\n\tname = external", '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\trequired = 1'),
    *("[clean]\n\trequireForce = true", "[core]\n\thooksPath = .husky", "[diff]\n\talgorithm = x"),
    *('[branch "a/b"]\n\tremote = origin\n\tmerge = refs/heads/a/b\n\tvscode-merge-base = x', ""),
    *("[credential]\n\thelper = store", "[core] ; x\n# y\nautocrlf=false", "[core] eol = lf\r"),
    *('[submodule "x"]\n\tactive = true\n\turl = ../x', "[pull]\n\trebase", "[commit]\ngpgSign=1"),
    *("[extensions]\n\tworktreeConfig = true", '[lfs "https://x/lfs"]\n\taccess = basic'),
]
#: Folders of hooks, and the configuration with which git looks there.
RUN_BY_READING = [
    ("hooks", ""),
    ("hk", "[core]\n\thooksPath = hk\n"),
    ("hk", '[core]\n\thooksPath = "hk"\n'),
]


def asks(workspace: Path, text: str, *granted: str) -> bool:
    """Whether `text` asks where `git diff` and `cd`, or what is named, were granted."""
    places = Places(str(workspace), str(workspace.parent))
    found = finder(places)(text, {"PATH": "/usr/bin:/bin", "HOME": places.home})
    prepared = Prepared(
        "Bash", Category.EXEC, {}, "", "", (), text, named=(), programs=found.programs
    )
    grants: list[Grant] = []
    for prefix in granted or ("git diff", "cd"):
        parsed = shell.parse_grant(prefix)
        assert isinstance(parsed, shell.PrefixGrant)
        grants.append(Grant(prefix, "Bash", AlwaysPrefix(prefix), "", "", prefix=parsed))
    context = DecisionContext(Mode.DEFAULT, GrantBook(grants), frozenset({"Bash"}))
    decision = decide(gather(prepared, shell.analyse(text), places), context)
    return decision.verdict is not Verdict.ALLOW


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "ws"
    (folder / "sub/deeper").mkdir(parents=True)
    waiting.run(["git", "init", "-q", str(folder)], check=True, env=_environ(tmp_path))
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


@pytest.mark.parametrize(("config", "does_ask"), [("", False), ("[diff]\nexternal = e", True)])
def test_a_byte_order_mark_in_front_is_skipped_as_git_does(
    workspace: Path, config: str, does_ask: bool
) -> None:
    (workspace / ".git/config").write_text("\ufeff" + (config or PLAIN) + "\n")
    assert asks(workspace, "git diff") == does_ask


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


WAS = """\
[core]
\tpager = less
\tfsmonitor =
[remote "o"]
\turl = https://a.example/b
[remote "near"]
\turl = ../near
[branch "main"]
\tremote = o
\tmerge = refs/heads/main
[alias "x"]
\tcommand = ls
[alias]
\tx = a
\tx = b
[include]
\tpath = one
[http]
\tsslVerify
"""
END = "[alias]"


def more(text: str) -> tuple[str, str]:
    """Return what is to be replaced so that `text` is written before the end."""
    return END, f"{text}\n{END}"


UP = '[remote "up"]\n\turl = '


@pytest.mark.parametrize(
    "change",
    [
        more(f"{UP}https://c.example/d/e.git\n\tfetch = +refs/heads/*:refs/remotes/up/*"),
        more(f"{UP}ssh://git@c.example:2222/~d/e.git"),
        more(f"{UP}git@c.example:/d/e-1.git"),
        more('[branch "n/@x-1"]\n\tremote = o\n\tmerge = refs/heads/n/@x-1\n\trebase = true'),
        more('[branch "n"]\n\tremote = .\n\tmerge = refs/heads/a.b'),
        more(f'{UP}git@c.example:e\n[branch "n"]\n\tremote = up'),
        more('[submodule "a/s"]\n\tactive = true'),
        more('[submodule "s"]\n\turl = ssh://a.example/s\n\tactive = true'),
        more("[user]\n\tname = J\u00f6rg O'Neill\n\temail = j+x@example.org"),
        more("# a comment\n; and another"),
        more('[core]\n[filter "x"]'),
        ("merge = refs/heads/main", "merge = refs/heads/other"),
        ('[branch "main"]\n\tremote = o\n\tmerge = refs/heads/main\n', ""),
    ],
)
def test_what_may_change_in_a_configuration(change: tuple[str, str]) -> None:
    assert change[0] in WAS
    assert refused_changes(WAS.encode(), WAS.replace(*change).encode()) == []


@pytest.mark.parametrize(
    "address",
    [
        *("ext::sh -c x", '"ext::sh -c x"', 'e"x"t::sh', "ext://sh", "foo://b", "file:///b", "/b"),
        *(
            "node_modules/b.git",
            ".",
            "--upload-pack=x",
            "ssh://-oProxyCommand=x/y",
            "a@b.example::c",
        ),
        *(
            "https://b.example/b # c",
            "",
            "https://localhost/x",
            "https://x.localhost/x",
            "c.example:d",
        ),
        *("https://127.0.0.1/x", "https://[::1]/x", "https://0x7f.1/x", "https://2130706433/x"),
        *("https://b.example/../x", "https://b.example/a/../x", "https://b.example/%2e%2e/x"),
        *(
            "https://b.example/x%0a",
            "http://b.example/x",
            "git://b.example/x",
            "ssh:///x",
            "localhost",
        ),
        *("ssh://[-oProxyCommand=x]/y", "git@b.example:-x", "git@localhost:x", "https://b.example"),
    ],
)
def test_where_no_new_remote_may_be(address: str) -> None:
    for new in (f"{UP}{address}", f'[submodule "s"]\n\turl = {address}'):
        assert refused_changes(WAS.encode(), WAS.replace(*more(new)).encode()) != []


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (("https://a.example/b", "https://c.example/b"), "remote.*.url"),
        (("\turl = https://a.example/b\n", ""), "remote.*.url"),
        (('[remote "o"]', '[remote "p"]'), "remote.*.url"),
        (('[remote "o"]', '[remote "o"]\n\turl = https://c.example/d'), "remote.*.url"),
        (("../near", "../far"), "remote.*.url"),
        (("pager = less", "pager = more"), "core.pager"),
        (("pager = less", "PAGER = less"), "core.pager"),
        (("\tpager = less\n", ""), "core.pager"),
        (("fsmonitor =", "fsmonitor"), "core.fsmonitor"),
        (("sslVerify", "sslVerify ="), "http.sslverify"),
        (('[alias "x"]', '[alias "y"]'), "alias.*.command"),
        (("[include]", '[includeIf "onbranch:x"]'), "includeif.*.path"),
        (("x = a\n\tx = b", "x = b\n\tx = a"), "the order of its keys"),
        (("x = a\n", "x = a\n\tx = a\n"), "the order of its keys"),
        (more('[remote "--upload-pack=x"]\n\turl = https://c.example/b'), "remote.*.url"),
        (more('[remote "a b"]\n\turl = https://c.example/b'), "remote.*.url"),
        (more('[remote ""]\n\turl = https://c.example/b'), "remote.*.url"),
        (more('[remote "https://x.example/y"]\n\turl = https://c.example/b'), "remote.*.url"),
        (more('[remote "a..b"]\n\turl = https://c.example/b'), "remote.*.url"),
        (more('[remote "x.lock"]\n\turl = https://c.example/b'), "remote.*.url"),
        (more("[remote.x]\n\turl = https://c.example/b"), "remote.*.url"),
        (more('[remote "up"]\n\tfetch = +refs/heads/*:refs/remotes/up/*'), "remote.*.fetch"),
        (more('[remote "o"]\n\tuploadpack = x'), "remote.*.uploadpack"),
        (more(f"{UP}git@c.example:e\n\tuploadpack = x"), "remote.*.uploadpack"),
        (more(f"{UP}git@c.example:e\n\tfetch = --upload-pack=x"), "remote.*.fetch"),
        (more(f"{UP}git@c.example:e\n\tfetch = refs/heads/*"), "remote.*.fetch"),
        (more(f"{UP}git@c.example:e\n\tfetch = +refs/heads/*:refs/heads/*"), "remote.*.fetch"),
        (more(f"{UP}git@c.example:e\n\tfetch = +refs/heads/*:refs/remotes/o/*"), "remote.*.fetch"),
        (more(f"{UP}git@c.example:e\n\tpushurl = /x"), "remote.*.pushurl"),
        (more('[branch "n"]\n\tremote = ext::sh'), "branch.*.remote"),
        (more('[branch "n"]\n\tremote = --x'), "branch.*.remote"),
        (more('[branch "n"]\n\tremote = deploy'), "branch.*.remote"),
        (more('[branch "n"]\n\tpushRemote = deploy'), "branch.*.pushremote"),
        (more('[branch "n"]\n\tremote = a/b.git'), "branch.*.remote"),
        (more('[branch "n"]\n\tmerge = --x'), "branch.*.merge"),
        (more('[branch "n"]\n\tmerge = refs/heads/*'), "branch.*.merge"),
        (more('[branch "n"]\n\tmerge = refs/../x'), "branch.*.merge"),
        (more('[branch "n"]\n\tmergeOptions = -s evil'), "branch.*.mergeoptions"),
        (more('[branch "-n"]\n\tremote = o'), "branch.*.remote"),
        (more("[user]\n\tname"), "user.name"),
        (more("[user]\n\tname = ."), "user.name"),
        (more("[user]\n\tname = a\u202eb"), "user.name"),
        (more("[user]\n\tname = a\\qb"), "user.name"),
        (more("[user]\n\temail = <>"), "user.email"),
        (more("[user]\n\tsigningKey = a"), "user.signingkey"),
        (more("[user.x]\n\tname = x"), "user.*.name"),
        (more("[url.x]\n\tinsteadof = y"), "url.*.insteadof"),
        (more('[submodule "s"]\n\tupdate = !x'), "submodule.*.update"),
        (more('[submodule "a/../../x"]\n\tactive = true'), "submodule.*.active"),
    ],
)
def test_what_may_not(change: tuple[str, str], refused: str) -> None:
    assert change[0] in WAS
    assert refused in refused_changes(WAS.encode(), WAS.replace(*change).encode())


@pytest.mark.parametrize("line", [b"[", b"x", b"x = \xff", b"x = a\\", b"\0", b'[user "a]'])
def test_what_git_does_not_write_like_that_is_no_configuration(line: bytes) -> None:
    for before, after in ((b"", line), (line, b"")):
        with pytest.raises(ValueError, match=r"plain|entry|utf-8"):
            refused_changes(before, after)


def test_what_cannot_be_read_may_name_a_program(workspace: Path) -> None:
    config = workspace / ".git/config"
    config.write_text("#" * (CONFIG_BYTES_MAX + 1))
    assert asks(workspace, "git diff")
    config.unlink()
    os.mkfifo(config)
    assert asks(workspace, "git diff")


@pytest.mark.parametrize(("folder", "config"), RUN_BY_READING)
def test_a_hook_that_reading_commands_run_asks(workspace: Path, folder: str, config: str) -> None:
    place = workspace / ".git" if folder == "hooks" else workspace
    hook = place / folder / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch PWNED\n")
    with (workspace / ".git/config").open("a") as file:
        file.write(config)
    assert not asks(workspace, "git diff")  # not executable, so git leaves it out
    hook.chmod(0o755)
    assert asks(workspace, "git diff")
    assert asks(workspace, "cd sub && git diff")
    (workspace / "a").touch()
    environ = child_environment(_environ(workspace.parent))
    for words in (["add", "a"], ["status"]):
        waiting.run(["git", *words], cwd=workspace, check=True, env=environ)
    assert (workspace / "PWNED").exists()  # it is as dangerous as it looks


@pytest.mark.parametrize("name", ["pre-commit", "post-index-change.sample", "h", "lib.sh"])
def test_hooks_that_only_commits_run_do_not_ask(workspace: Path, name: str) -> None:
    hook = workspace / ".git/hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    assert not asks(workspace, "git diff")
    hook.with_name("some-later-hook").symlink_to(hook)
    assert asks(workspace, "git diff")


def test_git_by_its_path_and_far_behind_asks_too(workspace: Path) -> None:
    (workspace / ".git/config").write_text(PROGRAMS[0])
    long = "echo " + " ".join(f"w{number}" for number in range(WORDS_MAX))
    for text in ("/usr/bin/git log", f"{long}; git log", "git log"):
        assert asks(workspace, text, "git log", "/usr/bin/git log", "echo"), text
        assert not asks(workspace.parent, text, "git log", "/usr/bin/git log", "echo"), text


def test_a_folder_that_is_no_repository_does_not_hide_the_one_above(workspace: Path) -> None:
    (workspace / "sub/.git").mkdir()
    assert not asks(workspace / "sub", "git diff")
    (workspace / ".git/config").write_text(PROGRAMS[0])
    assert asks(workspace / "sub", "git diff")


def test_a_common_folder_is_that_of_a_git_that_is_a_folder_too(workspace: Path) -> None:
    (workspace / "sub/config").write_text(PROGRAMS[0])
    assert not asks(workspace, "git diff")
    (workspace / ".git/commondir").write_text("../sub\n")
    assert asks(workspace, "git diff")


def test_what_git_writes_by_itself_does_not_ask(workspace: Path) -> None:
    environ = {**_environ(workspace.parent), "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b"}
    environ |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    other = workspace.parent / "clone"
    for words in (
        *(["commit", "-q", "--allow-empty", "-m", "x"], ["clone", "-q", ".", str(other)]),
        *(["-C", str(other), "checkout", "-q", "-b", "a/b", "--track", "origin/HEAD"],),
        *(["-C", str(other), "worktree", "add", "-q", "../tree"],),
        *(["-C", str(other), "-c", "protocol.file.allow=always", "submodule", "add", "-q"],),
        *(["-C", str(other), "sparse-checkout", "set", "sub"],),
    ):
        more = [str(workspace), "subm"] if "submodule" in words else []
        waiting.run(["git", *words, *more], cwd=workspace, check=True, env=environ)
    for folder in (workspace, other, workspace.parent / "tree", other / "subm"):
        assert not asks(folder, "git diff"), (folder / ".git").read_text()
