"""What a card offers to keep: only what would have spared this very question."""

import pytest

from wcore.policy import shell
from wcore.policy.decide import Standing, decide
from wcore.policy.facts import gather
from wcore.policy.grants import Grant, GrantBook, ScopeRefused, weigh
from wcore.policy.policies import Policies
from wcore.policy.policyparse import parse
from wcore.policy.protected import Places
from wcore.policy.rules import Level, Scene
from wcore.policy.suggesting import suggest
from wcore.vocabulary import (
    Access,
    AlwaysPath,
    AlwaysPrefix,
    Category,
    Mode,
    Prepared,
    Scope,
    Touch,
    Verdict,
)

PLACES = Places("/ws", "/home/me", own=("/home/me/.config/wcore",))
NO_RULES = ""
ASK_RULE = '[[rule]]\nmatch = "Bash(git show)"\ndo = "ask"\n'
DENY_RULE = 'deny = ["Bash(curl)"]\n'


def standing(tool: str, rules: str) -> Standing:
    policies = Policies([parse(rules, "/p.toml", Level.USER, Scene(PLACES, {}))])
    return Standing(Mode.DEFAULT, GrantBook(), frozenset({tool}), policies)


def offered(prepared: Prepared, rules: str = NO_RULES) -> list[Scope]:
    """Return the suggestions; each must be grantable and make the call run unasked."""
    analysis = None if prepared.command is None else shell.analyse(prepared.command)
    facts = gather(prepared, analysis, PLACES)
    before = standing(prepared.tool, rules)
    assert decide(facts, before).verdict is Verdict.ASK
    found = suggest(facts, before, PLACES)
    for scope in found:
        prefix = weigh(scope, facts, PLACES, GrantBook())
        assert not isinstance(prefix, ScopeRefused)
        after = standing(prepared.tool, rules)
        after.grants.add(Grant("g", prepared.tool, scope, "", "c", prefix=prefix))
        assert decide(facts, after).verdict is Verdict.ALLOW
    return found


def bash(command: str) -> Prepared:
    return Prepared("Bash", Category.EXEC, {}, "", "", command=command)


def read(path: str) -> Prepared:
    return Prepared("Read", Category.INFO, {}, "", "", (Touch(path, Access.READ),))


def test_a_command_and_a_file_outside_have_suggestions() -> None:
    assert AlwaysPrefix("git log") in offered(bash("git log -3"))
    assert offered(bash("git show origin"), ASK_RULE)
    assert offered(read("/data/a")) == [AlwaysPath("/data")]


@pytest.mark.parametrize(
    ("prepared", "rules"),
    [
        (bash("cat .env"), NO_RULES),  # a protected path asks whatever was granted
        (bash("git -C /ws/.git log"), NO_RULES),
        (read("/ws/.env"), NO_RULES),
        (read("/data/.ssh/id_rsa"), NO_RULES),
        (bash("sudo ls"), NO_RULES),  # only a person can answer
        (bash("shutdown -h now"), NO_RULES),
        (bash("grep x < /etc/hosts"), NO_RULES),  # the shell reads outside
        (bash("ls $(pwd)"), NO_RULES),
        (bash("$x ls"), DENY_RULE),  # what denies cannot be held against
        (read("/home/a"), NO_RULES),  # the folder holds the home folder
    ],
)
def test_what_no_grant_can_spare_has_none(prepared: Prepared, rules: str) -> None:
    assert offered(prepared, rules) == []
