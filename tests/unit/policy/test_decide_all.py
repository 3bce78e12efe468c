"""All rows against each other: blocked, denied, unreadable, protected, granted, tiered, ruled.

One call of each kind in every combination of what may decide it. The oracle is written from the
design's table. How project, trust and limits of files interact is in `test_decide_policy`, several
grants and paths in `test_decide`.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy.rules.rule_index import STRICTNESS
from wcore.policy.tiers import AgentPermissionSnapshot
from wcore.vocabulary import Access, Always, Category, Mode, Row, Verdict

ALLOW, DENY, ASK = Verdict.ALLOW, Verdict.DENY, Verdict.ASK
SCENE: Final = ParseContext(Places("/ws", "/home/me"), {})
GUARDED: Final = 'deny = ["Bash(curl)"]\n'  # in the managed file

COMMANDS: Final = {
    "plain": "cargo test",
    "elevated": "sudo cargo test",
    "never right": "cargo test; rm -rf /",
    "unreadable": "cargo test; $(x)",
    "naming": "cargo test curl",
}
PATHS: Final = {
    "inside": PathFact("/ws/a", Access.WRITE, inside=True),
    "outside": PathFact("/out/a", Access.WRITE, inside=False),
    "protected": PathFact("/ws/.env", Access.WRITE, inside=True, protected="keys"),
    "protected outside": PathFact("/out/.env", Access.WRITE, inside=False, protected="keys"),
    "own": PathFact("/ws/.wcore/a", Access.WRITE, inside=True, protected="own", own=True),
}
CALLS: Final[dict[str, Facts]] = {
    **{
        f"Bash: {name}": Facts("Bash", Category.EXEC, (), shell.analyse(text))
        for name, text in COMMANDS.items()
    },
    **{f"Write: {name}": Facts("Write", Category.EDIT, (path,)) for name, path in PATHS.items()},
    "AskUserQuestion: ": Facts("AskUserQuestion", Category.INFO),
}
SPECS: Final = {"Bash": "(cargo)", "Write": "(/**)", "AskUserQuestion": None}
RULES: Final = ("none", "deny", "deny spec", "allow", "ask")
TIERS: Final = ("none", "allow", "ask", "default allow", "default ask")


@dataclass(frozen=True, slots=True)
class Case:
    call: str
    blocked: bool
    absolute: bool
    rule: str
    tier: str
    granted: bool
    override: bool
    mode: Mode

    @property
    def tool(self) -> str:
        return self.call.partition(":")[0]

    @property
    def kind(self) -> str:
        return self.call.partition(": ")[2]


def cases() -> list[Case]:
    switch = (False, True)
    parts = product(CALLS, switch, switch, RULES, TIERS, switch, switch, Mode)
    every = (Case(*each) for each in parts)
    return [case for case in every if case.rule != "deny spec" or SPECS[case.tool]]


# --- the oracle -----------------------------------------------------------------------------------


def oracle(case: Case) -> tuple[Verdict, Row]:
    """Decide as the design's table says, from the top, the first row that applies."""
    return _denies(case) or _asks(case) or _rest(case)


def _denies(case: Case) -> tuple[Verdict, Row] | None:
    yes_to_name = case.granted or case.override
    if case.blocked:
        return DENY, Row.BLOCKED
    if case.absolute:
        return DENY, Row.DENY
    if case.kind in ("own", "never right"):
        return DENY, Row.SAFETY
    if case.rule == "deny spec" or (case.rule == "deny" and not yes_to_name):
        return DENY, Row.RULE
    if case.mode is Mode.PLAN and case.tool != "AskUserQuestion":
        return DENY, Row.MODE
    return None


def _asks(case: Case) -> tuple[Verdict, Row] | None:
    if case.kind in ("unreadable", "naming"):
        return ASK, Row.UNREADABLE
    if case.tool == "AskUserQuestion":
        return ASK, Row.QUESTION
    if case.kind == "elevated":
        return ASK, Row.SAFETY
    if case.mode is Mode.FORCE:
        return None
    if case.kind.startswith("protected"):
        return ASK, Row.PROTECTED
    return (ASK, Row.OUTSIDE) if case.kind == "outside" else None


def _rest(case: Case) -> tuple[Verdict, Row]:
    force = (ALLOW, Row.MODE) if case.mode is Mode.FORCE else None
    if case.granted or case.override:
        return ALLOW, Row.GRANT
    if case.tier in ("allow", "ask"):
        return (ALLOW, Row.TIER) if case.tier == "allow" else force or (ASK, Row.TIER)
    if case.rule in ("allow", "ask"):
        return (ALLOW, Row.RULE) if case.rule == "allow" else force or (ASK, Row.RULE)
    if force or (case.mode in (Mode.AUTO_EDIT, Mode.AUTO_RUN) and case.tool == "Write"):
        return ALLOW, Row.MODE
    if case.tier.startswith("default"):
        return (ALLOW if case.tier == "default allow" else ASK), Row.TIER
    return ASK, Row.DEFAULT


# --- the code under test --------------------------------------------------------------------------


@lru_cache
def policies(tool: str, rule: str, *, absolute: bool) -> PolicySet:
    spec = SPECS[tool] if rule == "deny spec" else ""
    text = f'deny = ["{tool}"]\n' if absolute else ""
    if rule != "none":
        text += f'[[rule]]\nmatch = "{tool}{spec}"\ndo = "{rule.split(maxsplit=1)[0]}"\n'
    managed = parse(GUARDED, "/m.toml", Level.MANAGED, SCENE)
    return PolicySet([managed, parse(text, "/u.toml", Level.USER, SCENE)])


def snapshot(case: Case) -> AgentPermissionSnapshot:
    tool, nobody = frozenset({case.tool}), frozenset[str]()
    return AgentPermissionSnapshot(
        tool if case.tier.endswith("allow") else nobody,
        tool if case.tier.endswith("ask") else nobody,
        tool if case.blocked else nobody,
        tool if case.override else nobody,
        tool if case.tier.startswith("default") else nobody,
        case.tier != "none" or case.blocked,
    )


def decided(case: Case, tiers: AgentPermissionSnapshot | None = None) -> tuple[Verdict, Row]:
    grant = Grant("g", case.tool, Always(), "2026-01-01T00:00:00Z", "c")
    context = DecisionContext(
        case.mode,
        GrantBook([grant] if case.granted else []),
        frozenset({case.tool}),
        policies(case.tool, case.rule, absolute=case.absolute),
        tiers or snapshot(case),
    )
    decision = decide(CALLS[case.call], context)
    return decision.verdict, decision.why.row


def test_every_combination_is_decided_as_the_table_says() -> None:
    found = {case: decided(case) for case in cases()}
    wrong = {case: got for case, got in found.items() if got != oracle(case)}
    assert not wrong, (next(iter(wrong.items())), oracle(next(iter(wrong))))
    assert len(found) == (10 * 5 + 4) * 2 * 2 * 5 * 2 * 2 * 6
    assert {row for _, row in found.values()} == {*Row} - {Row.SANDBOX}


def test_nothing_lifts_what_is_blocked_or_absolutely_denied() -> None:
    for case in cases():
        if case.blocked or case.absolute or case.kind in ("own", "never right"):
            assert decided(case)[0] is DENY, case


def test_with_unread_tiers_only_a_grant_a_rule_or_force_lets_anything_run() -> None:
    unread = AgentPermissionSnapshot(unread=True)
    for case in cases():
        (verdict, row), with_tiers = decided(case, unread), decided(case)
        if verdict is ALLOW and case.mode is not Mode.FORCE:
            assert row in (Row.GRANT, Row.RULE), case
            by_tier = with_tiers[1] in (Row.BLOCKED, Row.TIER)
            assert with_tiers[0] is ALLOW or (row is Row.RULE and by_tier) or case.blocked, case
        if with_tiers[0] is DENY and not case.blocked and not case.override:
            assert verdict is DENY, case


def test_unread_tiers_lift_nothing() -> None:
    for case in cases():
        if case.tier == "none" and not case.blocked and not case.override:
            least = decided(case, AgentPermissionSnapshot(unread=True))[0]
            assert STRICTNESS[least] >= STRICTNESS[decided(case)[0]], case
