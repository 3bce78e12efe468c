"""How often a rule stops what coding agents run all day and what it has nothing to do with.

The texts stay in the workspace, and need nobody else's rights: what asks is a false alarm.
"""

import json
from pathlib import Path
from typing import Final

import pytest

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts, gather
from wcore.policy.grants import GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy_files.named_paths import finder
from wcore.vocabulary import Category, Mode, Named, Prepared, Verdict

TEXTS: Final = [
    json.loads(line) for line in (Path(__file__).parent / "everyday.jsonl").read_text().splitlines()
]
UNRELATED: Final = ("terraform", "kubectl delete", "gcloud", "aws s3 rm", "shutdown")
ASKING_MAX: Final = 1.0  # percent where every command is allowed, for their paths
STOPPED_MAX: Final = 1.0  # percent beyond those, next to a rule


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Facts]:
    """Return each text as a call in an ordinary workspace, with the paths that it names."""
    home = tmp_path_factory.mktemp("home").resolve()
    for folder in ("docs", "packages/core", "src", "tests"):
        (home / "ws" / folder).mkdir(parents=True)
    for file in ("a.txt", "package.json", "src/app.py", "src/main.ts", "tests/test_app.py"):
        (home / "ws" / file).touch()
    places = Places(str(home / "ws"), str(home))
    find, environ = finder(places), {"HOME": str(home), "PATH": "/usr/bin:/bin", "USER": "me"}
    return {text: call(text, find(text, environ), places) for text in TEXTS}


def call(text: str, named: Named, places: Places) -> Facts:
    prepared = Prepared(
        "Bash", Category.EXEC, {}, "", "", (), text, named=named.paths, programs=named.programs
    )
    return gather(prepared, shell.lex(text), places)


def stopped(policy: str, calls: dict[str, Facts]) -> list[str]:
    scene = ParseContext(Places("/ws", "/home/me"), {})
    policies = PolicySet([parse(policy, "/user.toml", Level.USER, scene)])
    context = DecisionContext(Mode.DEFAULT, GrantBook(), frozenset({"Bash"}), policies)
    found = calls.items()
    return [text for text, each in found if decide(each, context).verdict is not Verdict.ALLOW]


def rules(*denied: str) -> str:
    denies = "".join(f"deny = ['Bash({rule})']\n" for rule in denied)
    return f"{denies}[[rule]]\nmatch = 'Bash'\ndo = 'allow'\n"


def percent(texts: list[str]) -> float:
    return 100 * len(texts) / len(TEXTS)


def test_the_texts_are_many_and_each_is_another_one() -> None:
    assert len(set(TEXTS)) == len(TEXTS) >= 500


def test_where_every_command_is_allowed_everyday_texts_run_unasked(
    calls: dict[str, Facts],
) -> None:
    asking = stopped(rules(), calls)
    assert percent(asking) <= ASKING_MAX, asking


@pytest.mark.parametrize("rule", UNRELATED)
def test_a_rule_stops_nothing_that_it_has_nothing_to_do_with(
    rule: str, calls: dict[str, Facts]
) -> None:
    before = set(stopped(rules(), calls))
    more = [text for text in stopped(rules(rule), calls) if text not in before]
    assert percent(more) <= STOPPED_MAX, more
