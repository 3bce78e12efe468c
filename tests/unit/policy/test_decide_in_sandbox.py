"""Commands in a sandbox: every view, mode, path and grant against an oracle.

The oracle is written from the rows of the table and WC-APPR-039 to 041, WC-MODE-014 and 015.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import Final

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.exact_grants import ties_of
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.tiers import AgentPermissionSnapshot
from wcore.views import NONE, READ_ONLY, WORKSPACE, SandboxView
from wcore.vocabulary import Access, Always, AlwaysExact, AlwaysPrefix, Category, Mode, Row, Verdict

ALLOW, DENY, ASK = Verdict.ALLOW, Verdict.DENY, Verdict.ASK
TEXT: Final = "cargo test"
VIEWS: Final = {
    "user": None,
    "read": SandboxView(READ_ONLY),
    "within": SandboxView(WORKSPACE, ("known",)),
    "asks": SandboxView(WORKSPACE, ("known", "a"), ("a",)),
    "asks more": SandboxView(WORKSPACE, ("known", "a", "b"), ("a", "b")),
    "outside": SandboxView(NONE),
}
PATHS: Final = {
    "none": (),
    "protected": (PathFact("/ws/.env", Access.WRITE, inside=True, protected="keys"),),
    "outside": (PathFact("/out/a", Access.READ, inside=False),),
    "own": (PathFact("/h/.config/wcore", Access.WRITE, False, protected="own", own=True),),
}
#: Which views are reached by nobody who was given a yes in one.
REACHES: Final = {
    "user": {"user", "read", "within"},
    "read": {"read"},
    "within": {"read", "within"},
    "asks": {"read", "within", "asks"},
    "asks more": {"read", "within", "asks", "asks more"},
    "outside": set(VIEWS),
}
KINDS: Final = ("name", "prefix", "exact")


@dataclass(frozen=True, slots=True)
class Case:
    view: str
    mode: Mode
    path: str
    grants: frozenset[tuple[str, str]]  # kind, and the view that it was given in
    override: bool

    @property
    def given(self) -> set[str]:
        found = {kind for kind, view in self.grants if self.view in REACHES[view]}
        return found - (set() if self.view in ("user", "outside") else {"exact"})


def cases() -> Iterator[Case]:
    every = list(product(KINDS, VIEWS))
    sets = [*chain.from_iterable(combinations(every, n) for n in range(3))]
    for view, mode, path, override in product(VIEWS, Mode, PATHS, (False, True)):
        for grants in sets:
            yield Case(view, mode, path, frozenset(grants), override)


def oracle(case: Case) -> tuple[Verdict, Row]:
    held = {Mode.PLAN: ("read",), Mode.AUTO_RUN: ("read", "within", "asks", "asks more")}
    is_held = case.view in held.get(case.mode, ())
    if case.path == "own":
        return DENY, Row.SAFETY
    if case.mode is Mode.PLAN and not is_held:
        return DENY, Row.MODE
    if case.view in ("outside", "asks", "asks more") and not case.given:
        return ASK, Row.SANDBOX
    if case.mode is not Mode.FORCE and not is_held and case.path == "protected":
        return ASK, Row.PROTECTED
    asks_outside = case.mode is not Mode.FORCE and not is_held and "exact" not in case.given
    if case.path == "outside" and asks_outside:
        return ASK, Row.OUTSIDE
    if case.given or case.override:
        return ALLOW, Row.GRANT
    if is_held or case.mode is Mode.FORCE:
        return ALLOW, Row.MODE
    return ASK, Row.DEFAULT


ANALYSIS: Final = shell.analyse(TEXT)


def grants_of(case: Case, facts: Facts) -> Iterator[Grant]:

    parsed = shell.parse_grant("cargo")
    assert isinstance(parsed, shell.PrefixGrant)
    for number, (kind, view) in enumerate(sorted(case.grants)):
        given, at = VIEWS[view], "2026-01-01T00:00:00Z"
        pin = given.pin if given else None
        match kind:
            case "name":
                yield Grant(f"g{number}", "Bash", Always(), at, "c", pin=pin)
            case "prefix":
                scope = AlwaysPrefix("cargo")
                yield Grant(f"g{number}", "Bash", scope, at, "c", prefix=parsed, pin=pin)
            case _:
                ties = ties_of(facts)
                yield Grant(f"g{number}", "Bash", AlwaysExact(TEXT), at, "c", pin=pin, ties=ties)


def decided(case: Case) -> tuple[Verdict, Row]:
    view = VIEWS[case.view]
    pin = view.pin if view else None
    facts = Facts("Bash", Category.EXEC, PATHS[case.path], ANALYSIS, pin, TEXT, view=view)
    tiers = AgentPermissionSnapshot(user_overrides=frozenset({"Bash"} if case.override else ()))
    book = GrantBook(grants_of(case, facts))
    decision = decide(facts, DecisionContext(case.mode, book, frozenset({"Bash"}), tiers=tiers))
    assert decision.why.detail
    return decision.verdict, decision.why.row


def test_the_code_decides_as_the_table_says_in_every_case() -> None:
    found = {case: decided(case) for case in cases()}
    wrong = {case: got for case, got in found.items() if got != oracle(case)}
    assert not wrong, (next(iter(wrong.items())), oracle(next(iter(wrong))))
    assert len(found) == 6 * 6 * 4 * 2 * (1 + 18 + 18 * 17 // 2)
    assert {(verdict, row) for verdict, row in found.values() if row is Row.SANDBOX}


def test_nothing_leaves_the_sandbox_that_was_not_given_there() -> None:
    for case in cases():
        if case.view == "outside" and decided(case)[0] is ALLOW:
            assert "outside" in {view for _, view in case.grants}, case
