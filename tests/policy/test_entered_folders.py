"""`cd DIR &&` in front of granted commands: covered in plain folders of the workspace only."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import waiting
from msgspec.structs import replace
from shell.corpus import read_cases
from talking import Conversation, Event, call

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts, gather
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy.suggestions import note_of, suggest
from wcore.policy_files import plain_folders
from wcore.policy_files.named_paths import finder
from wcore.vocabulary import (
    AlwaysPrefix,
    AlwaysPrefixes,
    Category,
    Decision,
    Mode,
    Prepared,
    Scope,
    Verdict,
)

Talk = Callable[..., Conversation]
COVERED_MIN = 400  # cases of the corpus that are covered in a folder
TESTS = ("npm test", "git status", "make test", "pytest")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of a project with all that a text may want to enter."""
    folder = tmp_path_factory.mktemp("home").resolve() / "ws"
    plain = ("packages/app", "my app", "tools", "shadowed")
    odd = ("-", "-odd", "~", "~root", "$PWD", "${HOME}", "packages*", "pack{,}ages")
    ignored = ("build/x", "made/y", "packages/app/node_modules/z", ".venv/bin", ".git/hooks")
    for each in (*plain, *odd, *ignored, "clone/.git", "clone/sub"):
        (folder / each).mkdir(parents=True)
    (folder / ".gitignore").write_text("/build\n")
    (folder / "packages/.gitignore").write_text("app/left-out/\n")
    (folder / "packages/app/left-out").mkdir()
    (folder / "made/.gitignore").write_text("*\n")
    (folder / "shadowed/pytest.py").touch()
    (folder / "shadowed/json.py").touch()
    (folder / "tools/run.py").touch()
    (folder / "file").touch()
    (folder / "link").symlink_to("packages")
    (folder / "out").symlink_to("/tmp")
    (folder.parent / "beside").mkdir()
    waiting.run(["git", "init", "-q", str(folder)], check=True)
    return folder


class Everything:
    """Takes every folder for a plain one."""

    def __contains__(self, folder: object) -> bool:
        return True


def facts_of(project: Path, text: str) -> Facts:
    places = Places(str(project), str(project.parent))
    found = finder(places)(text, {"PATH": "/usr/bin:/bin", "HOME": places.home})
    prepared = Prepared("Bash", Category.EXEC, {}, "", "", command=text).naming(found)
    return gather(prepared, shell.analyse(text), places)


def granted(*prefixes: str) -> DecisionContext:
    grants: list[Grant] = []
    for prefix in prefixes:
        parsed = shell.parse_grant(prefix)
        assert isinstance(parsed, shell.PrefixGrant)
        grants.append(Grant(prefix, "Bash", AlwaysPrefix(prefix), "", "", prefix=parsed))
    return DecisionContext(Mode.DEFAULT, GrantBook(grants), frozenset({"Bash"}))


def decided(project: Path, text: str, *prefixes: str) -> Decision:
    return decide(facts_of(project, text.replace("{ws}", str(project))), granted(*prefixes))


@pytest.mark.parametrize(
    "text",
    [
        "cd packages/app && npm test",
        "cd ./packages/app/ && npm test -- --watch=false 2>&1 | npm test",
        "cd packages && npm test && git status; make test",
        "cd {ws} && npm test",
        "cd {ws}/packages/app && npm test",
        "cd . && npm test",
        "cd 'my app' && pytest -q",
        "cd my\\ app && pytest -q",
        " cd packages &&\n  npm test",
        "# first\ncd packages && npm test",
        "cd packages && npm test || git status",
        "cd tools && python3 -m pytest -q",
        "make -C packages test",
        "make -C {ws}/packages test -j4 && git -C packages status --short",
        "npm --prefix packages/app test -- --watch=false",
        "npm --prefix 'my app' test 2>&1 | git -C . status",
        "cd packages && npm --prefix app test",
        "cd packages && npm --prefix {ws}/tools test && make test",
    ],
)
def test_a_granted_command_runs_in_any_plain_folder(project: Path, text: str) -> None:
    decision = decided(project, text, *TESTS, "python3 -m pytest")
    assert decision.verdict is Verdict.ALLOW, decision.why


@pytest.mark.parametrize(
    "folder",
    [
        *(
            "link",
            "link/app",
            "out",
            "../beside",
            "/tmp",
            "/",
            "~",
            "$PWD",
            "packages*",
            "nowhere",
        ),
        *("packages/../packages", "file", "build", "build/x", "made/y", "packages/app/left-out"),
        *("packages/app/node_modules/z", ".venv/bin", ".git", ".git/hooks", "clone", "clone/sub"),
        *(
            "-",
            "-odd",
            "''",
            "pack{,}ages",
            "{ws}/../ws/packages",
            "{ws}/link/app",
            "../ws/packages",
        ),
        *("'${HOME}'", "\\$\\{HOME\\}", "'~root'", "'~root/x'", "'$PWD'"),
        *("packages/\\*", "$(pwd)", "pack?ges", "//tmp", "packages/app\\\n/left-out", "x\0y"),
    ],
)
def test_what_is_no_plain_folder_of_the_workspace_asks(project: Path, folder: str) -> None:
    for text in (
        f"cd {folder} && npm test",
        f"npm --prefix {folder} test",
        f"make -C {folder} test && npm test",
        f"git -C {folder} status",
    ):
        assert decided(project, text, *TESTS).verdict is Verdict.ASK, text


@pytest.mark.parametrize(
    "text",
    [
        "cd packages; npm test",
        "cd packages || npm test",
        "cd packages | npm test",
        "cd packages\nnpm test",
        "cd packages & npm test",
        "cd packages && cd app && npm test",
        "npm test && cd packages && npm test",
        "X=1 cd packages && npm test",
        "cd -P packages && npm test",
        "cd -- packages && npm test",
        "cd packages app && npm test",
        "cd && npm test",
        "cd packages > /dev/null && npm test",
        "'cd' packages && npm test",
        "builtin cd packages && npm test",
        "pushd packages && npm test",
        "(cd packages && npm test)",
        "{ cd packages && npm test; }",
        "cd packages && (npm test)",
        "cd packages && # x\nnpm test",
        "cd packages &&",
        "cd packages && npm run build",
        "cd packages && npm test && rm -rf x",
        "cd packages && cat ../../../beside/x",
        "cd link && make -C app test",
        "make -C packages && make -C app test",
        "make -C packages -C app test",
        "make -C packages -f x test",
        "make -C packages deploy",
        "make -Cpackages test",
        "make test -C packages",
        "make '-C' packages test",
        "gmake -C packages test",
        "./make -C packages test",
        "X=1 make -C packages test",
        "cd packages; make -C app test",
        "make test; cd tools; make -C packages test",
        "git -C packages -C .. status",
        "git -C packages -c core.pager=x status",
        "git -C packages status > x",
        "npm --prefix packages --prefix tools test",
        "npm --prefix packages -g test",
        "npm test --prefix packages",
        "npm -C packages test",
    ],
)
def test_whatever_else_there_is_about_a_folder_asks(project: Path, text: str) -> None:
    assert decided(project, text, *TESTS).verdict is not Verdict.ALLOW


@pytest.mark.parametrize(
    "prefix",
    [
        "./run.sh",
        "tools/run",
        "python3 run.py",
        "python run",
        "node index",
        "bash ci",
        "make -f other.mk",
        "pytest tests/unit",
        "timeout 60 ./run.sh",
        "xargs ./run.sh",
        "./gradlew test",
        "python3 -m mine",
        "python3 -m mine.tests",
        "timeout 5 python3 -m mine",
        "rm -rf dist",
        "git checkout main",
        "tool deploy",
        "env A=1 tool deploy",
    ],
)
def test_what_the_folder_makes_another_thing_asks_behind_it(project: Path, prefix: str) -> None:
    decision = decided(project, f"cd packages/app && {prefix}", prefix)
    assert (decision.verdict, decision.why.code) == (Verdict.ASK, "relative_after_cd")
    assert decided(project, prefix, prefix).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    "prefix", ["rm", "npm install", "git add -A", "tool", "/usr/bin/true", "npm run build"]
)
def test_what_is_the_same_everywhere_is_covered_behind_it(project: Path, prefix: str) -> None:
    decision = decided(project, f"cd packages/app && {prefix}", prefix)
    assert decision.verdict is Verdict.ALLOW, decision.why


def test_a_module_that_the_folder_has_as_well_asks(project: Path) -> None:
    text = "cd {} && python3 -m json.tool x"
    assert decided(project, text.format("tools"), "python3 -m json.tool").verdict is Verdict.ALLOW
    decision = decided(project, text.format("shadowed"), "python3 -m json.tool")
    assert (decision.verdict, decision.why.code) == (Verdict.ASK, "other_program")


def test_what_a_grant_spells_out_needs_no_folder(project: Path) -> None:
    for text in ("make -C link test", "git -C packages log", "npm --prefix build/x test"):
        assert decided(project, text, text).verdict is Verdict.ALLOW, text
    both = "cd out && make -C packages test"
    assert decided(project, both, "cd", "make test").verdict is Verdict.ASK, "where is not known"
    for text in (both, "cd x; make -C packages test", "cd a && cd b && make -C packages test"):
        known = shell.in_folders(shell.lex(text), ["packages", "a", "a/packages"])
        assert all(each.elsewhere is None for each in known.commands), text


def test_a_file_that_a_grant_names_is_another_one_behind_an_option(project: Path) -> None:
    for text, prefix in (
        ("git -C packages add src", "git add src"),
        ("make -C app x.mk", "make x.mk"),
    ):
        assert decided(project, text, prefix).verdict is Verdict.ASK


def test_a_text_that_enters_too_many_folders_asks(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "make -C packages test && make -C tools test"
    assert decided(project, text, *TESTS).verdict is Verdict.ALLOW
    monkeypatch.setattr(plain_folders, "FOLDERS_MAX", 1)
    assert decided(project, text, *TESTS).verdict is Verdict.ASK


def test_a_folder_with_too_many_beside_it_asks(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_folders, "ENTRIES_MAX", 1)
    assert decided(project, "cd packages && npm test", *TESTS).verdict is Verdict.ASK


def test_where_nobody_has_looked_it_asks() -> None:
    prepared = Prepared("Bash", Category.EXEC, {}, "", "", command="cd sub && npm test", named=())
    analysis = shell.analyse("cd sub && npm test")
    for folders in ((), ("other",), ("sub/",)):
        call = replace(prepared, folders=folders)
        facts = gather(call, analysis, Places("/ws", "/home/me"))
        assert decide(facts, granted("npm test")).verdict is Verdict.ASK


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("cd packages/app && npm test", AlwaysPrefix("npm test")),
        ("cd packages && git status && git log", AlwaysPrefixes(("git status", "git log"))),
        ("make -C packages test -j4", AlwaysPrefix("make test")),
        ("npm --prefix packages/app run build", AlwaysPrefix("npm run build")),
        ("git -C packages log --oneline", AlwaysPrefix("git log")),
        ("cd packages && make -C app test; git log", AlwaysPrefixes(("make test", "git log"))),
        ("make -C link test", None),
        ("make -C packages", None),
        ("cd link && npm test", None),
        ("cd packages/app && ./gradlew test", None),
    ],
)
def test_a_card_offers_what_stands_behind_it(project: Path, text: str, scope: Scope | None) -> None:
    facts = facts_of(project, text)
    places = Places(str(project), str(project.parent))
    found = [each for each in suggest(facts, granted(), places) if hasattr(each, "prefix")]
    found += [each for each in suggest(facts, granted(), places) if hasattr(each, "prefixes")]
    assert found == ([] if scope is None else [scope])


@pytest.mark.parametrize(
    ("prefix", "says"),
    [("npm test", True), ("git status", True), ("echo", True), ("./gradlew test", False)],
)
def test_a_card_says_that_it_is_for_any_folder(prefix: str, says: bool) -> None:
    note = str(note_of(AlwaysPrefix(prefix)))
    assert ("in any folder of the workspace" in note) is says
    assert "--prefix" not in note, "which it covers there"


@pytest.mark.parametrize(
    ("rules", "prefixes", "verdict"),
    [
        ('[[rule]]\nmatch = "Bash(npm test)"\ndo = "allow"\n', (), Verdict.ALLOW),
        ('[[rule]]\nmatch = "Bash(npm run)"\ndo = "allow"\n', (), Verdict.ASK),
        ('[[rule]]\nmatch = "Bash(cd)"\ndo = "ask"\n', ("npm test",), Verdict.ASK),
        ('deny = ["Bash(cd)"]\n', ("npm test",), Verdict.DENY),
        ('deny = ["Bash(npm)"]\n', ("npm test",), Verdict.DENY),
    ],
)
def test_rules_about_commands_hold_there_too(
    project: Path, rules: str, prefixes: tuple[str, ...], verdict: Verdict
) -> None:
    scene = ParseContext(Places(str(project), str(project.parent)), {})
    policies = PolicySet([parse(rules, "/user.toml", Level.USER, scene)])
    context = replace(granted(*prefixes), policies=policies)
    assert decide(facts_of(project, "cd packages && npm test"), context).verdict is verdict


def test_in_a_folder_nothing_is_covered_that_is_not_without_it() -> None:
    covered, more = 0, set[str]()
    for case in read_cases():
        grants = [
            grant
            for grant in map(shell.parse_grant, case.grants)
            if isinstance(grant, shell.PrefixGrant)
        ]
        alone, behind = shell.lex(case.text), shell.lex(f"cd sub && {case.text}")
        if shell.matches(shell.in_folders(behind, ["sub"]), grants).covered:
            assert shell.matches(alone, grants).covered, case.text
            covered += 1
        if shell.matches(shell.in_folders(alone, Everything()), grants).covered:
            is_more = not shell.matches(alone, grants).covered
            more.update([case.text] if is_more else [])
    assert covered >= COVERED_MIN
    assert more == {
        *("git -C x status", "git -C sub log", "make -C sub", "make -C sub clean"),
        "npm --prefix x test",
    }


# --- a conversation -------------------------------------------------------------------------------


def bash(*commands: str) -> list[list[dict[str, object]]]:
    return [[call("Bash", command=command)] for command in commands]


async def first_card(host: Conversation) -> Event:
    await host.ready()
    await host.message()
    return await host.hear("tool_request")


@pytest.mark.anyio
async def test_a_yes_to_a_prefix_holds_in_a_folder_and_is_offered_there(
    talk: Talk, tmp_path: Path
) -> None:
    text = 'cd sub && echo "$PWD"'
    (tmp_path / "elsewhere/sub").mkdir(parents=True)
    environ = {"CDPATH": str(tmp_path / "elsewhere")}
    replies = bash(text, text, "cd link && echo x", f"{text} && cd . && echo x")
    async with talk(*replies, [], env=environ) as host:
        (host.workspace / "sub").mkdir()
        (host.workspace / "link").symlink_to("sub")
        card = await first_card(host)
        (offered,) = (each for each in card["suggestions"] if "always_prefix" in each)
        assert offered["always_prefix"]["prefix"] == "echo"
        assert "in any folder of the workspace" in offered["always_prefix"]["note"]
        await host.approve(card["call_id"], scope={"always_prefix": {"prefix": "echo"}})
        for _ in range(2):
            await host.deny((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")
        assert [each["output"] for each in host.of("tool_result")] == [
            f"{host.workspace.resolve()}/sub\n"
        ] * 2


@pytest.mark.anyio
async def test_a_folder_that_an_option_names_is_like_one_that_is_entered(talk: Talk) -> None:
    text = "git -C sub status --short ."
    async with talk(*bash(text, text, "git -C link status", "git -C .. status"), []) as host:
        waiting.run(["git", "init", "-q", str(host.workspace)], check=True)
        (host.workspace / "sub").mkdir()
        (host.workspace / "sub/new").touch()
        (host.workspace / "link").symlink_to("sub")
        card = await first_card(host)
        assert {"prefix": "git status"}.items() <= card["suggestions"][1]["always_prefix"].items()
        await host.approve(card["call_id"], scope={"always_prefix": {"prefix": "git status"}})
        for _ in range(2):
            await host.deny((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")
        assert [each["output"] for each in host.of("tool_result")] == ["?? ./\n"] * 2


@pytest.mark.anyio
@pytest.mark.parametrize("text", ["cd sub && pwd -P", "git -C sub rev-parse --show-prefix"])
async def test_a_folder_that_becomes_a_link_is_not_entered(talk: Talk, text: str) -> None:
    async with talk(*bash(text), []) as host:
        sub, other = host.workspace / "sub", host.workspace / "other"
        sub.mkdir()
        other.mkdir()
        card = await first_card(host)
        sub.rmdir()
        os.symlink(other, sub)
        await host.approve(card["call_id"])
        ended = await host.hear("tool_result")
        assert ended["status"] == "error"
        assert "something has changed since" in ended["output"]
        assert "other" not in ended["output"]
