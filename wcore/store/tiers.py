"""Tiers of an agent's tools, and the overrides of a user. Called in the store's thread."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from wcore.store.database import Database, Lock, Row
from wcore.store.encoding import from_key, normal_time, now, storable_key
from wcore.store.errors import InsideCallError, StoreError
from wcore.store.values import (
    AgentPermissionSnapshot,
    PermissionStatus,
    StatusSource,
    ToolPermission,
    Versions,
)
from wcore.supervisor.ancestry import is_inside_call

TOOLS_MAX: Final = 4_096  # of one agent; more is a mistake of whoever sets them

_PRELOAD: Final = """
    SELECT 'set', '', '', '' FROM agent_tool_sets WHERE agent_id = :agent
    UNION ALL
    SELECT 'tool', tool_name, permission_status, status_source
    FROM agent_tool_permissions WHERE agent_id = :agent
    UNION ALL
    SELECT 'override', tool_name, CAST(created_at AS TEXT), ''
    FROM agent_tool_user_overrides WHERE agent_id = :agent AND user_id = :user
"""
_LIST: Final = """
    SELECT tool_name, permission_status, provider_key, status_source
    FROM agent_tool_permissions WHERE agent_id = :agent ORDER BY tool_name
"""
_INSERT: Final = """
    INSERT INTO agent_tool_permissions
        (agent_id, tool_name, provider_key, permission_status, status_source, created_at)
    VALUES (:agent, :tool, :provider, :status, :source, :now)
"""
_MARK_SET: Final = """
    INSERT INTO agent_tool_sets (agent_id, set_at) VALUES (:agent, :now)
    ON CONFLICT (agent_id) DO UPDATE SET set_at = excluded.set_at
"""
_ADD_OVERRIDE: Final = """
    INSERT INTO agent_tool_user_overrides (user_id, agent_id, tool_name, created_at)
    VALUES (:user, :agent, :tool, :now)
    ON CONFLICT (user_id, agent_id, tool_name) DO UPDATE SET created_at = excluded.created_at
"""
_DROP_OVERRIDE: Final = """
    DELETE FROM agent_tool_user_overrides
    WHERE user_id = :user AND agent_id = :agent AND tool_name = :tool
"""


def preload_for_agent(database: Database, agent_id: UUID, user_id: UUID) -> AgentPermissionSnapshot:
    """Return all that is stored about the agent's tools, in one query.

    Raises:
        StoreError: it cannot be read. The turn must fail: nothing may be offered.
    """
    rows = database.query(_PRELOAD, agent=str(agent_id), user=str(user_id))
    try:
        return _snapshot(rows)
    except ValueError as error:
        raise StoreError(
            database.name, f"holds an unreadable tier: {error}", "restore it from a backup"
        ) from error


def list_permissions(database: Database, agent_id: UUID) -> tuple[ToolPermission, ...]:
    """Return the tools of an agent, by name."""
    rows = database.query(_LIST, agent=str(agent_id))
    return tuple(
        ToolPermission(
            from_key(str(tool)), PermissionStatus(str(status)), str(provider), StatusSource(source)
        )
        for tool, status, provider, source in rows
    )


def set_agent_tools(
    database: Database,
    agent_id: UUID,
    tools: Iterable[ToolPermission] | None,
    *,
    only: bool = True,
) -> None:
    """Replace the whole set of an agent. Of a tool named twice the last one counts.

    `None` takes all rows back. `only` is kept: whether the set is all that the agent is offered.

    Raises:
        StoreError: too many tools, or the store cannot be written; the old set stays.
    """
    chosen = {tool.tool_name: tool for tool in tools or ()}
    if len(chosen) > TOOLS_MAX:
        raise StoreError(
            database.name, f"keeps at most {TOOLS_MAX} tools for an agent", "give it fewer tools"
        )
    agent, moment = str(agent_id), now()
    with database.writing(Lock.TIERS):
        if only and tools is not None:
            database.change(_MARK_SET, agent=agent, now=moment)
        else:
            database.change("DELETE FROM agent_tool_sets WHERE agent_id = :agent", agent=agent)
        database.change("DELETE FROM agent_tool_permissions WHERE agent_id = :agent", agent=agent)
        for tool in chosen.values():
            database.change(
                _INSERT,
                agent=agent,
                tool=storable_key(tool.tool_name),
                provider=tool.provider_key,
                status=tool.status.value,
                source=tool.status_source.value,
                now=moment,
            )
        count_change(database, "tiers")


def set_tool_override(
    database: Database, user_id: UUID, agent_id: UUID, tool: str, *, approve_always: bool
) -> None:
    """Give or take back a user's standing yes to one tool of one agent."""
    pair = {"user": str(user_id), "agent": str(agent_id), "tool": storable_key(tool)}
    with database.writing(Lock.TIERS):
        if approve_always:
            database.change(_ADD_OVERRIDE, **pair, now=now())
        else:
            database.change(_DROP_OVERRIDE, **pair)
        count_change(database, "tiers")


def versions(database: Database) -> Versions:
    """Return the counters by which an engine sees what another one changed."""
    rows = database.query("SELECT name, version FROM store_versions")
    counters = {str(name): int(version or 0) for name, version in rows}
    try:
        return Versions(counters["grants"], counters["tiers"])
    except KeyError as error:
        raise StoreError(
            database.name, f"has lost its counter {error}", "restore it from a backup"
        ) from error


def count_change(database: Database, name: str) -> None:
    """Move a counter on; in the transaction of the change, so that both are seen at once.

    Every change of grants, tiers and overrides ends here, and so none is made inside a call.

    Raises:
        InsideCallError: a tool call has started this process: the transaction does not count.
    """
    if is_inside_call():
        raise InsideCallError
    database.change("UPDATE store_versions SET version = version + 1 WHERE name = :name", name=name)


def _snapshot(rows: list[Row]) -> AgentPermissionSnapshot:
    tiers: dict[PermissionStatus, set[str]] = {status: set() for status in PermissionStatus}
    overrides: dict[str, str] = {}
    defaulted: set[str] = set()
    assigned = False
    for what, stored, status, source in rows:
        tool = from_key(str(stored))
        if what == "set":
            assigned = True
        elif what == "override":
            overrides[tool] = normal_time(str(status))
        else:
            tiers[PermissionStatus(status)].add(tool)
            if StatusSource(source) is StatusSource.DEFAULT:
                defaulted.add(tool)
    return AgentPermissionSnapshot(
        always_allow=frozenset(tiers[PermissionStatus.ALWAYS_ALLOW]),
        needs_approval=frozenset(tiers[PermissionStatus.NEEDS_APPROVAL]),
        blocked=frozenset(tiers[PermissionStatus.BLOCKED]),
        user_overrides=frozenset(overrides),
        defaulted=frozenset(defaulted),
        is_assigned=assigned,
        overridden_at=overrides,
    )
