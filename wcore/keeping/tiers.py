"""Tiers and overrides from the store, as the ruling asks for them: a snapshot a turn, and now."""

from collections.abc import Mapping
from uuid import UUID

from wcore.policy.tiers import AgentPermissionSnapshot, Assigned, Tier, TierSource
from wcore.store import PermissionStatus, StatusSource, Store, ToolPermission, identity
from wcore.vocabulary import Category


class KeptTiers(TierSource):
    """A `TierSource` over the store. What was read last is what `now` says."""

    def __init__(self, store: Store, workspace: str, user_id: UUID) -> None:
        self._store = store
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
        if stored.assigned:
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
            await self.preload_for_agent(agent_id, "")

    def now(self, agent_id: str, user_id: str) -> AgentPermissionSnapshot:
        """Return what was read last; empty for an agent that was never read."""
        del user_id
        return self._known.get(agent_id, AgentPermissionSnapshot())

    async def assign(self, agent_id: str, tools: Mapping[str, Assigned]) -> None:
        """Replace all tools of an agent.

        Raises:
            StoreError: it could not be stored; nothing changed.
        """
        rows = [
            ToolPermission(
                name,
                PermissionStatus(each.effective.value),
                "mcp" if each.category is Category.MCP else "builtin",
                StatusSource.EXPLICIT if each.tier else StatusSource.DEFAULT,
            )
            for name, each in tools.items()
        ]
        await self._store.set_agent_tools(self._agent(agent_id), rows)
        await self.preload_for_agent(agent_id, "")
        self._assigned[agent_id] = dict(tools)

    async def override(self, agent_id: str, user_id: str, tool: str, *, approve: bool) -> None:
        """Set or lift the user's yes to every call of one tool.

        Raises:
            StoreError: it could not be stored; nothing changed.
        """
        del user_id
        await self._store.set_tool_override(
            self._user_id, self._agent(agent_id), tool, approve_always=approve
        )
        await self.preload_for_agent(agent_id, "")

    def assigned(self, agent_id: str) -> Mapping[str, Assigned] | None:
        """Return the tools of an agent as they were read last."""
        return self._assigned.get(agent_id)

    def _agent(self, name: str) -> UUID:
        return identity.agent_id(self._workspace, name)


def _assigned(row: ToolPermission) -> Assigned:
    if row.status_source is StatusSource.EXPLICIT:
        return Assigned(row.tool_name, Category.EXEC, Tier(row.status.value))
    allowed = row.status is PermissionStatus.ALWAYS_ALLOW  # a default, found again by category
    return Assigned(row.tool_name, Category.INFO if allowed else Category.EXEC)
