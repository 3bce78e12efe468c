"""Values that tests put into a store."""

from typing import Any
from uuid import UUID

from msgspec.structs import replace

from wcore.store import identity
from wcore.store.values import (
    AuditDecision,
    AuditSource,
    GrantKey,
    Kind,
    LastingGrant,
    Record,
    ToolApprovalDecisionEvent,
)
from wcore.vocabulary import Always, Json, Persist

USER = UUID("00000000-0000-4000-8000-000000000001")
OTHER_USER = UUID("00000000-0000-4000-8000-000000000002")
AGENT = identity.agent_id("/w")
OTHER_AGENT = identity.agent_id("/w", "reviewer")
KEY = GrantKey(USER, "/w")


def decided(call_id: str = "c1", **changes: Any) -> ToolApprovalDecisionEvent:
    event = ToolApprovalDecisionEvent(
        tool_call_id=call_id,
        user_id=USER,
        agent_id=AGENT,
        chat_id=identity.chat_id("s1"),
        tool_name="Bash",
        decision=AuditDecision.APPROVED,
        source=AuditSource.USER,
    )
    return replace(event, **changes)


def granted(grant_id: str = "g-1", **changes: Any) -> LastingGrant:
    grant = LastingGrant(
        grant_id=grant_id,
        tool="Read",
        scope=Always(),
        persist=Persist.PROJECT,
        from_call_id="c1",
        created_at="2026-11-21T10:00:00Z",
    )
    return replace(grant, **changes)


def record(kind: Kind, **body: Json) -> Record:
    return Record(kind, body)
