"""What real bash starts of made texts is never allowed next to a rule that denies it."""

import re
from typing import Final

import pytest

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts
from wcore.policy.grants import GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.vocabulary import Category, Mode, Verdict

from .grammar import Maker
from .oracle import KEYWORDS, Oracle
from .sandbox import why_unavailable
from .stubs import ENVIRON

EXECUTED: Final = 150  # texts of each seed
STARTED_MIN: Final = 100  # programs: a run in which nothing happens proves nothing
#: Nothing in the environment is code: what a variable holds is no part of the text.
PLAIN: Final = {name: re.sub(r"[^\w/.: -]", "", value) for name, value in ENVIRON.items()}
_NAME: Final = re.compile(r"[\w.+-]+", re.ASCII)
_ODD: Final = re.compile(r"[($`'\"\\{<]")
_SCRIPTS: Final = ("lib.sh", "noop.sh")  # what they say is no part of it either


def allows(text: str, denied: str) -> bool:
    policy = f"deny = ['Bash({denied})']\n[[rule]]\nmatch = 'Bash'\ndo = 'allow'\n"
    scene = ParseContext(Places("/ws", "/home/me"), {})
    policies = PolicySet([parse(policy, "/user.toml", Level.USER, scene)])
    context = DecisionContext(Mode.FORCE, GrantBook(), frozenset({"Bash"}), policies)
    call = Facts("Bash", Category.EXEC, (), shell.lex(text))
    return decide(call, context).verdict is Verdict.ALLOW


def odd_texts(seed: int) -> list[str]:
    maker = Maker(seed)
    texts = [maker.make().text for _ in range(3 * EXECUTED)]
    odd = [text for text in texts if _ODD.search(text) and not any(s in text for s in _SCRIPTS)]
    return odd[:EXECUTED]


@pytest.mark.parametrize("seed", [3, 4])
def test_what_bash_starts_is_never_allowed_next_to_a_rule_that_denies_it(seed: int) -> None:
    if reason := why_unavailable():
        pytest.skip(f"oracle unavailable, nothing was proved: {reason}")
    started: list[tuple[str, str]] = []
    with Oracle(PLAIN) as oracle:
        for text in odd_texts(seed):
            for words in oracle.judge(text, ["none"], ("0",)).ran:
                name = words[0].rsplit("/", 1)[-1]
                if _NAME.fullmatch(name) and words[0] not in KEYWORDS | {"bash"}:
                    started.append((text, name))
    assert not [each for each in started if allows(*each)]
    assert len(started) >= STARTED_MIN
