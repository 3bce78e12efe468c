"""What a program does to whole folders, and where what is copied comes to lie; what is given up."""

import json
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
from wcore.vocabulary import Always, Category, Decision, Mode, Prepared, Row, Verdict

GIVEN_UP: Final = Path(__file__).parents[3] / "protocol-spec/cases/shell/given_up.jsonl"
KINDS: Final = ("folder", "variable", "held")  # of those that are about paths

FILES = (
    *("ws/sub/.wcore/policy.toml", "ws/repo/.git/config", "ws/deep/a/b/.vscode/x.json"),
    *("ws/plain/a/b.txt", "ws/plain/keep.txt", "ws/ci/workflows/x.yml", "ws/x", "ws/pre-commit"),
    *("ws/node_modules/p/.npmrc", "ws/.git/hooks/y", ".config/wcore/policy.toml", "other/z"),
    *("ws/evil/node_modules/../.husky/x",),
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path.resolve() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / "ws/link").symlink_to("../.config")
    return tmp_path.resolve()


def decided(home: Path, text: str, mode: Mode = Mode.DEFAULT, policy: str = "") -> Decision:
    """Decide on `text`, run in `ws`, where every Bash command was granted."""
    places = Places(str(home / "ws"), str(home), (str(home / ".config/wcore"), str(home / "state")))
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "PWD": str(home / "ws")}
    named = finder(places)(text, environ)
    prepared = Prepared("Bash", Category.EXEC, {}, "", "", (), text, named=named.paths)
    files = [parse(policy, "p", Level.USER, ParseContext(places, {}))] if policy else []
    granted = GrantBook([Grant("g", "Bash", Always(), "", "")])
    context = DecisionContext(mode, granted, frozenset({"Bash"}), PolicySet(files))
    return decide(gather(prepared, shell.analyse(text), places), context)


OWN = [
    *("rm -rf ~/.config", "mv ~/.config ~/c2", "rm -rf ~/state", "rm -r ~"),
    *("cd ~ && rm -r .config",),
    *("rm -rf ~/..", "chmod -R 777 ~/.config", "chown --recursive me ~/.config", "rm --rec ~/.c*"),
    *("cp -r sub/. .", "cp -rT sub .", "cp -r sub/.w?ore .", "cp -a sub x", "cp -r sub -t plain"),
    *("rsync -a sub/ .", "mv sub/.wcore .", "mv sub plain/", "rm -rf sub", "cp x .wcore/ -v"),
    *("cp -r -t . sub/.wcore", "cp --target-d=. -R sub/.wcore", "install x sub/.wcore -m 644"),
    *("env rm -rf ~/.config", "find ~/.config -delete", "rsync -a --delete plain/ ~/.config"),
    *("git mv sub plain/", "rm -rf -- ~/.config", "rm ~/.config -r", "rm -rf link/"),
    *("ln -s ../.wcore",),
]  # fmt: skip


@pytest.mark.parametrize("mode", [Mode.DEFAULT, Mode.FORCE])
@pytest.mark.parametrize("text", OWN)
def test_a_folder_with_our_own_files_is_our_own(home: Path, text: str, mode: Mode) -> None:
    found = decided(home, text, mode)
    assert (found.verdict, found.why.row) == (Verdict.DENY, Row.SAFETY)


def test_the_workspace_is_our_own_where_it_holds_a_policy(home: Path) -> None:
    (home / "ws/sub/.wcore/policy.toml").unlink()
    (home / "ws/sub/.wcore").rmdir()
    assert decided(home, 'rm -r "$PWD"', Mode.FORCE).verdict is Verdict.ALLOW
    (home / "ws/.wcore").mkdir()
    for text in ('rm -r "$PWD"', "rm -rf ../ws", "rm -rf ../w*", "find . -delete"):
        assert decided(home, text, Mode.FORCE).verdict is Verdict.DENY, text


@pytest.mark.parametrize(
    "text",
    [
        *("cp pre-commit .git/hooks", "cp x .git/hooks/", "mv x .git/hooks/ -v", "ln x .git/hooks"),
        *("cp -r ci/workflows .github", "cp -r ci .github", "mv ci .github", "cp -rT ci .github"),
        *("cp -rt .github ci/workflows", "rsync -r ci/ .github", "cp x plain/.env"),
        *("ln -s plain/.env",),
        *("cp x deep/a/b/.vscode -v", "scp -r ci/. .github"),
    ],
)  # fmt: skip
def test_what_comes_to_lie_where_it_is_protected_asks(home: Path, text: str) -> None:
    found = decided(home, text)
    assert (found.verdict, found.why.row) == (Verdict.ASK, Row.PROTECTED)


@pytest.mark.parametrize(
    "text",
    [
        *("rm -rf plain", "rm -rf node_modules", "mv plain other", "cp -r plain new", "cp x y"),
        *("cp -r plain/. .", "cp -r plain/* .", "chmod -R +x plain", "rm sub", "mkdir -p sub/x"),
        *("find . -name '*.pyc' -delete", "install -m 755 x plain/x", "rsync -a plain/ y/"),
        *("cp -r ci plain", "rm -rf dist build", "chmod +x x", "ln -s x y", "mv x y"),
        *("cp x sub", r"find plain -type f -exec mv {} . \;", "rm -rf plain/*"),
    ],
)  # fmt: skip
def test_what_holds_nothing_protected_does_not_ask(home: Path, text: str) -> None:
    assert decided(home, text).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    "text",
    [
        *("cp plain/keep.txt .", "cp -t . plain/keep.txt", "mv plain/keep.txt ."),
        *("ln -sf plain/keep.txt .", "cp -r plain/* .", "cp plain/k*.txt ."),
        *("ln -s plain/keep.txt", "uniq x keep.txt", "xxd x keep.txt", "sort x --outp keep.txt"),
        *("curl -sSLo keep.txt u://v", "find x -fprint keep.txt", "tar cf keep.txt x"),
        *("gzip keep.txt", "openssl enc -in x -out keep.txt", "zip keep.txt x", "ar r keep.txt x"),
        *("script keep.txt -c true", "git checkout -- keep.txt", "git restore keep.txt"),
        *("tar -czf keep.txt x", "wget -qO keep.txt u"),
    ],
)  # fmt: skip
def test_a_deny_on_writing_meets_what_comes_to_lie_there(home: Path, text: str) -> None:
    found = decided(home, text, Mode.FORCE, 'deny = ["Write(keep.txt)"]')
    assert (found.verdict, found.why.row) == (Verdict.DENY, Row.DENY)


@pytest.mark.parametrize(
    "text", ["uniq keep.txt", "tar xf keep.txt", "find keep.txt", "sort keep.txt", "xxd keep.txt"]
)
def test_a_deny_on_writing_does_not_meet_what_is_read(home: Path, text: str) -> None:
    found = decided(home, text, Mode.FORCE, 'deny = ["Write(keep.txt)"]')
    assert found.verdict is Verdict.ALLOW


def test_a_tree_that_cannot_be_looked_through_is_decided_all_the_same(home: Path) -> None:
    """`/proc` has folders that open and then cannot be read."""
    assert decided(home, "cd / && rm -rf *").verdict is Verdict.DENY


def test_what_would_be_the_root_only_if_a_variable_is_empty_asks(home: Path) -> None:
    for text in ('rm -rf "$(cat x)"/*', 'rm -rf "$(cat x)/.config"', 'd=$(x); mv "$d/.config" y'):
        for mode in (Mode.DEFAULT, Mode.FORCE):
            assert decided(home, text, mode).verdict is not Verdict.DENY, text
    assert decided(home, 'rm -rf "$(cat x)"/*', Mode.FORCE).verdict is Verdict.ASK


@pytest.mark.parametrize("line", GIVEN_UP.read_text().splitlines())
def test_what_is_given_up_of_paths_stands_in_one_file(home: Path, line: str) -> None:
    case = json.loads(line)
    if case["kind"] not in KINDS:
        return  # of rules that stop commands
    mode = Mode.FORCE if case["before"] == "deny" else Mode.DEFAULT
    policy = f'deny = ["{case["deny"]}"]' if case["deny"] else ""
    (home / "ws/secret").mkdir()
    assert case["before"] != case["now"]
    assert decided(home, case["text"], mode, policy).verdict.value == case["now"]
