"""Which file a word would start, looked up on a real disk, and what rules and grants make of it."""

import os
from pathlib import Path
from typing import Final

import pytest

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import gather
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy_files.named_paths import finder
from wcore.vocabulary import AlwaysPrefix, Category, Decision, Mode, Prepared, Verdict

DENY: Final = (
    "[[rule]]\nmatch = 'Bash(git push)'\ndo = 'deny'\n[[rule]]\nmatch = 'Bash'\ndo = 'allow'\n"
)


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def parsed(text: str) -> shell.PrefixGrant:
    found = shell.parse_grant(text)
    assert isinstance(found, shell.PrefixGrant), text
    return found


@pytest.fixture
def places(tmp_path: Path) -> Places:
    workspace = tmp_path.resolve() / "ws"
    for name in ("git", "pytest", "pip", "deploy", "env", "busybox", "mawk"):
        program(workspace.parent / "bin" / name)
    for name, target in (("ls", "busybox"), ("odd", "env"), ("awk", "mawk"), ("other", "git")):
        (workspace.parent / "bin" / name).symlink_to(target)
    for name in ("sub/deep", "a b"):
        (workspace / name).mkdir(parents=True)
    for name in ("x", "sub/y", "sub/deep/z", "a b/w"):
        (workspace / name).symlink_to(workspace.parent / "bin/git")
    (workspace / "e").symlink_to(workspace.parent / "bin/env")
    return Places(str(workspace), str(workspace.parent))


def decided(
    places: Places, text: str, *, grants: tuple[str, ...] = (), rules: str = "", first: str = ""
) -> Decision:
    path = ":".join(filter(None, (first, os.path.dirname(places.workspace) + "/bin")))
    found = finder(places)(text, {"PATH": path, "HOME": places.home})
    prepared = Prepared(
        "Bash", Category.EXEC, {}, "", "", (), text, named=(), programs=found.programs
    )
    facts = gather(prepared, shell.analyse(text), places)
    book = GrantBook(
        Grant(each, "Bash", AlwaysPrefix(each), "", "", parsed(each)) for each in grants
    )
    policies = PolicySet([parse(rules, "/p.toml", Level.USER, ParseContext(places, {}))])
    return decide(facts, DecisionContext(Mode.DEFAULT, book, frozenset({"Bash"}), policies))


@pytest.mark.parametrize(
    "text",
    [
        "./x push",
        "x/../x push; ./x -C . push",
        "./sub/y push",
        "cd sub && ./y push",
        "cd .; cd sub; ./y push",
        "cd . && cd sub && cd deep && ./z push",
        "cd 'a b' && ./w push",
        "env --chdir=sub ./y push",
        "other push",
        "timeout 5 ./x push",
        "./e --chdir=. git push",
        "./e ./x --no-pager push",
        "odd git push",
        "bash -c './x push'",
        "(./x push)",
        "X=1 ./x push",
    ],
)
def test_a_rule_that_denies_reaches_a_program_by_whatever_name(places: Places, text: str) -> None:
    assert decided(places, text, rules=DENY).verdict is not Verdict.ALLOW
    if "/.." not in text and "(" not in text:
        assert decided(places, text, rules=DENY).verdict is Verdict.DENY


def test_a_rule_leaves_other_programs_alone(places: Places) -> None:
    for text in ("./x log", "other log", "awk push", "ls push", "odd true", "echo ./x push"):
        assert decided(places, text, rules=DENY).verdict is Verdict.ALLOW, text


def test_a_grant_covers_the_program_that_it_names(places: Places) -> None:
    for text, grant in (
        ("git log", "git log"),
        ("ls -l", "ls"),
        ("awk '{print $1}' f", "awk"),
        ("deploy all", "deploy"),
    ):
        assert decided(places, text, grants=(grant,)).verdict is Verdict.ALLOW, text


def test_a_grant_covers_no_program_that_the_workspace_puts_first(places: Places) -> None:
    folder = Path(places.workspace) / "bin"
    for name in ("git", "ls", "deploy", "pytest", "pip", "tool"):
        program(folder / name)
    for text, grant in (
        ("git log", "git log"),
        ("timeout 5 git log", "timeout 5 git log"),
        ("ls -l", "ls"),
        ("deploy all", "deploy"),
    ):
        found = decided(places, text, grants=(grant,), first=str(folder))
        assert (found.verdict, found.why.code) == (Verdict.ASK, shell.Reason.OTHER_PROGRAM), text
        allow = f"[[rule]]\nmatch = 'Bash({grant})'\ndo = 'allow'\n"
        assert decided(places, text, rules=allow, first=str(folder)).verdict is Verdict.ASK
        assert decided(places, text, grants=(grant,)).verdict is Verdict.ALLOW
    for text in ("pytest -q", "pip list", "tool x", "echo git"):  # what projects bring along
        grant = text.split()[0]
        found = decided(places, text, grants=(grant,), first=str(folder))
        assert found.verdict is Verdict.ALLOW, text


def test_a_grant_of_a_name_does_not_cover_a_link_to_what_runs_others(places: Places) -> None:
    for text, grant in (
        ("odd sh -c id", "odd"),
        ("./e sh -c id", "./e"),
        ("./x -c core.pager=id log", "./x"),
        ("timeout 5 ./e id", "timeout 5 ./e"),
    ):
        assert decided(places, text, grants=(grant,)).verdict is Verdict.ASK, text


def test_a_grant_of_git_log_covers_no_other_path(places: Places) -> None:
    program(Path(places.workspace) / "git")
    for text in ("./git log", f"{places.workspace}/git log", "../bin/git log"):
        assert decided(places, text, grants=("git log",)).verdict is Verdict.ASK, text


#: What the workspace holds, and the modules that are then no longer those of Python.
SHADOWS = [
    ("json/__init__.py", "json.tool"),
    ("json/__init__.py", "pip list"),  # it imports json
    ("argparse.py", "json.tool"),
    ("argparse.pyc", "json.tool"),
    ("base64.cpython-311-x86_64-linux-gnu.so", "base64"),
    ("pip/__main__.py", "pip list"),
    ("pip.py", "pip list"),
    ("sub/re.py", "json.tool"),
]


@pytest.mark.parametrize(("file", "module"), SHADOWS)
def test_no_grant_covers_a_module_that_the_workspace_makes_another(
    places: Places, file: str, module: str
) -> None:
    grant = f"python3 -m {module}"
    text = f"cd sub && {grant} a" if file.startswith("sub/") else f"{grant} a"
    assert decided(places, text, grants=(grant, "cd")).verdict is Verdict.ALLOW
    program(Path(places.workspace) / file)
    found = decided(places, text, grants=(grant, "cd"))
    assert (found.verdict, found.why.code) == (Verdict.ASK, shell.Reason.OTHER_PROGRAM)


def test_a_module_of_the_project_and_a_folder_beside_are_no_other_module(places: Places) -> None:
    program(Path(places.workspace) / "json/data.json")
    program(Path(places.workspace) / "mine/__main__.py")
    for module in ("json.tool", "mine.cli", "mine"):
        grant = f"python3 -m {module}"
        assert decided(places, f"{grant} a", grants=(grant,)).verdict is Verdict.ALLOW, module
    program(Path(places.workspace) / "pytest.py")
    grant = "python3 -m pytest"
    assert decided(places, f"{grant} a", grants=(grant,)).verdict is Verdict.ALLOW
