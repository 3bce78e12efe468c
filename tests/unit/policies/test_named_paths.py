"""Patterns of a shell text in folders of every size: each file they fit is judged, or it asks."""

import os
from pathlib import Path

import pytest

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy_files.named_paths import COMPARED_MAX, FITTING_MAX, finder
from wcore.vocabulary import Always, Category, Mode

GRANTED = GrantBook([Grant("g", "Bash", Always(), "", "")])
DENIES = 'deny = ["Read(secret.txt)", "Write(secret.txt)"]'
ASKS = '[[rule]]\nmatch = "Read(secret.txt)"\ndo = "ask"'
SIZES = (20, 200, 5000)  # a few, more than were ever looked at, and a large folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home").resolve()
    (home / "other").mkdir()
    (home / "other/F").touch()
    for size in SIZES:
        workspace = home / f"ws{size}"
        (workspace / "links").mkdir(parents=True)
        (workspace / "wide").mkdir()
        (workspace / ".wcore").mkdir()
        for number in range(size):
            (workspace / f"s{number}").touch()
            (workspace / f"z{number}").touch() if size <= 200 else None
        for number in range(min(size, 200)):
            (workspace / f".w{number}").touch()
            (workspace / f"wide/q{number}").mkdir()
        (workspace / "wide/q").symlink_to("../../other")
        for name in ("server.pem", "secret.txt", "id_rsa"):
            (workspace / name).touch()
        (workspace / "zlink").symlink_to("../other/F")
        (workspace / "circle").symlink_to("circle")
        (workspace / "slink").symlink_to("secret.txt")
    return home


def outcome(text: str, workspace: Path, policy: str = "", mode: Mode = Mode.DEFAULT) -> str:
    """Decide on `text` in a workspace where every Bash command was granted."""
    home = str(workspace.parent)
    places = Places(str(workspace), home, (f"{home}/.config/wcore",))
    files = [parse(policy, "p", Level.USER, ParseContext(places, {}))] if policy else []
    paths = finder(places)(text, {"HOME": home}).paths
    facts = Facts("Bash", Category.EXEC, paths, shell.analyse(text))
    decision = decide(facts, DecisionContext(mode, GRANTED, frozenset({"Bash"}), PolicySet(files)))
    return f"{decision.verdict.value} {decision.why.row.value}"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat *", "ask protected"),
        ("cat *[a-z]", "ask protected"),
        ("cat s*", "ask protected"),
        ("cat z*", "ask outside"),
        ("cat wide/*/F", "ask outside"),
        ("cat */*", "ask outside"),
        ("cat ./*/../s*", "ask protected"),
        ("tee z* < s1", "ask outside"),
        ("for f in z*; do echo y > $f; done", "ask outside"),
        ("cp s1 wide/*/", "ask outside"),
        ("rm -rf .w*", "deny safety"),
        ("cat s1*", "allow grant"),
        ("cat circ*", "allow grant"),
    ],
)
def test_every_file_that_a_pattern_fits_is_judged(
    home: Path, size: int, text: str, expected: str
) -> None:
    assert outcome(text, home / f"ws{size}") == expected


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("text", ["cat se*", "cat s*", "rm s*", "cat *", "cat sl*"])
def test_a_denied_file_is_not_hidden_among_many(home: Path, size: int, text: str) -> None:
    verdict, row = outcome(text, home / f"ws{size}", DENIES, Mode.FORCE).split()
    assert (verdict, row) == ("deny", "deny") or (verdict == "ask" and size == SIZES[-1])


def test_ordinary_files_do_not_ask_however_many(home: Path) -> None:
    assert outcome("cat s1* s2* s3* s4*", home / "ws5000") == "allow grant"
    assert outcome("cat s1* s2* s3* s4*", home / "ws5000", DENIES) == "ask unreadable"
    assert outcome("cat s1* s2* s3* s4*", home / "ws5000", ASKS) == "ask unreadable"
    assert outcome("cat s1* s2* s3* s4*", home / "ws5000", ASKS, Mode.FORCE) == "allow grant"


@pytest.mark.parametrize(
    ("text", "policy", "mode", "expected"),
    [
        ("cat n*", "", Mode.DEFAULT, "ask outside"),
        ("grep -h x n*", "", Mode.DEFAULT, "ask outside"),
        ("tool n*", "", Mode.DEFAULT, "ask outside"),
        ("cat n*", "", Mode.FORCE, "allow grant"),
        ("cat n*", DENIES, Mode.FORCE, "ask unreadable"),
        ("rm n*", "", Mode.FORCE, "ask unreadable"),
        ("cat n1*", "", Mode.DEFAULT, "allow grant"),
    ],
)
def test_what_is_too_much_to_look_at_is_not_known(
    tmp_path: Path, text: str, policy: str, mode: Mode, expected: str
) -> None:
    workspace = tmp_path.resolve() / "ws"
    workspace.mkdir()
    for number in range(FITTING_MAX + 1):
        os.mknod(workspace / f"n{number}")
    assert outcome(text, workspace, policy, mode) == expected


def test_all_patterns_of_a_text_share_the_limits(home: Path) -> None:
    count = COMPARED_MAX // SIZES[-1] + 1
    text = "cat " + " ".join(f"s{number}*" for number in range(count))
    assert outcome(text, home / "ws200") == "allow grant"
    assert outcome(text, home / "ws5000") == "ask outside"
