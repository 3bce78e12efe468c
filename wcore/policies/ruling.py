"""What rules in one session: the policies in force, the tiers of the turn, the limits of both."""

from dataclasses import dataclass, field, replace

from anyio import to_thread

from wcore.errors import Code, WcoreError
from wcore.policies import PolicyFiles
from wcore.policy.decide import Standing
from wcore.policy.grants import MAIN_AGENT, GrantBook
from wcore.policy.policies import NO_POLICIES, Policies
from wcore.policy.policyfile import PolicyError
from wcore.policy.tiers import NO_TIERS, AgentPermissionSnapshot, TiersInMemory, TierSource
from wcore.vocabulary import Mode


class BrokenRulesError(WcoreError):
    """A policy file became unreadable while the engine ran."""

    code = Code.CONFIG


@dataclass(slots=True)
class Ruling:
    """Policies and tiers, as of the start of the turn; overrides are read at each decision."""

    files: PolicyFiles | None = None
    policies: Policies = NO_POLICIES
    tiers: TierSource = field(default_factory=TiersInMemory)
    snapshot: AgentPermissionSnapshot = NO_TIERS
    user_id: str = ""

    async def refresh(self) -> tuple[str, ...]:
        """Read policies and tiers anew, for a turn; return what people should be told.

        Raises:
            WcoreError: they cannot be had; the turn must fail and nothing may be offered.
        """
        notices: tuple[str, ...] = ()
        if self.files is not None:
            try:
                loaded = await to_thread.run_sync(self.files.load)
            except PolicyError as error:
                raise BrokenRulesError(f"{error}; no turn is taken until it is mended") from error
            self.policies, notices = loaded.policies, loaded.notices
        self.snapshot = await self.tiers.preload_for_agent(MAIN_AGENT, self.user_id)
        return notices

    @property
    def live(self) -> AgentPermissionSnapshot:
        """The turn's tiers with today's overrides, and without tools blocked since."""
        now, then = self.tiers.now(MAIN_AGENT, self.user_id), self.snapshot
        named = then.always_allow | then.needs_approval | now.always_allow | now.needs_approval
        gone = frozenset(tool for tool in named if not now.offers(tool))
        overrides = now.user_overrides if self.may_grant else frozenset[str]()
        return replace(then, blocked=then.blocked | now.blocked | gone, user_overrides=overrides)

    @property
    def may_grant(self) -> bool:
        """Whether the policy lets a yes last at all."""
        return self.policies.limits.grants != 0

    def refuses_grants(self, book: GrantBook) -> str | None:
        """Return why no further grant can be kept, or `None`."""
        most = self.policies.limits.grants
        if most is None or len(book) < most:
            return None
        return f"the policy lets {most} grants be kept" if most else "the policy forbids grants"

    def offers(self, tool: str) -> bool:
        """Whether the model may be shown `tool` now."""
        now = self.tiers.now(MAIN_AGENT, self.user_id)
        return self.snapshot.offers(tool) and (now.offers(tool) or not now.is_assigned)

    def standing(self, mode: Mode, grants: GrantBook, offered: frozenset[str]) -> Standing:
        """Return what is in force for a decision now."""
        kept = grants if self.may_grant else GrantBook()
        return Standing(mode, kept, offered, self.policies, self.live, MAIN_AGENT)
