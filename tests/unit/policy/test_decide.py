"""The decision, compared with an oracle over the full product of everything it may depend on.

The oracle is written from the design's table, row by row, and knows nothing of the code.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, product
from typing import Final

import pytest

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import Grant, GrantBook
from wcore.vocabulary import (
    Access,
    Always,
    AlwaysPath,
    AlwaysPrefix,
    Category,
    Mode,
    Row,
    Scope,
    Verdict,
)

TOOLS: Final = {
    "Read": Category.INFO,
    "AskUserQuestion": Category.INFO,
    "Edit": Category.EDIT,
    "Delete": Category.EDIT,
    "Bash": Category.EXEC,
    "Spawn": Category.EXEC,
    "mcp__a__b": Category.MCP,
}
COMMAND: Final = "cargo test"
KINDS: Final = ("name", "other name", "prefix", "other prefix", "folder", "other folder")


@dataclass(frozen=True, slots=True)
class Path:
    """One path of a call, as a case describes it."""

    inside: bool
    protected: bool
    own: bool
    access: Access

    @property
    def text(self) -> str:
        return "/ws/sub/file" if self.inside else "/out/sub/file"

    def fact(self) -> PathFact:
        reason = "keys" if self.protected else None
        return PathFact(self.text, self.access, self.inside, reason, self.own)


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that a decision may depend on."""

    tool: str
    offered: bool
    path: Path | None
    mode: Mode
    grants: frozenset[str]

    @property
    def category(self) -> Category:
        return TOOLS[self.tool]

    @property
    def changes(self) -> bool:
        return self.category in (Category.EDIT, Category.MCP) or self.tool == "Bash"


PATHS: Final = (
    None,
    *(Path(*flags) for flags in product((True, False), (True, False), (True, False), Access)),
)
GRANT_SETS: Final = tuple(
    frozenset(kinds)
    for kinds in chain.from_iterable(combinations(KINDS, n) for n in range(len(KINDS) + 1))
)


def cases() -> Iterator[Case]:
    for tool, offered, path, mode, grants in product(TOOLS, (True, False), PATHS, Mode, GRANT_SETS):
        yield Case(tool, offered, path, mode, grants)


# --- the oracle -----------------------------------------------------------------------------------


def oracle(case: Case) -> tuple[Verdict, Row]:
    """Decide as the design's table says, from the top, the first row that applies."""
    path, force = case.path, case.mode is Mode.FORCE
    reads = case.category is Category.INFO and (path is None or path.access is Access.READ)
    if not case.offered:
        return Verdict.DENY, Row.BLOCKED
    if path and path.own and path.access is Access.WRITE:
        return Verdict.DENY, Row.SAFETY
    if case.mode is Mode.PLAN and case.changes:
        return Verdict.DENY, Row.MODE
    if case.tool == "AskUserQuestion":
        return Verdict.ASK, Row.QUESTION
    if path and path.protected and not force:
        return Verdict.ASK, Row.PROTECTED
    folder_granted = path is not None and reads and "folder" in case.grants
    if path and not path.inside and not folder_granted and not force:
        return Verdict.ASK, Row.OUTSIDE
    prefix_granted = case.tool == "Bash" and "prefix" in case.grants
    if "name" in case.grants or prefix_granted or folder_granted:
        return Verdict.ALLOW, Row.GRANT
    is_info = case.category is Category.INFO
    is_edit = case.category is Category.EDIT and case.tool != "Delete"
    covered = {
        Mode.PLAN: is_info,
        Mode.DEFAULT: False,
        Mode.READ_ONLY: is_info,
        Mode.AUTO_EDIT: is_info or is_edit,
        Mode.AUTO_RUN: is_info or is_edit,  # commands as well, in a sandbox
        Mode.FORCE: True,
    }[case.mode]
    return (Verdict.ALLOW, Row.MODE) if covered else (Verdict.ASK, Row.DEFAULT)


# --- the code under test --------------------------------------------------------------------------


def prefix(text: str) -> shell.PrefixGrant:
    parsed = shell.parse_grant(text)
    assert isinstance(parsed, shell.PrefixGrant)
    return parsed


def grant(kind: str, tool: str, path: Path | None) -> Grant:
    """Return the grant of one kind for a call of `tool` on `path`."""
    other = "Read" if tool != "Read" else "Grep"
    root = path.text.rpartition("/")[0] if path else "/out"
    made: dict[str, tuple[str, Scope, shell.PrefixGrant | None]] = {
        "name": (tool, Always(), None),
        "other name": (other, Always(), None),
        "prefix": (tool, AlwaysPrefix("cargo"), prefix("cargo")),
        "other prefix": (
            "Spawn" if tool == "Bash" else "Bash",
            AlwaysPrefix("cargo"),
            prefix("cargo"),
        ),
        "folder": ("LS", AlwaysPath(root), None),
        "other folder": ("LS", AlwaysPath(root + "-not"), None),
    }
    name, scope, parsed = made[kind]
    return Grant(f"g {kind}", name, scope, "2026-01-01T00:00:00Z", "c1", prefix=parsed)


def book(*grants: Grant) -> GrantBook:
    found = GrantBook()
    for each in grants:
        found.add(each)
    return found


ANALYSIS: Final = shell.analyse(COMMAND)


@cache
def book_of(tool: str, path: Path | None, kinds: frozenset[str]) -> GrantBook:
    return book(*(grant(kind, tool, path) for kind in sorted(kinds)))


def facts(case: Case) -> Facts:
    analysis = ANALYSIS if case.tool == "Bash" else None
    paths = (case.path.fact(),) if case.path else ()
    return Facts(case.tool, case.category, paths, analysis)


def decided(case: Case) -> tuple[Verdict, Row]:
    given = book_of(case.tool, case.path, case.grants)
    offered = frozenset(TOOLS) - (frozenset() if case.offered else {case.tool})
    decision = decide(facts(case), DecisionContext(case.mode, given, offered))
    assert decision.why.detail
    return decision.verdict, decision.why.row


ALL: Final[dict[Case, tuple[Verdict, Row]]] = {}


def every() -> dict[Case, tuple[Verdict, Row]]:
    """Return what the code decides in every case, computed once."""
    if not ALL:
        ALL.update((case, decided(case)) for case in cases())
    return ALL


def test_the_code_decides_as_the_table_of_the_design_in_every_case() -> None:
    wrong = {case: got for case, got in every().items() if got != oracle(case)}
    assert not wrong, next(iter(wrong.items()))
    assert len(every()) == 7 * 2 * 17 * 6 * 64


def test_every_row_decides_some_case() -> None:
    assert {row for _, row in every().values()} == {
        *(Row.BLOCKED, Row.SAFETY, Row.QUESTION, Row.PROTECTED, Row.OUTSIDE),
        *(Row.GRANT, Row.MODE, Row.DEFAULT),
    }


def test_no_grant_and_no_mode_lifts_what_is_denied_or_needs_a_person() -> None:
    for case, (verdict, _) in every().items():
        if not case.offered or (case.path and case.path.own and case.path.access is Access.WRITE):
            assert verdict is Verdict.DENY, case
        elif case.tool == "AskUserQuestion":
            assert verdict is Verdict.ASK, case


def test_a_protected_path_is_never_allowed_except_in_force() -> None:
    for case, (verdict, _) in every().items():
        if case.path and case.path.protected and case.mode is not Mode.FORCE:
            assert verdict is not Verdict.ALLOW, case


def test_nothing_is_denied_for_lack_of_a_grant_or_mode() -> None:
    for case, (verdict, row) in every().items():
        is_planned = row is Row.MODE and case.mode is Mode.PLAN and case.changes
        denied = row in (Row.BLOCKED, Row.SAFETY) or is_planned
        assert (verdict is Verdict.DENY) == denied, case


def test_one_more_grant_never_makes_a_decision_stricter() -> None:
    found = every()
    for case, (verdict, _) in found.items():
        if verdict is Verdict.ALLOW:
            for kind in set(KINDS) - case.grants:
                more = Case(case.tool, case.offered, case.path, case.mode, case.grants | {kind})
                assert found[more][0] is Verdict.ALLOW, more


def test_a_higher_mode_never_makes_a_decision_stricter() -> None:
    found = every()
    for case, (verdict, _) in found.items():
        if verdict is Verdict.ALLOW:
            for mode in set(Mode) - {Mode.PLAN}:  # which denies what others ask about
                if mode.rank > case.mode.rank:
                    more = Case(case.tool, case.offered, case.path, mode, case.grants)
                    assert found[more][0] is Verdict.ALLOW, more


def test_grants_for_something_else_change_nothing() -> None:
    found = every()
    for case, got in found.items():
        own = case.grants - {"other name", "other prefix", "other folder"}
        bare = Case(case.tool, case.offered, case.path, case.mode, own)
        assert got == found[bare], case


def test_a_folder_grant_lets_only_reading_info_tools_through() -> None:
    for case, got in every().items():
        if case.grants == frozenset({"folder"}) and got == (Verdict.ALLOW, Row.GRANT):
            assert case.category is Category.INFO
            assert case.path
            assert case.path.access is Access.READ


def test_default_mode_without_grants_allows_nothing_at_all() -> None:
    for case, (verdict, _) in every().items():
        if case.mode is Mode.DEFAULT and not case.grants:
            assert verdict is not Verdict.ALLOW, case


# --- several paths: the strictest counts ------------------------------------------------------


INSIDE = PathFact("/ws/a", Access.READ, inside=True)
OUTSIDE = PathFact("/out/a", Access.READ, inside=False)
ELSEWHERE = PathFact("/else/a", Access.READ, inside=False)
PROTECTED = PathFact("/ws/.env", Access.READ, inside=True, protected="keys")
OWN = PathFact("/ws/.wcore/x", Access.WRITE, inside=True, protected="own", own=True)


@pytest.mark.parametrize(
    ("paths", "roots", "expected"),
    [
        ((INSIDE, OUTSIDE), (), (Verdict.ASK, Row.OUTSIDE)),
        ((OUTSIDE, INSIDE), ("/out",), (Verdict.ALLOW, Row.MODE)),
        ((OUTSIDE, ELSEWHERE), ("/out",), (Verdict.ASK, Row.OUTSIDE)),
        ((OUTSIDE, ELSEWHERE), ("/out", "/else"), (Verdict.ALLOW, Row.GRANT)),
        ((INSIDE, PROTECTED), ("/ws",), (Verdict.ASK, Row.PROTECTED)),
        ((OUTSIDE, PROTECTED), (), (Verdict.ASK, Row.PROTECTED)),
        ((PROTECTED, OUTSIDE, OWN), ("/ws", "/out"), (Verdict.DENY, Row.SAFETY)),
    ],
)
def test_of_several_paths_the_strictest_decides(
    paths: tuple[PathFact, ...], roots: tuple[str, ...], expected: tuple[Verdict, Row]
) -> None:
    grants = book(
        *(Grant(f"g{root}", "LS", AlwaysPath(root), "2026-01-01T00:00:00Z", "c") for root in roots)
    )
    for order in (paths, paths[::-1]):
        called = Facts("Read", Category.INFO, order)
        decision = decide(called, DecisionContext(Mode.READ_ONLY, grants, frozenset({"Read"})))
        assert (decision.verdict, decision.why.row) == expected


# --- the reasons ----------------------------------------------------------------------------------


def bash(text: str, *prefixes: str) -> tuple[Facts, DecisionContext]:
    grants = [
        Grant(f"g {p}", "Bash", AlwaysPrefix(p), "2026-01-01T00:00:00Z", "c", prefix=prefix(p))
        for p in prefixes
    ]
    called = Facts("Bash", Category.EXEC, (), shell.analyse(text))
    return called, DecisionContext(Mode.DEFAULT, book(*grants), frozenset({"Bash"}))


def test_an_allow_by_grant_names_the_grant() -> None:
    decision = decide(*bash("cargo test", "cargo"))
    assert decision.verdict is Verdict.ALLOW
    assert decision.why.rule == "g cargo"
    assert "cargo" in decision.why.detail


def test_of_several_grants_the_first_used_is_named() -> None:
    assert decide(*bash("git log | grep x", "cargo", "grep", "git log")).why.rule == "g git log"


def test_the_part_of_a_command_that_no_grant_covers_is_shown() -> None:
    text = "cargo test && curl x"
    decision = decide(*bash(text, "cargo"))
    assert decision.verdict is Verdict.ASK
    assert decision.why.row is Row.DEFAULT
    assert decision.why.code
    assert decision.why.span
    start, end = decision.why.span
    assert text[start:end] == "curl x"


def test_spans_count_bytes() -> None:
    text = "echo 'ä€😀' && curl x"
    why = decide(*bash(text, "echo")).why
    assert why.span
    assert text.encode()[slice(*why.span)] == b"curl x"


@pytest.mark.parametrize("text", ["", " ", ";", " ; ", "\n", "# only a comment", "x" * 20_000])
def test_a_command_without_commands_or_too_long_is_never_covered(text: str) -> None:
    assert decide(*bash(text, "x", "echo")).verdict is Verdict.ASK


def test_asking_twice_gives_the_same_answer() -> None:
    called, context = bash("cargo test; curl x", "cargo")
    assert decide(called, context) == decide(called, context)
