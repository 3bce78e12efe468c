"""The rows that policies and tiers decide, compared with an oracle in every combination.

The oracle is written from the design's table and knows nothing of the code. The rows about
paths and shell text are in `test_decide` and `test_rules`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

import pytest

from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_file import PolicyFile
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy.tiers import AgentPermissionSnapshot
from wcore.vocabulary import Access, Always, Category, Mode, Persist, Row, Verdict

ALLOW, DENY, ASK = Verdict.ALLOW, Verdict.DENY, Verdict.ASK
SCENE: Final = ParseContext(Places("/ws", "/home/me"), {})
STRICT: Final = {ALLOW: 0, ASK: 1, DENY: 2}

TOOLS: Final = {
    "Read": Category.INFO,
    "Write": Category.EDIT,
    "AskUserQuestion": Category.INFO,
}
TIERS: Final = ("none", "allow", "ask", "default allow", "default ask", "blocked")
RULES: Final = {  # of the tool at hand: what is written, and what it says
    "none": None,
    "deny": DENY,
    "deny spec": DENY,
    "allow": ALLOW,
    "ask": ASK,
}


@dataclass(frozen=True, slots=True)
class Written:
    """What the files say about the tool."""

    absolute: Level | None
    managed: str
    user: str
    project: str
    trusted: bool


@dataclass(frozen=True, slots=True)
class Case:
    tool: str
    tier: str
    mode: Mode
    granted: bool
    override: bool
    written: Written


def written() -> Iterator[Written]:
    for absolute, managed, user, project, trusted in product(
        (None, Level.USER, Level.PROJECT),
        ("none", "deny", "allow", "ask"),
        RULES,
        ("none", "deny", "allow", "ask"),
        (False, True),
    ):
        yield Written(absolute, managed, user, project, trusted)


def cases() -> Iterator[Case]:
    for parts in product(TOOLS, TIERS, Mode, (False, True), (False, True), written()):
        yield Case(*parts)


# --- the oracle -----------------------------------------------------------------------------------


def counting(case: Case) -> list[tuple[Verdict, bool]]:
    """Return the verdicts of the rules that count, and whether a yes to the name lifts each."""
    w = case.written
    managed, user, project = RULES[w.managed], RULES[w.user], RULES[w.project]
    found: list[tuple[Verdict, bool]] = []
    if managed is not None:
        found.append((managed, False))
    elif user is not None:
        found.append((user, w.user == "deny"))
    if project is None:
        return found
    if w.trusted and managed is None:
        return [(project, True)]
    if not found:
        return [(project, True)] if project is not ALLOW else []
    if STRICT[project] >= STRICT[found[0][0]]:
        found.append((project, True))
    return found


def oracle(case: Case) -> Verdict:
    force = case.mode is Mode.FORCE
    yes_to_name = case.granted or case.override
    if case.tier == "blocked" or case.written.absolute is not None:
        return DENY
    rules = counting(case)
    if any(verdict is DENY and not (lifts and yes_to_name) for verdict, lifts in rules):
        return DENY
    if case.mode is Mode.PLAN and case.tool not in ("Read", "AskUserQuestion"):
        return DENY
    if case.tool == "AskUserQuestion" or case.written.managed == "ask":
        return ASK
    if yes_to_name:
        return ALLOW
    if case.tier in ("allow", "ask"):
        return ALLOW if case.tier == "allow" or force else ASK
    if rules:
        strictest = max((verdict for verdict, _ in rules), key=STRICT.__getitem__)
        return ALLOW if force else strictest
    covered = {
        Mode.DEFAULT: (),
        **dict.fromkeys((Mode.PLAN, Mode.READ_ONLY), ("Read",)),
        **dict.fromkeys((Mode.AUTO_EDIT, Mode.AUTO_RUN), ("Read", "Write")),
        Mode.FORCE: ("Read", "Write"),
    }
    if case.tool in covered[case.mode]:
        return ALLOW
    return ALLOW if case.tier == "default allow" else ASK


# --- the code under test --------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def policies(w: Written, tool: str) -> PolicySet:
    files: list[PolicyFile] = []
    for level, rule in (
        (Level.MANAGED, w.managed),
        (Level.USER, w.user),
        (Level.PROJECT, w.project),
    ):
        spec = "(**)" if rule == "deny spec" and tool != "AskUserQuestion" else ""
        text = f'deny = ["{tool}"]\n' if w.absolute is level else ""
        if rule != "none":
            text += f'[[rule]]\nmatch = "{tool}{spec}"\ndo = "{rule.split()[0]}"\n'
        files.append(parse(text, f"/{level}.toml", level, SCENE))
    return PolicySet(files, trusted=w.trusted)


def snapshot(case: Case) -> AgentPermissionSnapshot:
    named = frozenset({case.tool})
    nothing: frozenset[str] = frozenset()
    return AgentPermissionSnapshot(
        named if case.tier in ("allow", "default allow") else nothing,
        named if case.tier in ("ask", "default ask") else nothing,
        named if case.tier == "blocked" else nothing,
        named if case.override else nothing,
        named if case.tier.startswith("default") else nothing,
        case.tier != "none",
    )


def book(case: Case) -> GrantBook:
    found = GrantBook()
    if case.granted:
        found.add(Grant("g1", case.tool, Always(), "2026-01-01T00:00:00Z", "c1"))
    return found


def decided(case: Case) -> tuple[Verdict, Row]:
    category = TOOLS[case.tool]
    access = Access.READ if category is Category.INFO else Access.WRITE
    paths = () if case.tool == "AskUserQuestion" else (PathFact("/ws/a", access, inside=True),)
    context = DecisionContext(
        case.mode,
        book(case),
        frozenset(TOOLS),
        policies(case.written, case.tool),
        snapshot(case),
    )
    why = decide(Facts(case.tool, category, paths), context)
    assert why.why.detail
    return why.verdict, why.why.row


ALL: Final[dict[Case, tuple[Verdict, Row]]] = {}


def every() -> dict[Case, tuple[Verdict, Row]]:
    """Return what the code decides in every case, computed once."""
    if not ALL:
        skipped = ("deny spec", "AskUserQuestion")  # a question has no path to name
        for case in cases():
            if (case.written.user, case.tool) != skipped:
                ALL[case] = decided(case)
    return ALL


def test_the_code_decides_as_the_table_of_the_design_in_every_case() -> None:
    wrong = {case: got for case, got in every().items() if got[0] is not oracle(case)}
    assert not wrong, next(iter(wrong.items()))
    assert len(every()) > 100_000


def test_nothing_lifts_a_blocked_tool_or_an_absolute_deny() -> None:
    for case, (verdict, row) in every().items():
        if case.tier == "blocked":
            assert (verdict, row) == (DENY, Row.BLOCKED), case
        elif case.written.absolute is not None:
            assert (verdict, row) == (DENY, Row.DENY), case


def test_nothing_lifts_a_deny_of_the_managed_file() -> None:
    for case, (verdict, _) in every().items():
        if case.written.managed == "deny":
            assert verdict is DENY, case


def test_a_project_that_nobody_trusts_loosens_nothing() -> None:
    found = every()
    for case, (verdict, _) in found.items():
        w = case.written
        if not w.trusted and w.project != "none":
            bare = Written(w.absolute, w.managed, w.user, "none", trusted=False)
            without = Case(case.tool, case.tier, case.mode, case.granted, case.override, bare)
            if without in found:
                assert STRICT[verdict] >= STRICT[found[without][0]], case


def test_even_a_trusted_project_loosens_nothing_that_the_managed_file_says() -> None:
    found = every()
    for case, (verdict, _) in found.items():
        w = case.written
        if w.managed != "none" and w.project != "none":
            bare = Written(w.absolute, w.managed, w.user, "none", w.trusted)
            without = Case(case.tool, case.tier, case.mode, case.granted, case.override, bare)
            if without in found:
                assert STRICT[verdict] >= STRICT[found[without][0]], case


def test_force_only_turns_asks_into_allows() -> None:
    found = every()
    for case, (verdict, _) in found.items():
        if case.mode is Mode.DEFAULT:
            forced = Case(
                case.tool, case.tier, Mode.FORCE, case.granted, case.override, case.written
            )
            got = found[forced][0]
            assert got is verdict or (verdict is ASK and got is ALLOW), case


def test_every_row_of_policies_and_tiers_decides_some_case() -> None:
    assert {row for _, row in every().values()} >= {
        *(Row.BLOCKED, Row.DENY, Row.QUESTION, Row.GRANT),
        *(Row.TIER, Row.RULE, Row.MODE, Row.DEFAULT),
    }


@pytest.mark.parametrize(
    ("persist", "lasts"),
    [
        (Persist.SESSION, "for this session"),
        (Persist.PROJECT, "for this project"),
        (Persist.USER, "for all projects"),
    ],
)
def test_the_reason_says_how_long_a_grant_lasts(persist: Persist, lasts: str) -> None:
    found = GrantBook()
    found.add(Grant("g1", "Read", Always(), "2026-01-01T00:00:00Z", "c1", persist=persist))
    facts = Facts("Read", Category.INFO, (PathFact("/ws/a", Access.READ, inside=True),))
    why = decide(facts, DecisionContext(Mode.DEFAULT, found, frozenset({"Read"}))).why
    assert why.detail == f"Read was granted {lasts}"
