"""What rules in one session: the policies in force, the tiers of the turn, the limits of both."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from anyio import to_thread
from msgspec import Struct
from msgspec.structs import replace

from wcore.agents import AgentDefinition
from wcore.errors import Code, ConfigError
from wcore.policy.decide import DecisionContext
from wcore.policy.grants import MAIN_AGENT, GrantBook
from wcore.policy.rules.policy_file import PolicyError
from wcore.policy.tiers import NO_TIERS, AgentPermissionSnapshot, Tier, TierSource
from wcore.policy_files.policy_files import PolicyFiles
from wcore.policy_files.snapshot import PolicySnapshot, Rules
from wcore.vocabulary import Mode

T = TypeVar("T")


class BrokenRulesError(ConfigError):
    """A policy file became unreadable while the engine ran."""

    code = Code.CONFIG


class SessionPolicy(Struct):
    """Rules and tiers, as of the start of the turn; overrides are read at each decision.

    Both come twice, as the session holds them and as they are at present: see `Rules`.
    """

    files: PolicyFiles
    rules: Rules
    tiers: TierSource
    snapshot: AgentPermissionSnapshot = NO_TIERS
    held_snapshot: AgentPermissionSnapshot = NO_TIERS
    user_id: str = ""
    agent: str = MAIN_AGENT
    definition: AgentDefinition | None = None  # of a sub-agent
    held_definition: AgentDefinition | None = None

    async def refresh(self) -> tuple[str, ...]:
        """Read policies anew, for a turn; return what people should be told.

        Raises:
            WcoreError: they cannot be had; the turn must fail and nothing may be offered.
        """
        loaded, agents = await to_thread.run_sync(_read, self.files.load_all)
        self.rules.read(loaded.snapshot)
        return (*loaded.notices, *agents.problems)

    async def reread(self) -> None:
        """Read policies again during a turn: what others have made stricter counts at once.

        Raises:
            BrokenRulesError: they cannot be had; the turn must fail.
        """
        self.take(await to_thread.run_sync(self.look))

    def look(self) -> PolicySnapshot:
        """Return what the policies say now, for `take`; for a thread that has more to do. Blocks.

        Raises:
            BrokenRulesError: as `reread`.
        """
        return _read(self.files.look)

    def take(self, found: PolicySnapshot) -> None:
        """Let what was found count."""
        if not found.says_what(self.rules.present):
            self.rules.read(found)

    def known(self) -> Mapping[str, AgentDefinition]:
        """Return the agents that have a definition, as of this turn."""
        return self.rules.agents()

    async def preload(self) -> None:
        """Take the tiers of the agent; where nobody set any, those of its definition count.

        Raises:
            WcoreError: they cannot be had.
        """
        stored = await self.tiers.for_turn(self.agent, self.user_id)
        held = self.tiers.held(self.agent, self.user_id)
        self.snapshot = _defined(stored, self.definition)
        self.held_snapshot = _defined(held, self.held_definition)

    def for_subagent(self, agent: str, definition: AgentDefinition) -> "SessionPolicy":
        """Return what rules a sub-agent, before its tiers are read."""
        present, held = definition, definition
        now = (self.rules.present.agents or {}).get(definition.name)
        if now is not None and self.rules.held is not self.rules.present:
            present, held = now, self.rules.held_agent(now)
        return replace(
            self,
            agent=agent,
            definition=present,
            held_definition=held,
            snapshot=NO_TIERS,
            held_snapshot=NO_TIERS,
        )

    @property
    def current_tiers(self) -> tuple[AgentPermissionSnapshot, ...]:
        """The turn's tiers with today's overrides, and without tools blocked since.

        First as they are at present, then, where that is different, as the session holds them.
        """
        now = self.tiers.now(self.agent, self.user_id)
        held = self.tiers.held(self.agent, self.user_id)
        present = self._live(self.snapshot, now)
        if held == now and self.held_snapshot == self.snapshot:
            return (present,)
        return (present, self._live(self.held_snapshot, held))

    def _live(
        self, then: AgentPermissionSnapshot, now: AgentPermissionSnapshot
    ) -> AgentPermissionSnapshot:
        named = then.always_allow | then.needs_approval | now.always_allow | now.needs_approval
        gone = frozenset(tool for tool in named if not now.offers(tool))
        overrides = now.user_overrides if self.may_grant else frozenset[str]()
        return replace(
            then,
            blocked=then.blocked | now.blocked | gone,
            user_overrides=overrides,
            overridden_at=now.overridden_at,
            unread=now.unread,
        )

    @property
    def may_grant(self) -> bool:
        """Whether the policy lets a yes last at all."""
        return self.rules.limits.grants != 0

    def refuses_grants(self, book: GrantBook, count: int = 1) -> str | None:
        """Return why `count` further grants cannot be kept, or `None`."""
        most = self.rules.limits.grants
        if most is None or len(book) + count <= most:
            return None
        return f"the policy lets {most} grants be kept" if most else "the policy forbids grants"

    def offered(self, tools: Iterable[str]) -> list[str]:
        """Return which of `tools` the model may be shown now."""
        now = self.tiers.now(self.agent, self.user_id)
        held = self.tiers.held(self.agent, self.user_id)
        said = [e for e in (self.snapshot, now, self.held_snapshot, held) if e.has_rows]
        return [tool for tool in tools if all(each.offers(tool) for each in said)]

    def decision_contexts(
        self, mode: Mode, grants: GrantBook, offered: frozenset[str]
    ) -> tuple[DecisionContext, ...]:
        """Return what is in force for a decision now: one standing, or the present and the held.

        Where there are two, the stricter decision counts.
        """
        kept = grants if self.may_grant else GrantBook()
        policies, tiers = [each.policies for each in self.rules.both], self.current_tiers
        return tuple(
            DecisionContext(mode, kept, offered, policies[-which], tiers[-which], self.agent)
            for which in range(max(len(policies), len(tiers)))
        )

    def ancestor_contexts(self, mode: Mode, offered: frozenset[str]) -> tuple[DecisionContext, ...]:
        """Return what binds those who work for this agent: its grants and overrides do not."""
        return tuple(
            replace(each, tiers=replace(each.tiers, user_overrides=frozenset()))
            for each in self.decision_contexts(mode, GrantBook(), offered)
        )


def _read(read: Callable[[], T]) -> T:
    try:
        return read()
    except PolicyError as error:
        raise BrokenRulesError(f"{error}; no turn is taken until it is mended") from error


def _defined(
    stored: AgentPermissionSnapshot, definition: AgentDefinition | None
) -> AgentPermissionSnapshot:
    """Return the tiers of an agent: where nobody set any, those of its definition."""
    if definition is None or stored.has_rows:
        return stored
    tiers = definition.tiers.items()
    named = {each.value: frozenset(tool for tool, tier in tiers if tier == each) for each in Tier}
    return replace(stored, **named)
