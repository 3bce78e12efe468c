"""Tiers: the defaults in their order, the snapshot, and what is done to each tool."""

import pytest
from tables import rows

from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts
from wcore.policy.grants import GrantBook
from wcore.policy.tiers import (
    AgentPermissionSnapshot,
    Assigned,
    GatedTool,
    Tier,
    default_tier,
    snapshot_of,
    wrap_tool_with_permission,
)
from wcore.vocabulary import Category, Mode, Row, Verdict

SNAPSHOT = AgentPermissionSnapshot(
    frozenset({"a"}), frozenset({"n", "o"}), frozenset({"b"}), frozenset({"o"}), is_assigned=True
)


@rows(
    ("tool", "category", "expected"),
    [
        ("mcp__list_x", Category.MCP, Tier.NEEDS_APPROVAL),
        ("mcp__a__list_x", Category.MCP, Tier.ALWAYS_ALLOW),
        ("mcp__a__get_b__x", Category.MCP, Tier.ALWAYS_ALLOW),
        ("mcp__list_a__x", Category.MCP, Tier.NEEDS_APPROVAL),
        ("mcp__a__create_x", Category.MCP, Tier.NEEDS_APPROVAL),
        ("mcp__a__x", Category.MCP, Tier.NEEDS_APPROVAL),
        ("list_tasks", None, Tier.ALWAYS_ALLOW),
        ("delete_task", None, Tier.NEEDS_APPROVAL),
        ("anything", None, Tier.ALWAYS_ALLOW),
        ("create_task", Category.INFO, Tier.NEEDS_APPROVAL),
        ("update_task", Category.INFO, Tier.NEEDS_APPROVAL),
        ("delete_task", Category.INFO, Tier.NEEDS_APPROVAL),
        ("Write", Category.EDIT, Tier.NEEDS_APPROVAL),
        ("list_and_run", Category.EXEC, Tier.ALWAYS_ALLOW),
        ("run_list_", Category.EXEC, Tier.NEEDS_APPROVAL),
        ("list_tasks", Category.INFO, Tier.ALWAYS_ALLOW),
        ("search_tasks", Category.INFO, Tier.ALWAYS_ALLOW),
        ("Read", Category.INFO, Tier.ALWAYS_ALLOW),
        ("recreate_task", Category.INFO, Tier.ALWAYS_ALLOW),
    ],
)
def test_a_tool_without_a_status_gets_the_first_default_that_fits(
    tool: str, category: Category | None, expected: Tier
) -> None:
    assert default_tier(tool, category) is expected


async def test_wrapping_blocks_gates_or_leaves_a_tool_as_it_is() -> None:
    tool = object()
    assert wrap_tool_with_permission("b", tool, SNAPSHOT) is None
    assert wrap_tool_with_permission("a", tool, SNAPSHOT) is tool
    assert wrap_tool_with_permission("unlisted", tool, SNAPSHOT) is tool
    for name, asks in (("n", True), ("o", False)):
        wrapped = wrap_tool_with_permission(name, tool, SNAPSHOT)
        assert isinstance(wrapped, GatedTool)
        assert await wrapped.needs_approval() is asks


def test_a_snapshot_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        SNAPSHOT.blocked = frozenset()  # type: ignore[misc] # pyright: ignore


def test_an_agent_with_tools_is_offered_these_and_no_others() -> None:
    assert [SNAPSHOT.offers(tool) for tool in ("a", "n", "b", "unlisted")] == [
        *(True, True, False, False)
    ]
    assert AgentPermissionSnapshot().offers("anything")
    assert not snapshot_of({}).offers("anything")


def test_a_tool_of_a_server_gains_nothing_by_its_name() -> None:
    """A default counts only where somebody assigned the tool without a status."""
    facts = Facts("mcp__a__list_x", Category.MCP)
    offered = frozenset({"mcp__a__list_x"})
    for tools in (None, {}, {"Read": Assigned("Read", Category.INFO)}):
        tiers = AgentPermissionSnapshot() if tools is None else snapshot_of(tools)
        context = DecisionContext(Mode.AUTO_EDIT, GrantBook(), offered, tiers=tiers)
        assert tiers.offers(facts.tool)
        assert decide(facts, context).verdict is Verdict.ASK
    assigned = snapshot_of({facts.tool: Assigned(facts.tool, Category.MCP)})
    context = DecisionContext(Mode.AUTO_EDIT, GrantBook(), offered, tiers=assigned)
    assert decide(facts, context).why.row is Row.TIER
