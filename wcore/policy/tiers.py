"""Tiers: what was decided beforehand for each tool of an agent, as one snapshot a turn."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, Generic, Protocol, TypeVar

from msgspec import Struct, field

from wcore.vocabulary import Category

T = TypeVar("T")


class Tier(StrEnum):
    """How a tool of an agent is treated."""

    ALWAYS_ALLOW = "always_allow"
    NEEDS_APPROVAL = "needs_approval"
    BLOCKED = "blocked"


Fits = Callable[[str, Category | None], bool]
MCP_PREFIX: Final = "mcp__"


def _changes_something(tool: str, category: Category | None) -> bool:
    del tool
    return category in (Category.EDIT, Category.EXEC)


def _named(*beginnings: str) -> Fits:
    return lambda tool, _category: _own_name(tool).startswith(beginnings)


def _own_name(tool: str) -> str:
    """Return the name without the server that has the tool."""
    if not tool.startswith(MCP_PREFIX):
        return tool
    return tool.removeprefix(MCP_PREFIX).partition("__")[2]


#: What a tool gets that is assigned without a status; the first row that fits.
DEFAULTS: Final[tuple[tuple[str, Fits, Tier], ...]] = (
    (
        "`create_*`, `update_*`, `delete_*`, also behind `mcp__SERVER__`",
        _named("create_", "update_", "delete_"),
        Tier.NEEDS_APPROVAL,
    ),
    (
        "`list_*`, `search_*`, `get_*`, `read_*`, also behind `mcp__SERVER__`",
        _named("list_", "search_", "get_", "read_"),
        Tier.ALWAYS_ALLOW,
    ),
    ("`mcp__*`", lambda tool, _: tool.startswith(MCP_PREFIX), Tier.NEEDS_APPROVAL),
    ("category edit or exec", _changes_something, Tier.NEEDS_APPROVAL),
    ("everything else", _named(""), Tier.ALWAYS_ALLOW),
)


def default_tier(tool: str, category: Category | None = None) -> Tier:
    """Return the status of a tool that was assigned without one; by its name alone if need be."""
    return next(tier for _, fits, tier in DEFAULTS if fits(tool, category))


class AgentPermissionSnapshot(Struct, frozen=True):
    """The tiers of one agent and the overrides of one user, as of the start of a turn.

    `overridden_at` has the time of each override, in the form of `Grant.created_at`.
    `defaulted` are the tools whose status nobody chose. When `is_assigned`, the three sets
    together are all built-in tools that the agent is offered. What has no row else is left to
    rules and mode. `unread`: there may be rows, but they cannot be read any more.
    """

    always_allow: frozenset[str] = frozenset()
    needs_approval: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()
    user_overrides: frozenset[str] = frozenset()
    defaulted: frozenset[str] = frozenset()
    is_assigned: bool = False
    overridden_at: Mapping[str, str] = field(default_factory=dict[str, str])
    unread: bool = False

    def tier_of(self, tool: str) -> Tier | None:
        """Return the status of `tool`, or `None` where it has no row."""
        if tool in self.blocked:
            return Tier.BLOCKED
        if tool in self.needs_approval:
            return Tier.NEEDS_APPROVAL
        return Tier.ALWAYS_ALLOW if tool in self.always_allow else None

    def offers(self, tool: str) -> bool:
        """Whether the model may be shown `tool`."""
        tier = self.tier_of(tool)
        left_to_rules = not self.is_assigned or tool.startswith(MCP_PREFIX)
        return tier is not Tier.BLOCKED and (tier is not None or left_to_rules)

    @property
    def has_rows(self) -> bool:
        """Whether anybody said something about the tools of this agent."""
        named = self.always_allow or self.needs_approval or self.blocked
        return self.is_assigned or bool(named)


NO_TIERS: Final = AgentPermissionSnapshot()


class GatedTool(Struct, Generic[T], frozen=True):
    """A tool that asks first, unless the user said beforehand that it need not."""

    name: str
    tool: T
    snapshot: AgentPermissionSnapshot

    async def needs_approval(self) -> bool:
        return self.name not in self.snapshot.user_overrides


def wrap_tool_with_permission(
    name: str, tool: T, snapshot: AgentPermissionSnapshot
) -> T | GatedTool[T] | None:
    """Apply the snapshot to one tool, whoever provides it; `None` must be left out."""
    match snapshot.tier_of(name):
        case Tier.BLOCKED:
            return None
        case Tier.NEEDS_APPROVAL:
            return GatedTool(name, tool, snapshot)
        case _:
            return tool


class Assigned(Struct, frozen=True):
    """One tool of an agent. `tier` is `None` when it was assigned without a status."""

    name: str
    category: Category
    tier: Tier | None = None

    @property
    def effective(self) -> Tier:
        return self.tier or default_tier(self.name, self.category)


class TierSource(Protocol):
    """Where tiers and overrides are kept: in memory, or in the store."""

    async def preload_for_agent(self, agent_id: str, user_id: str) -> AgentPermissionSnapshot:
        """Return the snapshot for a turn, by one query.

        Raises:
            WcoreError: it cannot be had; the turn fails and nothing is offered.
        """
        ...

    async def for_turn(self, agent_id: str, user_id: str) -> AgentPermissionSnapshot:
        """Return the snapshot, read only where that of the last look at the counter is no more.

        Raises:
            WcoreError: as `preload_for_agent`.
        """
        ...

    def now(self, agent_id: str, user_id: str) -> AgentPermissionSnapshot:
        """Return what is known at this moment, without waiting: read at each decision."""
        ...

    def held(self, agent_id: str, user_id: str) -> AgentPermissionSnapshot:
        """Return what the session holds: what it read first, and its own host's changes."""
        ...

    async def assign(
        self, agent_id: str, tools: Mapping[str, Assigned] | None, *, only: bool = True
    ) -> None:
        """Replace all rows of an agent; `None` takes them back.

        Where `only` is false, built-in tools without a row are offered as well.
        """
        ...

    async def override(self, agent_id: str, user_id: str, tool: str, *, approve: bool) -> None:
        """Set or lift the user's yes to every call of one tool of one agent."""
        ...

    def assigned(self, agent_id: str) -> Mapping[str, Assigned] | None:
        """Return the tools of an agent as assigned, or `None` for an agent without tiers."""
        ...


def snapshot_of(tools: Mapping[str, Assigned]) -> AgentPermissionSnapshot:
    """Return the snapshot, without overrides, of an agent's tools as assigned."""
    by_tier = {
        tier: frozenset(name for name, each in tools.items() if each.effective is tier)
        for tier in Tier
    }
    defaulted = frozenset(name for name, each in tools.items() if each.tier is None)
    return AgentPermissionSnapshot(
        by_tier[Tier.ALWAYS_ALLOW],
        by_tier[Tier.NEEDS_APPROVAL],
        by_tier[Tier.BLOCKED],
        defaulted=defaulted,
        is_assigned=True,
    )
