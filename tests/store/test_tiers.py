from collections.abc import Callable

import pytest
from store.samples import AGENT, OTHER_AGENT, OTHER_USER, USER

from wcore.store import tiers
from wcore.store.database import Database
from wcore.store.encoding import now
from wcore.store.errors import StoreError
from wcore.store.values import (
    AgentPermissionSnapshot,
    PermissionStatus,
    StatusSource,
    ToolPermission,
)

ALLOW, ASK, BLOCKED = PermissionStatus


def test_an_agent_without_a_set_has_an_empty_snapshot_and_is_not_assigned(
    database: Database,
) -> None:
    assert tiers.preload_for_agent(database, AGENT, USER) == AgentPermissionSnapshot()


def test_the_snapshot_holds_each_tier_and_the_overrides_of_this_user_only(
    database: Database,
) -> None:
    tools = [
        ToolPermission("Read", ALLOW),
        ToolPermission("Bash", ASK, status_source=StatusSource.DEFAULT),
        ToolPermission("mcp__x__y", BLOCKED, "mcp"),
    ]
    tiers.set_agent_tools(database, AGENT, tools)
    tiers.set_agent_tools(database, OTHER_AGENT, [ToolPermission("Write", ALLOW)])
    before = now()
    tiers.set_tool_override(database, USER, AGENT, "Bash", approve_always=True)
    tiers.set_tool_override(database, OTHER_USER, AGENT, "mcp__x__y", approve_always=True)
    found = tiers.preload_for_agent(database, AGENT, USER)
    assert list(found.overridden_at) == ["Bash"]
    assert before <= found.overridden_at["Bash"] <= now()
    assert found == AgentPermissionSnapshot(
        always_allow=frozenset({"Read"}),
        needs_approval=frozenset({"Bash"}),
        blocked=frozenset({"mcp__x__y"}),
        user_overrides=frozenset({"Bash"}),
        defaulted=frozenset({"Bash"}),
        is_assigned=True,
        overridden_at=found.overridden_at,
    )


class Counting:
    """A database that counts the questions it is asked."""

    def __init__(self, database: Database) -> None:
        self.queries = 0
        self._database = database

    def __getattr__(self, name: str) -> object:
        self.queries += name == "query"
        return getattr(self._database, name)


def test_the_snapshot_costs_one_query(database: Database) -> None:
    tiers.set_agent_tools(database, AGENT, [ToolPermission(f"t{n}", ASK) for n in range(50)])
    counting = Counting(database)
    snapshot = tiers.preload_for_agent(counting, AGENT, USER)  # pyright: ignore[reportArgumentType]
    assert len(snapshot.needs_approval) == 50
    assert counting.queries == 1


def test_a_new_set_replaces_the_old_one_and_an_empty_one_is_still_a_set(
    database: Database,
) -> None:
    tiers.set_agent_tools(database, AGENT, [ToolPermission("Read", ALLOW)])
    tiers.set_agent_tools(database, AGENT, [ToolPermission("Bash", BLOCKED)])
    assert tiers.list_permissions(database, AGENT) == (ToolPermission("Bash", BLOCKED),)
    tiers.set_agent_tools(database, AGENT, [])
    empty = AgentPermissionSnapshot(is_assigned=True)
    assert tiers.preload_for_agent(database, AGENT, USER) == empty


def test_a_tool_named_twice_counts_as_it_was_named_last(database: Database) -> None:
    twice = [ToolPermission("Bash", ALLOW), ToolPermission("Bash", BLOCKED)]
    tiers.set_agent_tools(database, AGENT, twice)
    assert tiers.list_permissions(database, AGENT) == (ToolPermission("Bash", BLOCKED),)


def test_an_override_can_be_given_twice_and_taken_back_twice(database: Database) -> None:
    times: list[str] = []
    for wanted in (True, True, False, False):
        tiers.set_tool_override(database, USER, AGENT, "Bash", approve_always=wanted)
        snapshot = tiers.preload_for_agent(database, AGENT, USER)
        assert snapshot.user_overrides == (frozenset({"Bash"}) if wanted else frozenset())
        times += [at for at in snapshot.overridden_at.values() if wanted]
    assert len(times) == len(set(times)), "a yes that is given again is a new one"


def test_a_set_that_is_too_large_is_refused_and_the_old_one_stays(database: Database) -> None:
    tiers.set_agent_tools(database, AGENT, [ToolPermission("Bash", BLOCKED)])
    many = [ToolPermission(f"t{n}", ALLOW) for n in range(tiers.TOOLS_MAX + 1)]
    with pytest.raises(StoreError, match="at most 4096 tools"):
        tiers.set_agent_tools(database, AGENT, many)
    assert tiers.preload_for_agent(database, AGENT, USER).blocked == {"Bash"}


def test_unreadable_tiers_are_an_error_and_never_an_empty_snapshot(database: Database) -> None:
    with database.writing():
        database.change("ALTER TABLE agent_tool_permissions RENAME TO gone")
    with pytest.raises(StoreError, match="cannot be used"):
        tiers.preload_for_agent(database, AGENT, USER)


def test_another_engine_sees_by_the_counter_that_tiers_changed(
    opened: Callable[[], Database],
) -> None:
    one, other = opened(), opened()
    before = tiers.versions(other)
    tiers.set_agent_tools(one, AGENT, [ToolPermission("Bash", BLOCKED)])
    between = tiers.versions(other)
    tiers.set_tool_override(one, USER, AGENT, "Bash", approve_always=True)
    after = tiers.versions(other)
    assert (between.tiers, after.tiers) == (before.tiers + 1, before.tiers + 2)
    assert after.grants == before.grants


def test_a_tool_of_any_name_keeps_its_name(database: Database) -> None:
    names = {"a\0b", "\ud800", "!x", "ü" * 200, "'; DROP TABLE grants; --", "%s", ":agent"}
    tiers.set_agent_tools(database, AGENT, [ToolPermission(name, BLOCKED) for name in names])
    assert tiers.preload_for_agent(database, AGENT, USER).blocked == names


def test_rows_without_a_mark_are_no_set_and_nothing_takes_all_back(database: Database) -> None:
    tiers.set_agent_tools(database, AGENT, [ToolPermission("Bash", BLOCKED)], only=False)
    kept = tiers.preload_for_agent(database, AGENT, USER)
    assert (kept.blocked, kept.is_assigned) == (frozenset({"Bash"}), False)
    tiers.set_agent_tools(database, AGENT, [ToolPermission("Bash", BLOCKED)])
    assert tiers.preload_for_agent(database, AGENT, USER).is_assigned
    tiers.set_agent_tools(database, AGENT, None)
    assert tiers.preload_for_agent(database, AGENT, USER) == AgentPermissionSnapshot()
