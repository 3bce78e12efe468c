"""The nouns of the store: frozen values that go in and come out. No I/O.

Nothing here can hold the arguments of a tool call, except the body of a journal record.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeAlias
from uuid import UUID

from msgspec import Struct, field

from wcore.vocabulary import Always, AlwaysExact, AlwaysPath, AlwaysPrefix, Json, Persist

REASON_CHARS_MAX: Final = 2_000  # the column's own limit
NAME_CHARS_MAX: Final = 512  # tool names, rule ids: a hostile one must not fill the disk
GRANTS_MAX: Final = 1_024  # more than a person can review

LastingScope: TypeAlias = Always | AlwaysPrefix | AlwaysPath | AlwaysExact


# --- tiers ------------------------------------------------------------------------------------


class PermissionStatus(StrEnum):
    """The three tiers of an (agent, tool) pair."""

    ALWAYS_ALLOW = "always_allow"
    NEEDS_APPROVAL = "needs_approval"
    BLOCKED = "blocked"


class StatusSource(StrEnum):
    """Whether somebody chose the status, or it is the default of the tool's name."""

    EXPLICIT = "explicit"
    DEFAULT = "default"


class ToolPermission(Struct, frozen=True):
    """One tool of an agent's set."""

    tool_name: str
    status: PermissionStatus
    provider_key: str = "builtin"
    status_source: StatusSource = StatusSource.EXPLICIT


class AgentPermissionSnapshot(Struct, frozen=True):
    """What is stored about an agent's tools at one instant.

    `overridden_at` has the time of each override. `defaulted` are the tools of the first three
    sets whose status nobody chose. `is_assigned` tells
    an agent with an empty set (nothing is offered) from one that was never given a set.
    """

    always_allow: frozenset[str] = frozenset()
    needs_approval: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()
    user_overrides: frozenset[str] = frozenset()
    defaulted: frozenset[str] = frozenset()
    is_assigned: bool = False
    overridden_at: Mapping[str, str] = field(default_factory=dict[str, str])


# --- grants -----------------------------------------------------------------------------------


class GrantKey(Struct, frozen=True):
    """Whose grants: all of a user that hold in a workspace."""

    user_id: UUID
    workspace: str


class LastingGrant(Struct, frozen=True):
    """One yes that outlives the process. Times are RFC 3339 UTC; `persist` is never `session`."""

    grant_id: str
    tool: str
    scope: LastingScope
    persist: Persist
    from_call_id: str
    created_at: str
    agent: str = "main"
    expires_at: str | None = None
    uses: int = 0
    agent_digest: str | None = None  # of the agent's definition, for grants of a sub-agent
    launch_digest: str | None = None  # of an MCP server's launch definition
    schema_digest: str | None = None  # of an MCP tool's schema
    ties_digest: str | None = None  # of what an exact command runs and where it leads


class LoadedGrants(Struct, frozen=True):
    """The lasting grants that could be read; `problem` says, for people, what could not."""

    grants: tuple[LastingGrant, ...]
    problem: str | None = None


class Versions(Struct, frozen=True):
    """Counters that grow with every change of grants, and of tiers or overrides."""

    grants: int
    tiers: int


# --- audit ------------------------------------------------------------------------------------


class AuditDecision(StrEnum):
    """How a call was decided."""

    APPROVED = "approved"
    DENIED = "denied"
    DENIED_WITH_REASON = "denied_with_reason"


class AuditSource(StrEnum):
    """Who or what decided."""

    USER = "user"
    RULE = "rule"
    SAFETY = "safety"
    GRANT = "grant"
    OVERRIDE = "override"
    MODE = "mode"
    TIER = "tier"
    DEFAULT = "default"
    TIMEOUT = "timeout"
    HOST_GONE = "host_gone"
    STOP = "stop"
    SIGNAL = "signal"
    NO_PROMPTS = "no_prompts"


class ToolApprovalDecisionEvent(Struct, frozen=True):
    """One decided call. The tool's arguments are not in it and cannot be.

    `rule_source` is where the rule `rule_id` stands: `path:line` of a policy file.
    """

    tool_call_id: str
    user_id: UUID
    agent_id: UUID
    chat_id: UUID
    tool_name: str
    decision: AuditDecision
    source: AuditSource
    with_override: bool = False
    reason: str | None = None
    rule_id: str | None = None
    rule_source: str | None = None


class AuditRow(Struct, frozen=True):
    """One row of the audit as it is stored. `hash` and `prev_hash` are lower-case hex.

    `format` says which columns the hash covers; see `wcore.store.audit`.
    """

    id: str
    tool_call_id: str
    user_id: str
    agent_id: str
    chat_id: str
    tool_name: str
    decision: str
    with_override: bool
    reason: str | None
    created_at: str
    source: str
    rule_id: str | None
    rule_source: str | None
    format: int
    seq: int
    prev_hash: str
    hash: str


# --- sessions and journal ---------------------------------------------------------------------


class SessionState(StrEnum):
    """Whether the last turn of a session has ended."""

    IDLE = "idle"
    IN_TURN = "in_turn"


class SessionRow(Struct, frozen=True):
    """One conversation. `holder` names the engine that has it now, if one has.

    `last_at` is the time of its newest message, of a person or the model. `title` is how its first
    message begins: one line, what is invisible marked.
    """

    session_id: str
    user_id: str
    workspace: str
    created_at: str
    last_at: str
    state: SessionState
    records: int
    holder: str | None = None
    title: str | None = None


class Kind(StrEnum):
    """What a journal record is about."""

    OPENED = "opened"  # an engine has the session now: how it was started
    TURN_STARTED = "turn_started"
    REPLIED = "replied"
    PREPARED = "prepared"
    ASKED = "asked"
    DECIDED = "decided"
    STARTED = "started"
    ENDED = "ended"
    TURN_ENDED = "turn_ended"
    COMMANDED = "commanded"  # a command of the host


#: On the disk itself before the append returns: a power cut must not bring a call back that was
#: refused, nor one that may have had its effect. See `protocol-spec/store.md`.
DURABLE_KINDS: Final = frozenset({Kind.DECIDED, Kind.STARTED})
#: Nothing is acted upon that needs them: on the disk with the next durable record, or `SYNC_S`
#: later. A power cut before that makes of an end an outcome that is not known.
SOON_KINDS: Final = frozenset({Kind.ENDED})
SYNC_S: Final = 0.1  # the next call has mostly started by then, and spares this one the disk


class Record(Struct, frozen=True):
    """What the engine writes down: a kind and its facts."""

    kind: Kind
    body: Mapping[str, Json]


class JournalRecord(Struct, frozen=True):
    """A record as it was read back; `seq` counts from 1 without gaps."""

    seq: int
    kind: Kind
    at: str
    body: Mapping[str, Json]


class RawRecord(Struct, frozen=True):
    """A record as it was read back and found undamaged; its body is not decoded yet."""

    seq: int
    kind: Kind
    at: str
    text: str


class JournalPage(Struct, frozen=True):
    """Records in order. `torn`: the last record on disk was unreadable and is left out."""

    records: tuple[JournalRecord, ...]
    more: bool
    torn: bool = False
