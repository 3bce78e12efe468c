"""Tiers and overrides from the store, as the ruling asks for them: a snapshot a turn, and now."""

from collections.abc import Coroutine, Mapping
from typing import Final
from uuid import UUID

from wcore.keeping.journaling import Journal
from wcore.keeping.records import listed
from wcore.policy.tiers import AgentPermissionSnapshot, Assigned, Tier, TierSource
from wcore.store import (
    PermissionStatus,
    StatusSource,
    Store,
    StoreError,
    ToolPermission,
    identity,
)
from wcore.vocabulary import Category, Json

BUILT_IN: Final = "operations"  # the provider of tools that are ours
MCP: Final = "mcp"  # and of those of servers
SETS: Final = ("always_allow", "needs_approval", "blocked", "user_overrides", "defaulted")


class KeptTiers(TierSource):
    """A `TierSource` over the store. What was read last is what `now` says."""

    def __init__(self, store: Store, workspace: str, user_id: UUID, journal: Journal) -> None:
        self._store = store
        self._journal = journal
        self._workspace = workspace
        self._user_id = user_id
        self._known: dict[str, AgentPermissionSnapshot] = {}
        self._assigned: dict[str, Mapping[str, Assigned]] = {}

    async def preload_for_agent(self, agent_id: str, user_id: str) -> AgentPermissionSnapshot:
        """Read the tiers of an agent by name.

        Raises:
            StoreError: they cannot be read: the turn fails, nothing is offered.
        """
        del user_id  # one engine serves one user
        return await self._load(agent_id, f"tiers {agent_id}")

    async def _load(self, agent_id: str, what: str) -> AgentPermissionSnapshot:
        try:
            snapshot = await self._read(agent_id)
        except StoreError as error:
            await self._journal.reached(what, problem=str(error))
            raise
        await self._journal.reached(what, **as_facts(snapshot, self._assigned.get(agent_id)))
        return snapshot

    async def _read(self, agent_id: str) -> AgentPermissionSnapshot:
        agent = self._agent(agent_id)
        stored = await self._store.preload_for_agent(agent, self._user_id)
        snapshot = AgentPermissionSnapshot(
            stored.always_allow,
            stored.needs_approval,
            stored.blocked,
            stored.user_overrides,
            stored.defaulted,
            is_assigned=stored.assigned,
        )
        if snapshot.has_rows:
            rows = await self._store.list_permissions(agent)
            self._assigned[agent_id] = {row.tool_name: _assigned(row) for row in rows}
        else:
            self._assigned.pop(agent_id, None)
        self._known[agent_id] = snapshot
        return snapshot

    async def reload(self) -> None:
        """Read again what has been read before: another engine changed something.

        Raises:
            StoreError: it cannot be read; what was known stays.
        """
        for agent_id in list(self._known):
            await self._load(agent_id, f"reloaded {agent_id}")

    def now(self, agent_id: str, user_id: str) -> AgentPermissionSnapshot:
        """Return what was read last; empty for an agent that was never read."""
        del user_id
        return self._known.get(agent_id, AgentPermissionSnapshot())

    async def assign(
        self, agent_id: str, tools: Mapping[str, Assigned] | None, *, only: bool = True
    ) -> None:
        """Replace all rows of an agent; `None` takes them back.

        Raises:
            StoreError: it could not be stored; nothing changed.
        """
        await self._change(f"assigned {agent_id}", self._assign(agent_id, tools, only=only))
        await self.preload_for_agent(agent_id, "")
        if tools:
            self._assigned[agent_id] = dict(tools)

    async def _assign(
        self, agent_id: str, tools: Mapping[str, Assigned] | None, *, only: bool
    ) -> None:
        rows = (
            None
            if tools is None
            else [
                ToolPermission(
                    name,
                    PermissionStatus(each.effective.value),
                    MCP if each.category is Category.MCP else BUILT_IN,
                    StatusSource.EXPLICIT if each.tier else StatusSource.DEFAULT,
                )
                for name, each in tools.items()
            ]
        )
        await self._store.set_agent_tools(self._agent(agent_id), rows, only=only)

    async def override(self, agent_id: str, user_id: str, tool: str, *, approve: bool) -> None:
        """Set or lift the user's yes to every call of one tool.

        Raises:
            StoreError: it could not be stored; nothing changed.
        """
        del user_id
        change = self._store.set_tool_override(
            self._user_id, self._agent(agent_id), tool, approve_always=approve
        )
        await self._change(f"overridden {agent_id}", change)
        await self.preload_for_agent(agent_id, "")

    def assigned(self, agent_id: str) -> Mapping[str, Assigned] | None:
        """Return the tools of an agent as they were read last."""
        return self._assigned.get(agent_id)

    async def _change(self, what: str, change: Coroutine[object, object, None]) -> None:
        try:
            await change
        except StoreError as error:
            await self._journal.reached(what, problem=str(error))
            raise
        await self._journal.reached(what)

    def _agent(self, name: str) -> UUID:
        return identity.agent_id(self._workspace, name)


def as_facts(
    snapshot: AgentPermissionSnapshot, assigned: Mapping[str, Assigned] | None
) -> dict[str, Json]:
    """Return tiers as the journal keeps them."""
    sets = {name: sorted(getattr(snapshot, name)) for name in SETS}
    rows: list[Json] = [
        [each.name, each.category.value, each.tier and each.tier.value]
        for each in (assigned or {}).values()
    ]
    return {**sets, "tools": rows if snapshot.has_rows else None, "only": snapshot.is_assigned}


def from_facts(
    facts: Mapping[str, Json],
) -> tuple[AgentPermissionSnapshot, dict[str, Assigned] | None]:
    """Return what `as_facts` was made of."""
    sets = {name: frozenset(map(str, listed(facts.get(name)))) for name in SETS}
    rows = facts.get("tools")
    only = facts.get("only", rows is not None)  # left out by earlier versions
    snapshot = AgentPermissionSnapshot(**sets, is_assigned=only is True)
    if rows is None:
        return snapshot, None
    tools: dict[str, Assigned] = {}
    for each in listed(rows):
        name, category, tier = listed(each)
        known = Tier(str(tier)) if tier is not None else None
        tools[str(name)] = Assigned(str(name), Category(str(category)), known)
    return snapshot, tools


def _assigned(row: ToolPermission) -> Assigned:
    if row.status_source is StatusSource.EXPLICIT:
        return Assigned(row.tool_name, Category.EXEC, Tier(row.status.value))
    allowed = row.status is PermissionStatus.ALWAYS_ALLOW  # a default, found again by category
    return Assigned(row.tool_name, Category.INFO if allowed else Category.EXEC)
