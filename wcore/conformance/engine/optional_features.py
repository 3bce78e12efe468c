"""What an engine may leave out, as `protocol-spec/README.md` has it: how that shows outside."""

from collections.abc import Iterable, Sequence
from typing import Final

from wcore.conformance.cases import Case
from wcore.conformance.engine import dialects
from wcore.conformance.json_object import JsonObject

#: Tools that cases call and an engine need not have; it has those that it offers to its model.
OTHER_TOOLS: Final = frozenset("AskUserQuestion Delete Edit Glob Grep LS MultiEdit Spawn".split())
JUDGES_OFFERS: Final = "offered"  # a step: such a case takes tools away itself


def missing_tools(case: Case, asked: Sequence[JsonObject]) -> list[str]:
    """Return the tools that the case's model calls and this engine does not have.

    `asked`: what the engine sent its model. Without any request nothing can be said.
    """
    if not asked or any(JUDGES_OFFERS in step for step in case.steps):
        return []
    return sorted(_called(case.model) & OTHER_TOOLS - set(dialects.offered(asked[0])))


def _called(replies: Iterable[Iterable[JsonObject]]) -> set[str]:
    items = (item for reply in replies for item in reply)
    return {str(item["call"].get("name")) for item in items if "call" in item}
