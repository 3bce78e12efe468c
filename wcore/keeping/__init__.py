"""What the session keeps beyond itself: lasting grants, and one audit row for each decision.

Opened by the first turn, never by `ready`. Grants are read again whenever any engine changed
them, so a revoke counts from the next decision on. The audit is best effort; grants are not:
what cannot be kept is said, and what cannot be read grants nothing.
"""

from typing import Final

from wcore.keeping.tiers import KeptTiers
from wcore.policy import shell
from wcore.policy.decide import OVERRIDE
from wcore.policy.grants import MAIN_AGENT, Grant, GrantBook
from wcore.store import (
    AuditDecision,
    AuditSource,
    GrantKey,
    LastingGrant,
    Store,
    StoreError,
    ToolApprovalDecisionEvent,
    identity,
)
from wcore.vocabulary import AlwaysPrefix, By, Decision, Once, Row, Verdict

SOURCE_OF_ROW: Final = {
    Row.BLOCKED: AuditSource.TIER,
    Row.DENY: AuditSource.RULE,
    Row.SAFETY: AuditSource.SAFETY,
    Row.UNREADABLE: AuditSource.RULE,
    Row.GRANT: AuditSource.GRANT,
    Row.TIER: AuditSource.TIER,
    Row.RULE: AuditSource.RULE,
    Row.MODE: AuditSource.MODE,
}
SOURCE_OF_SETTLER: Final = {
    By.USER: AuditSource.USER,
    By.TIMEOUT: AuditSource.TIMEOUT,
    By.HOST_GONE: AuditSource.HOST_GONE,
    By.STOP: AuditSource.STOP,
    By.SIGNAL: AuditSource.SIGNAL,
    By.POLICY: AuditSource.RULE,
}


class Keeper:
    """One session's way to the store."""

    def __init__(self, store: Store, workspace: str, session_id: str, user: str | None) -> None:
        self._store = store
        self._user_id = identity.user_id(user)
        self._agent_id = identity.agent_id(workspace)
        self._chat_id = identity.chat_id(session_id)
        self._key = GrantKey(self._user_id, workspace)
        self.tiers = KeptTiers(store, workspace, self._user_id)
        self._seen_version: int | None = None
        self._seen_tiers: int | None = None
        self._told: str | None = None

    async def open(self) -> None:
        """Open the store.

        Raises:
            StoreError: it cannot be used; says which file and what to do.
        """
        await self._store.open()

    async def close(self) -> None:
        """Write what is queued, for a second at most, and close."""
        await self._store.aclose()

    async def refresh(self, book: GrantBook) -> str | None:
        """Bring the lasting grants of `book`, and the tiers, up to date.

        Returns what a person should be told: that grants cannot be read, once.
        """
        try:
            versions = await self._store.versions()
            if versions.tiers != self._seen_tiers:
                await self.tiers.reload()
                self._seen_tiers = versions.tiers
        except StoreError as error:
            self._seen_version = None
            book.replace_lasting([])
            return self._once(f"no lasting grants are used: {error}")
        if versions.grants == self._seen_version:
            return None
        loaded = await self._store.load_grants(self._key)
        book.replace_lasting([grant for each in loaded.grants if (grant := _parsed(each))])
        self._seen_version = versions.grants
        return self._once(loaded.problem)

    async def keep(self, grant: Grant) -> str | None:
        """Store a grant; returns why it could not be, for people."""
        if isinstance(grant.scope, Once):
            return "a yes for once is not kept"
        lasting = LastingGrant(
            grant_id=grant.grant_id,
            tool=grant.tool,
            scope=grant.scope,
            persist=grant.persist,
            from_call_id=grant.from_call_id,
            created_at=grant.created_at,
            agent=grant.agent,
        )
        try:
            await self._store.add_grant(self._key, lasting)
        except (StoreError, ValueError) as error:
            return str(error)
        return None

    async def revoke(self, grant_id: str) -> bool:
        """Take a lasting grant back, for every engine.

        Raises:
            StoreError: it could not be done.
        """
        return await self._store.revoke_grant(self._key, grant_id)

    def decided(self, call_id: str, tool: str, decision: Decision) -> None:
        """Note a decision that needed nobody."""
        allowed = decision.verdict is Verdict.ALLOW
        source = SOURCE_OF_ROW.get(decision.why.row, AuditSource.DEFAULT)
        if decision.why.rule == OVERRIDE:
            source = AuditSource.OVERRIDE
        self._record(
            call_id,
            tool,
            AuditDecision.APPROVED if allowed else AuditDecision.DENIED,
            source,
            rule_id=decision.why.rule,
        )

    def denied_unasked(self, call_id: str, tool: str, *, host_gone: bool) -> None:
        """Note a question that nobody could be asked."""
        source = AuditSource.HOST_GONE if host_gone else AuditSource.NO_PROMPTS
        self._record(call_id, tool, AuditDecision.DENIED, source)

    def approved(self, call_id: str, tool: str, *, always: bool) -> None:
        """Note a person's yes; `always` when it lasts."""
        self._record(call_id, tool, AuditDecision.APPROVED, AuditSource.USER, with_override=always)

    def denied(self, call_id: str, tool: str, by: By, reason: str | None) -> None:
        """Note a question that ended in no; `reason` is what a person said, if anything."""
        if by is By.USER and reason:
            self._record(
                call_id, tool, AuditDecision.DENIED_WITH_REASON, AuditSource.USER, reason=reason
            )
        else:
            self._record(call_id, tool, AuditDecision.DENIED, SOURCE_OF_SETTLER[by])

    def _record(  # noqa: PLR0913 - the columns of one row
        self,
        call_id: str,
        tool: str,
        decision: AuditDecision,
        source: AuditSource,
        *,
        with_override: bool = False,
        reason: str | None = None,
        rule_id: str | None = None,
    ) -> None:
        self._store.record_decision(
            ToolApprovalDecisionEvent(
                tool_call_id=call_id,
                user_id=self._user_id,
                agent_id=self._agent_id,
                chat_id=self._chat_id,
                tool_name=tool,
                decision=decision,
                source=source,
                with_override=with_override or tool in self._overrides,
                reason=reason,
                rule_id=rule_id,
            )
        )

    @property
    def _overrides(self) -> frozenset[str]:
        return self.tiers.now(MAIN_AGENT, "").user_overrides

    def _once(self, problem: str | None) -> str | None:
        new = problem if problem != self._told else None
        self._told = problem
        return new


def _parsed(lasting: LastingGrant) -> Grant | None:
    """Return a stored grant as the decision takes it; `None` if it is none any more."""
    prefix = None
    if isinstance(lasting.scope, AlwaysPrefix):
        prefix = shell.parse_grant(lasting.scope.prefix)
        if isinstance(prefix, shell.GrantRefused):
            return None
    return Grant(
        grant_id=lasting.grant_id,
        tool=lasting.tool,
        scope=lasting.scope,
        created_at=lasting.created_at,
        from_call_id=lasting.from_call_id,
        prefix=prefix,
        persist=lasting.persist,
        agent=lasting.agent,
        uses=lasting.uses,
    )
