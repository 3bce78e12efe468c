"""Each decision as one value: what journal, audit and whoever else is interested are told of it."""

from collections.abc import Callable
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from wcore.policy.decide import OVERRIDE
from wcore.store import AuditDecision, AuditSource, ToolApprovalDecisionEvent
from wcore.vocabulary import By, Decision, Row, Verdict

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


class DecisionEvents(Struct, frozen=True):
    """Makes the events of one session. `has_override` tells whether a tool has one now."""

    user_id: UUID
    agent_id: UUID
    chat_id: UUID
    has_override: Callable[[str], bool]

    def ruled(self, call_id: str, tool: str, decision: Decision) -> ToolApprovalDecisionEvent:
        """Return a decision that needed nobody."""
        allowed = decision.verdict is Verdict.ALLOW
        source = SOURCE_OF_ROW.get(decision.why.row, AuditSource.DEFAULT)
        if decision.why.rule == OVERRIDE:
            source = AuditSource.OVERRIDE
        verdict = AuditDecision.APPROVED if allowed else AuditDecision.DENIED
        why = decision.why
        event = self._event(call_id, tool, verdict, source, rule_id=why.rule)
        return replace(event, rule_source=why.source)

    def unasked(self, call_id: str, tool: str, *, host_gone: bool) -> ToolApprovalDecisionEvent:
        """Return the denial of a question that nobody could be asked."""
        source = AuditSource.HOST_GONE if host_gone else AuditSource.NO_PROMPTS
        return self._event(call_id, tool, AuditDecision.DENIED, source)

    def approved(self, call_id: str, tool: str, *, always: bool) -> ToolApprovalDecisionEvent:
        """Return a person's yes; `always` when it lasts."""
        approved, user = AuditDecision.APPROVED, AuditSource.USER
        return self._event(call_id, tool, approved, user, with_override=always)

    def denied(
        self, call_id: str, tool: str, by: By, reason: str | None
    ) -> ToolApprovalDecisionEvent:
        """Return the end of a question in no; `reason` is what a person said, if anything."""
        if by is By.USER and reason:
            verdict = AuditDecision.DENIED_WITH_REASON
            return self._event(call_id, tool, verdict, AuditSource.USER, reason=reason)
        return self._event(call_id, tool, AuditDecision.DENIED, SOURCE_OF_SETTLER[by])

    def _event(  # noqa: PLR0913 - the columns of one row
        self,
        call_id: str,
        tool: str,
        decision: AuditDecision,
        source: AuditSource,
        *,
        with_override: bool = False,
        reason: str | None = None,
        rule_id: str | None = None,
    ) -> ToolApprovalDecisionEvent:
        return ToolApprovalDecisionEvent(
            tool_call_id=call_id,
            user_id=self.user_id,
            agent_id=self.agent_id,
            chat_id=self.chat_id,
            tool_name=tool,
            decision=decision,
            source=source,
            with_override=with_override or self.has_override(tool),
            reason=reason,
            rule_id=rule_id,
        )
