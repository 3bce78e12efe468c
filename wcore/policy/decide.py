"""The decision: one table, read from the top, the first row that has an answer wins.

The same function serves the gate, tests and anything that explains a decision. Facts and
standing come in as values; asking twice gives the same answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wcore.policy import shell
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import Grant, GrantBook
from wcore.vocabulary import (
    Access,
    Category,
    Decision,
    Mode,
    Row,
    Verdict,
    Why,
)

QUESTION_TOOL: Final = "AskUserQuestion"
SPARED_BY_AUTO_EDIT: Final = "Delete"  # an edit that no later edit can undo

MODE_COVERS: Final[dict[Mode, frozenset[Category]]] = {
    Mode.DEFAULT: frozenset(),
    Mode.READ_ONLY: frozenset({Category.INFO}),
    Mode.AUTO_EDIT: frozenset({Category.INFO, Category.EDIT}),
    Mode.FORCE: frozenset(Category),
}


@dataclass(frozen=True, slots=True)
class Standing:
    """What is in force when a call is decided. `offered` are the tools the model was shown."""

    mode: Mode
    grants: GrantBook
    offered: frozenset[str]


Answer = Callable[[Facts, Standing], Decision | None]


def decide(facts: Facts, standing: Standing) -> Decision:
    """Return the answer of the first row that has one; the last row always has."""
    return decide_by_row(facts, standing)[1]


def decide_by_row(facts: Facts, standing: Standing) -> tuple[str, Decision]:
    """Return the decision with the number of its row in the design's table."""
    for row in ROWS:
        decision = row(facts, standing)
        if decision is not None:
            return (row.__doc__ or "").partition(":")[0].removeprefix("Row "), decision
    raise AssertionError("the last row always answers")


def _not_offered(facts: Facts, standing: Standing) -> Decision | None:
    """Row 1: the tool is not offered."""
    if facts.tool in standing.offered:
        return None
    return _answer(Verdict.DENY, Row.BLOCKED, f"{facts.tool} is not offered")


def _own_files(facts: Facts, standing: Standing) -> Decision | None:
    """Row 2: nothing writes wcore's own rules, grants or records."""
    del standing  # in every mode
    for path in facts.paths:
        if path.own and path.access is Access.WRITE:
            return _answer(Verdict.DENY, Row.SAFETY, f"{path.path} holds wcore's own files")
    return None


def _question(facts: Facts, standing: Standing) -> Decision | None:
    """Row 4: only a person can answer a question."""
    del standing
    if facts.tool != QUESTION_TOOL:
        return None
    return _answer(Verdict.ASK, Row.QUESTION, "only a person can answer this")


def _protected(facts: Facts, standing: Standing) -> Decision | None:
    """Row 5: a protected path asks, whatever was granted."""
    if standing.mode is Mode.FORCE:
        return None
    for path in facts.paths:
        if path.protected is not None:
            return _answer(Verdict.ASK, Row.PROTECTED, f"{path.path} is {path.protected}")
    return None


def _outside(facts: Facts, standing: Standing) -> Decision | None:
    """Row 6: a path outside the workspace asks, unless a folder grant covers it."""
    if standing.mode is Mode.FORCE:
        return None
    for path in facts.paths:
        if not path.inside and not _granted_folder(path, facts, standing):
            return _answer(Verdict.ASK, Row.OUTSIDE, f"{path.path} is outside the workspace")
    return None


def _granted(facts: Facts, standing: Standing) -> Decision | None:
    """Row 7: a grant covers the call."""
    grant = granting(facts, standing.grants)
    if grant is None:
        return None
    what = f"`{grant.prefix.text}`" if grant.prefix else grant.tool
    return Decision(
        Verdict.ALLOW,
        Why(Row.GRANT, f"{what} was granted for this session", rule=grant.grant_id),
    )


def _mode(facts: Facts, standing: Standing) -> Decision | None:
    """Row 10: the mode covers the category."""
    mode = standing.mode
    if facts.category not in MODE_COVERS[mode]:
        return None
    if mode is Mode.AUTO_EDIT and facts.tool == SPARED_BY_AUTO_EDIT:
        return None
    return _answer(Verdict.ALLOW, Row.MODE, f"mode {mode} covers {facts.category} tools")


def _default(facts: Facts, standing: Standing) -> Decision | None:
    """Row 12: nothing else applied."""
    detail = f"mode {standing.mode} asks before {facts.category} tools"
    prefixes = [g.prefix for g in standing.grants.prefixes(facts.tool) if g.prefix]
    if facts.analysis is None or (facts.analysis.reason is None and not prefixes):
        return _answer(Verdict.ASK, Row.DEFAULT, detail)
    coverage = shell.matches(facts.analysis, prefixes)
    return Decision(Verdict.ASK, Why(Row.DEFAULT, detail, span=coverage.span, code=coverage.reason))


ROWS: Final[tuple[Answer, ...]] = (
    _not_offered,
    _own_files,
    _question,
    _protected,
    _outside,
    _granted,
    _mode,
    _default,
)


def granting(facts: Facts, grants: GrantBook) -> Grant | None:
    """Return a grant that covers the whole call: by name, by prefix, or by folder."""
    by_name = grants.by_name(facts.tool)
    if by_name is not None:
        return by_name
    prefixes = grants.prefixes(facts.tool)
    if prefixes and facts.analysis is not None:
        parsed = [grant.prefix for grant in prefixes if grant.prefix]
        if shell.matches(facts.analysis, parsed).covered:
            return prefixes[0] if len(prefixes) == 1 else _first_used(facts.analysis, prefixes)
    if facts.category is Category.INFO and facts.paths:
        found = [grants.of_path(path.path) for path in facts.paths]
        if all(found) and all(path.access is Access.READ for path in facts.paths):
            return found[0]
    return None


def _first_used(analysis: shell.Analysis, prefixes: list[Grant]) -> Grant:
    first = shell.Analysis(analysis.text, analysis.commands[:1])
    return next(g for g in prefixes if g.prefix and shell.matches(first, [g.prefix]).covered)


def _granted_folder(path: PathFact, facts: Facts, standing: Standing) -> bool:
    readable = facts.category is Category.INFO and path.access is Access.READ
    return readable and standing.grants.of_path(path.path) is not None


def _answer(verdict: Verdict, row: Row, detail: str) -> Decision:
    return Decision(verdict, Why(row, detail))
