"""Tiers and overrides from the store, as a session's policy needs them: a snapshot a turn, and now.

And as the session holds them: what it read first, with what its own host has changed since.
Without a store what was read holds on, the host changes it in memory, and of an agent that was
never read nothing is known.
"""

from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Final
from uuid import UUID

from msgspec.structs import asdict, replace

from wcore import times
from wcore.policy.tiers import (
    AgentPermissionSnapshot,
    Assigned,
    Tier,
    TierSource,
    snapshot_of,
)
from wcore.store import (
    PermissionStatus,
    StatusSource,
    Store,
    StoreLostError,
    ToolPermission,
    identity,
)
from wcore.vocabulary import Category

BUILT_IN: Final = "operations"  # the provider of tools that are ours
MCP: Final = "mcp"  # and of those of servers


class StoredTiers(TierSource):
    """A `TierSource` over the store. What was read last is what `now` says.

    When the store was lost and the tiers of an agent were never read, they are `unread`, until
    the host, who was told, says which mode holds.
    """

    def __init__(self, store: Store, workspace: str, user_id: UUID) -> None:
        self._store = store
        self._workspace = workspace
        self._user_id = user_id
        self._known: dict[str, AgentPermissionSnapshot] = {}
        self._assigned: dict[str, Mapping[str, Assigned]] = {}
        self._held: dict[str, AgentPermissionSnapshot] = {}
        self.current = set[str]()  # agents of whom nothing has changed since it was read
        self._read_once = set[str]()  # agents whose tiers are known, if only those of the host
        self._version: int | None = None  # of all tiers, when it was read last
        self._own_changes = 0  # since then
        self._mode_is_meant = False  # the host has set it, knowing that the store is lost
        self._foreign_changes = False  # whether anybody else has changed something since the start

    async def preload_for_agent(self, agent_id: str, user_id: str) -> AgentPermissionSnapshot:
        """Read the tiers of an agent by name.

        Raises:
            StoreError: they cannot be read: the turn fails, nothing is offered.
        """
        del user_id  # one engine serves one user
        return await self._load(agent_id)

    async def for_turn(self, agent_id: str, user_id: str) -> AgentPermissionSnapshot:
        """Return the tiers of an agent, of which the counter has just been looked at.

        Raises:
            StoreError: as `preload_for_agent`, if it could not, or if they were never read.
        """
        is_current = agent_id in self.current
        return self.now(agent_id, user_id) if is_current else await self._load(agent_id)

    async def _load(self, agent_id: str) -> AgentPermissionSnapshot:
        try:
            snapshot = await self._read(agent_id)
            if agent_id not in self._held and self._version is not None:
                self.changed((await self._store.versions()).tiers)  # by others, until just now
        except StoreLostError:
            return self.now(agent_id, "")
        self._hold(agent_id, snapshot)
        return snapshot

    def _hold(self, agent_id: str, snapshot: AgentPermissionSnapshot) -> None:
        """Hold what is read for the first time; what was taken back is held no longer."""
        held = self._held.get(agent_id)
        if held is None:
            held = _asking(snapshot) if self._foreign_changes else snapshot
        overrides = held.user_overrides & snapshot.user_overrides
        held = replace(held, user_overrides=overrides, overridden_at=snapshot.overridden_at)
        self._held[agent_id] = snapshot if held == snapshot else held

    async def _read(self, agent_id: str) -> AgentPermissionSnapshot:
        agent = self._agent(agent_id)
        stored = await self._store.preload_for_agent(agent, self._user_id)
        snapshot = AgentPermissionSnapshot(**asdict(stored))
        if snapshot.has_rows:
            rows = await self._store.list_permissions(agent)
            self._assigned[agent_id] = {row.tool_name: _assigned(row) for row in rows}
        else:
            self._assigned.pop(agent_id, None)
        self._known[agent_id] = snapshot
        self._read_once.add(agent_id)
        self.current.add(agent_id)
        return snapshot

    async def reload(self) -> None:
        """Read again what has been read before: another engine changed something.

        Raises:
            StoreError: it cannot be read; what was known stays.
        """
        for agent_id in list(self._known):
            await self._load(agent_id)

    def now(self, agent_id: str, user_id: str) -> AgentPermissionSnapshot:
        """Return what was read last; empty for an agent that was never read."""
        del user_id
        return self._or_unread(agent_id, self._known.get(agent_id))

    def held(self, agent_id: str, user_id: str) -> AgentPermissionSnapshot:
        """Return what the session holds; empty for an agent that was never read."""
        del user_id
        return self._or_unread(agent_id, self._held.get(agent_id))

    def has_override(self, agent_id: str, tool: str) -> bool:
        """Whether a person said that an agent may always use a tool; as the session holds it."""
        held = self._held.get(agent_id)
        return held is not None and tool in held.user_overrides

    def _or_unread(
        self, agent_id: str, known: AgentPermissionSnapshot | None
    ) -> AgentPermissionSnapshot:
        known = known or AgentPermissionSnapshot()
        if self._store.problem is None or self._mode_is_meant or agent_id in self._read_once:
            return known
        return replace(known, unread=True)

    def mean_mode(self) -> None:
        """Know that the host has set the mode; it counts if the host knew of the loss."""
        self._mode_is_meant = self._store.problem is not None

    def known(self) -> Mapping[str, tuple[AgentPermissionSnapshot, AgentPermissionSnapshot]]:
        """Return what was read of each agent: as it is held, and as it is at present."""
        return {agent: (self.held(agent, ""), now) for agent, now in self._known.items()}

    async def look(self) -> None:
        """Read all that has been read before again, for somebody who asks what has changed.

        Raises:
            StoreError: it cannot be read.
        """
        with suppress(StoreLostError):
            for agent_id in list(self._known):
                self._hold(agent_id, await self._read(agent_id))

    def accept(self) -> None:
        """Hold what was read last: the session's own host has agreed."""
        self._held = dict(self._known)
        self._version, self._foreign_changes = None, False

    def changed(self, version: int) -> None:
        """Know the counter of changes: what this session's host has not done others have."""
        if self._version is not None and version != self._version + self._own_changes:
            self._foreign_changes = True
        self._version, self._own_changes = version, 0

    async def assign(
        self, agent_id: str, tools: Mapping[str, Assigned] | None, *, only: bool = True
    ) -> None:
        """Replace all rows of an agent; `None` takes them back.

        Raises:
            StoreError: it could not be stored; nothing changed.
        """
        await self._change(self._assign(agent_id, tools, only=only))
        overrides = self.held(agent_id, "").user_overrides
        held = AgentPermissionSnapshot() if tools is None else snapshot_of(tools)
        is_assigned = held.is_assigned and only
        self._held[agent_id] = replace(held, user_overrides=overrides, is_assigned=is_assigned)
        if not self._store.is_kept:
            own = replace(held, is_assigned=is_assigned)
            overrides = self.now(agent_id, "").user_overrides
            self._known[agent_id] = replace(own, user_overrides=overrides)
            self._assigned.pop(agent_id, None)
            self._read_once.add(agent_id)
        await self.preload_for_agent(agent_id, "")
        if tools:
            self._assigned[agent_id] = dict(tools)

    async def _assign(
        self, agent_id: str, tools: Mapping[str, Assigned] | None, *, only: bool
    ) -> None:
        rows = None if tools is None else [_row(name, each) for name, each in tools.items()]
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
        await self._change(change)
        chosen = frozenset([tool]) if approve else frozenset[str]()
        held = self.held(agent_id, "")
        overrides = held.user_overrides - {tool} | chosen
        self._held[agent_id] = replace(held, user_overrides=overrides, unread=False)
        if not self._store.is_kept:
            now = self._known.get(agent_id, AgentPermissionSnapshot())
            overrides = now.user_overrides - {tool} | chosen
            at = {**now.overridden_at, tool: times.now()}
            self._known[agent_id] = replace(now, user_overrides=overrides, overridden_at=at)
            self._held[agent_id] = replace(self._held[agent_id], overridden_at=at)
        await self.preload_for_agent(agent_id, "")

    def assigned(self, agent_id: str) -> Mapping[str, Assigned] | None:
        """Return the tools of an agent as they were read last."""
        return self._assigned.get(agent_id)

    async def _change(self, change: Coroutine[object, object, None]) -> None:
        try:
            await change
        except StoreLostError:
            return  # in memory it can be done
        self._own_changes += 1

    def _agent(self, name: str) -> UUID:
        return identity.agent_id(self._workspace, name)


def _asking(snapshot: AgentPermissionSnapshot) -> AgentPermissionSnapshot:
    """Return tiers that may have been set by somebody else while the session ran: none allows."""
    return replace(
        snapshot,
        always_allow=frozenset(),
        needs_approval=snapshot.needs_approval | snapshot.always_allow,
        user_overrides=frozenset(),
    )


def _row(name: str, tool: Assigned) -> ToolPermission:
    provider = MCP if tool.category is Category.MCP else BUILT_IN
    source = StatusSource.EXPLICIT if tool.tier else StatusSource.DEFAULT
    return ToolPermission(name, PermissionStatus(tool.effective.value), provider, source)


def _assigned(row: ToolPermission) -> Assigned:
    if row.status_source is StatusSource.EXPLICIT:
        return Assigned(row.tool_name, Category.EXEC, Tier(row.status.value))
    allowed = row.status is PermissionStatus.ALWAYS_ALLOW  # a default, found again by category
    return Assigned(row.tool_name, Category.INFO if allowed else Category.EXEC)
