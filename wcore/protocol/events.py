"""What the engine says, one class a message. A field that is `None` is left out of the line."""

from typing import Final, Literal

from wcore.protocol.parts import (
    AgentPermissions,
    Capabilities,
    CommandProblem,
    GrantInfo,
    HistoryMessage,
    InterruptedTurn,
    JsonObject,
    Part,
    Problem,
    ToolInfo,
    TrustedFile,
    TurnCost,
    UsageReport,
)
from wcore.protocol.scopes import WireScope
from wcore.views import SandboxView
from wcore.vocabulary import By, Preview, Status, Why


class Event(Part):
    """Base of every event."""


# --- the handshake and the engine itself ------------------------------------------------------


class Ready(Event):
    """The first line. Nothing is sent before it, except `error` `init_failed` instead of it."""

    type: Literal["ready"] = "ready"
    version: str
    session_id: str
    capabilities: Capabilities
    interrupted_turn: InterruptedTurn | None = None


class ConfigChanged(Event):
    type: Literal["config_changed"] = "config_changed"
    capabilities: Capabilities


class Pong(Event):
    type: Literal["pong"] = "pong"


class Info(Event):
    """Advice for people. `msg_id` is empty outside a turn and for answers to commands."""

    type: Literal["info"] = "info"
    msg_id: str = ""
    message: str
    digest: str | None = None


class Error(Event):
    """Something was refused or failed. Never carries `msg_id`: hosts end the turn on that."""

    type: Literal["error"] = "error"
    error: Problem


# --- a turn -----------------------------------------------------------------------------------


class StreamStart(Event):
    type: Literal["stream_start"] = "stream_start"
    msg_id: str


class TextDelta(Event):
    type: Literal["text_delta"] = "text_delta"
    text: str
    msg_id: str


class Thinking(Event):
    type: Literal["thinking"] = "thinking"
    text: str
    msg_id: str
    subject: str | None = None


class StreamEnd(Event):
    type: Literal["stream_end"] = "stream_end"
    msg_id: str
    finish_reason: Literal["stop", "length", "error", "max_turns"]
    usage: UsageReport
    denied_unasked: int | None = None


# --- a call -----------------------------------------------------------------------------------


class ToolRequest(Event):
    """The call waits for the host. Answer with `tool_approve` or `tool_deny`."""

    type: Literal["tool_request"] = "tool_request"
    msg_id: str
    call_id: str
    tool: ToolInfo
    why: Why
    preview: Preview | None = None
    sandbox: SandboxView | None = None
    suggestions: tuple[WireScope, ...] | None = None
    digest: str
    expires_in_s: int
    agent: tuple[str, ...] | None = None
    task: str | None = None


class CallAnnounced(Event):
    """The call does not wait: it runs, or it is refused, without a question."""

    type: Literal["call_announced"] = "call_announced"
    msg_id: str
    call_id: str
    tool: ToolInfo
    why: Why | None = None
    preview: Preview | None = None
    sandbox: SandboxView | None = None
    agent: tuple[str, ...] | None = None
    task: str | None = None


class CallSettled(Event):
    """How a question ended, whoever ended it; once for every `tool_request`."""

    type: Literal["call_settled"] = "call_settled"
    msg_id: str
    call_id: str
    outcome: Literal["approved", "denied", "expired", "cancelled"]
    by: By
    agent: tuple[str, ...] | None = None
    args: JsonObject | None = None
    digest: str | None = None


class ToolRunning(Event):
    """The effect begins now; repeated while the tool is silent."""

    type: Literal["tool_running"] = "tool_running"
    msg_id: str
    call_id: str
    tool_name: str


class ToolChunk(Event):
    type: Literal["tool_chunk"] = "tool_chunk"
    msg_id: str
    call_id: str
    tool_name: str
    chunk: str


class ToolResult(Event):
    type: Literal["tool_result"] = "tool_result"
    msg_id: str
    call_id: str
    tool_name: str
    status: Status
    output: str
    output_type: str = "text"
    metadata: JsonObject | None = None


class ToolCancelled(Event):
    """The call was denied, expired or stopped; no `tool_result` follows."""

    type: Literal["tool_cancelled"] = "tool_cancelled"
    msg_id: str
    call_id: str
    reason: str


class ApprovalRequired(Event):
    type: Literal["approval_required"] = "approval_required"
    call_id: str
    resume_token: str
    correlation_id: str
    reason: str
    context: str


class Suspend(Event):
    type: Literal["suspend"] = "suspend"
    reason: str
    resume_token: str


class ApprovalResumed(Event):
    """Echo of how a suspended call ended, by whatever path."""

    type: Literal["approval_resume"] = "approval_resume"
    resume_token: str
    approved: bool


# --- introspection ----------------------------------------------------------------------------


class CommandResult(Event):
    """The one answer to an introspection command; the fields after `error` belong to one each."""

    type: Literal["command_result"] = "command_result"
    request_id: str | None = None
    command: str
    ok: bool
    error: CommandProblem | None = None
    calls: tuple[ToolRequest, ...] | None = None
    grants: tuple[GrantInfo, ...] | None = None
    revoked: bool | None = None
    messages: tuple[HistoryMessage, ...] | None = None
    more: bool | None = None
    agents: tuple[AgentPermissions, ...] | None = None
    trusted: bool | None = None
    files: tuple[TrustedFile, ...] | None = None
    digest: str | None = None
    cancelled: tuple[str, ...] | None = None


# --- MCP, sub-agents, cost: announced by their capability flags ---------------------------------


class McpReady(Event):
    type: Literal["mcp_ready"] = "mcp_ready"
    name: str
    tools: tuple[str, ...]


class McpFailed(Event):
    type: Literal["mcp_failed"] = "mcp_failed"
    name: str
    reason: str


class SubAgentEvent(Event):
    type: Literal["sub_agent_event"] = "sub_agent_event"
    parent_call_id: str
    agent_name: str
    inner: JsonObject


class SessionCost(Event):
    type: Literal["session_cost"] = "session_cost"
    session_id: str
    total_cost_usd: float
    per_turn: tuple[TurnCost, ...]


#: All of them, in the order in which they stand here.
KINDS: Final = tuple(Event.__subclasses__())
