"""What rules in one session: the policies in force, the tiers of the turn, the limits of both."""

from collections.abc import Mapping

from anyio import to_thread
from msgspec import Struct, field
from msgspec.structs import replace

from wcore.agents import AgentDefinition
from wcore.errors import Code, WcoreError
from wcore.policies import PolicyFiles
from wcore.policy.decide import Standing
from wcore.policy.grants import MAIN_AGENT, GrantBook
from wcore.policy.policies import NO_POLICIES, Policies
from wcore.policy.policyfile import PolicyError
from wcore.policy.tiers import NO_TIERS, AgentPermissionSnapshot, Tier, TiersInMemory, TierSource
from wcore.vocabulary import Json, Mode


class BrokenRulesError(WcoreError):
    """A policy file became unreadable while the engine ran."""

    code = Code.CONFIG


class Ruling(Struct):
    """Policies and tiers, as of the start of the turn; overrides are read at each decision."""

    files: PolicyFiles | None = None
    policies: Policies = NO_POLICIES
    tiers: TierSource = field(default_factory=TiersInMemory)
    snapshot: AgentPermissionSnapshot = NO_TIERS
    user_id: str = ""
    agent: str = MAIN_AGENT
    definition: AgentDefinition | None = None  # of a sub-agent
    agents: Mapping[str, AgentDefinition] = field(default_factory=dict[str, AgentDefinition])
    told: Mapping[str, Json] | None = None  # what the journal has of them

    async def refresh(self) -> tuple[str, ...]:
        """Read policies anew, for a turn; return what people should be told.

        Raises:
            WcoreError: they cannot be had; the turn must fail and nothing may be offered.
        """
        notices: tuple[str, ...] = ()
        if self.files is not None:
            try:
                loaded, agents = await to_thread.run_sync(self.files.load_all)
            except PolicyError as error:
                raise BrokenRulesError(f"{error}; no turn is taken until it is mended") from error
            self.policies, self.agents = loaded.policies, agents.named
            notices = (*loaded.notices, *agents.problems)
        return notices

    def news(self, notices: tuple[str, ...]) -> dict[str, Json]:
        """Return what the journal keeps of the policies; nothing where nothing is new."""
        known = self.files.facts(self.agents) if self.files else {}
        if known == self.told and not notices:
            return {}
        self.told = known
        return {**known, "notices": list(notices)}

    def known(self) -> Mapping[str, AgentDefinition]:
        """Return the agents that have a definition, as of this turn."""
        return self.agents

    async def preload(self) -> None:
        """Read the tiers of the agent; where nobody set any, those of its definition count.

        Raises:
            WcoreError: they cannot be had.
        """
        stored = await self.tiers.preload_for_agent(self.agent, self.user_id)
        if self.definition is None or stored.has_rows:
            self.snapshot = stored
        else:
            self.snapshot = replace(_defined(self.definition), user_overrides=stored.user_overrides)

    def below(self, agent: str, definition: AgentDefinition) -> "Ruling":
        """Return what rules a sub-agent, before its tiers are read."""
        return replace(self, agent=agent, definition=definition, snapshot=NO_TIERS)

    @property
    def live(self) -> AgentPermissionSnapshot:
        """The turn's tiers with today's overrides, and without tools blocked since."""
        now, then = self.tiers.now(self.agent, self.user_id), self.snapshot
        named = then.always_allow | then.needs_approval | now.always_allow | now.needs_approval
        gone = frozenset(tool for tool in named if not now.offers(tool))
        overrides = now.user_overrides if self.may_grant else frozenset[str]()
        return replace(then, blocked=then.blocked | now.blocked | gone, user_overrides=overrides)

    @property
    def may_grant(self) -> bool:
        """Whether the policy lets a yes last at all."""
        return self.policies.limits.grants != 0

    def refuses_grants(self, book: GrantBook, count: int = 1) -> str | None:
        """Return why `count` further grants cannot be kept, or `None`."""
        most = self.policies.limits.grants
        if most is None or len(book) + count <= most:
            return None
        return f"the policy lets {most} grants be kept" if most else "the policy forbids grants"

    def offers(self, tool: str) -> bool:
        """Whether the model may be shown `tool` now."""
        now = self.tiers.now(self.agent, self.user_id)
        return self.snapshot.offers(tool) and now.offers(tool)

    def standing(self, mode: Mode, grants: GrantBook, offered: frozenset[str]) -> Standing:
        """Return what is in force for a decision now."""
        kept = grants if self.may_grant else GrantBook()
        return Standing(mode, kept, offered, self.policies, self.live, self.agent)

    def bound(self, mode: Mode, offered: frozenset[str]) -> Standing:
        """Return what binds those who work for this agent: its grants and overrides do not."""
        standing = self.standing(mode, GrantBook(), offered)
        return replace(standing, tiers=replace(standing.tiers, user_overrides=frozenset()))


def _defined(definition: AgentDefinition) -> AgentPermissionSnapshot:
    by_tier = {
        tier: frozenset(tool for tool, status in definition.tiers.items() if status == tier)
        for tier in Tier
    }
    return AgentPermissionSnapshot(
        by_tier[Tier.ALWAYS_ALLOW], by_tier[Tier.NEEDS_APPROVAL], by_tier[Tier.BLOCKED]
    )
