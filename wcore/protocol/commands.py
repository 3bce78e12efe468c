"""What a host may say, one class a message. The class is the message.

Unknown fields are ignored, so that a newer host can drive an older engine; `null` in an
optional field means absent. Fields are strict: `"5"` is not a number.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
)

from wcore.protocol.scopes import WireScope
from wcore.views import ASKED_MAX
from wcore.vocabulary import ID_CHARS_MAX, MODE_ALIASES, Mode, Persist

U32_MAX = 2**32 - 1  # what hosts of the family send as u32

Id = Annotated[
    str,
    StringConstraints(min_length=1, max_length=ID_CHARS_MAX, pattern=r"^[^\x00-\x1f\x7f]+$"),
]


def _known_mode(name: str) -> str:
    if name not in MODE_ALIASES:
        known = ", ".join(mode.value for mode in Mode)
        raise ValueError(f"unknown mode; modes are {known}")
    return name


def _finite(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Refuse numbers that JSON cannot write back, such as `1e999`."""
    left: list[JsonValue] = [value]
    while left:
        match left.pop():
            case float() as number if not math.isfinite(number):
                raise ValueError("a number is out of range")
            case list() as items:
                left += items
            case dict() as items:
                left += items.values()
            case _:
                pass
    return value


class Command(BaseModel):
    """Base of every command."""

    # Deferred, since all of them are built at once, as one union, in `codec`.
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", defer_build=True)


class Message(Command):
    """Start a turn. One at a time: a second one during a turn is answered `busy`."""

    type: Literal["message"] = "message"
    msg_id: Id
    content: str
    files: list[str] | None = None


class Stop(Command):
    """End the running turn; without one it does nothing, silently."""

    type: Literal["stop"] = "stop"


class SandboxWish(BaseModel):
    """What a call is to run in, in the place of what it asks for."""

    model_config = Command.model_config

    view: Literal["workspace", "none"] = "workspace"
    hosts: Annotated[list[str], Field(max_length=ASKED_MAX)] = Field(default_factory=list[str])


class ToolApprove(Command):
    """Let one waiting call run; `scope` says how long the yes lasts.

    `args` replaces the arguments, `sandbox` what they ask of it; both need `digest` of the call as
    it was shown.
    """

    type: Literal["tool_approve"] = "tool_approve"
    call_id: Id
    scope: WireScope | None = None
    persist: Persist | None = None
    answer: str | None = None
    args: Annotated[dict[str, JsonValue], AfterValidator(_finite)] | None = None
    sandbox: SandboxWish | None = None
    digest: Annotated[str, Field(max_length=ID_CHARS_MAX)] | None = None


class ToolDeny(Command):
    """Refuse one waiting call; `stop` also ends the turn."""

    type: Literal["tool_deny"] = "tool_deny"
    call_id: Id
    reason: str | None = None
    stop: bool | None = None


class InitHistory(Command):
    """Give the model context that is not a message; during a turn it waits for its end."""

    type: Literal["init_history"] = "init_history"
    text: str


class SetMode(Command):
    """Change what runs unasked; aliases of other engines are understood."""

    type: Literal["set_mode"] = "set_mode"
    mode: Annotated[str, AfterValidator(_known_mode)]


class SetConfig(Command):
    """Change model settings; during a turn it applies after the turn."""

    type: Literal["set_config"] = "set_config"
    model: str | None = None
    thinking: Literal["enabled", "disabled"] | None = None
    thinking_budget: Annotated[int, Field(ge=0, le=U32_MAX)] | None = None
    effort: str | None = None
    compaction: Literal["off", "safe", "full"] | None = None


class AddMcpServer(Command):
    """Connect an MCP server; possible until the first message."""

    type: Literal["add_mcp_server"] = "add_mcp_server"
    name: Id
    transport: str
    command: str | None = None
    args: list[str] | None = None
    env: dict[str, str] | None = None
    url: str | None = None
    headers: dict[str, str] | None = None
    start_timeout_s: float | None = None
    call_timeout_s: float | None = None
    allow_local: bool | None = None


class Ping(Command):
    """Answered by `pong` at once, whatever else is going on."""

    type: Literal["ping"] = "ping"


class ApprovalResume(Command):
    """Answer a suspended call by its resume token."""

    type: Literal["approval_resume"] = "approval_resume"
    resume_token: Id
    approved: bool
    modifications: JsonValue = None

    @property
    def answer(self) -> str | None:
        """`modifications.answer`, when it is text."""
        found = self.modifications
        answer = found.get("answer") if isinstance(found, dict) else None
        return answer if isinstance(answer, str) else None


class Introspection(Command):
    """Base of the commands answered by one `command_result`."""

    request_id: Id | None = None


class ListPending(Introspection):
    type: Literal["list_pending"] = "list_pending"
    after: Id | None = None


class ListGrants(Introspection):
    type: Literal["list_grants"] = "list_grants"


class RevokeGrant(Introspection):
    type: Literal["revoke_grant"] = "revoke_grant"
    grant_id: Id


class GetHistory(Introspection):
    type: Literal["get_history"] = "get_history"
    limit: Annotated[int, Field(ge=1, le=U32_MAX)] | None = None
    before: Annotated[int, Field(ge=0, le=U32_MAX)] | None = None


class ListPermissions(Introspection):
    type: Literal["list_permissions"] = "list_permissions"
    agent: Id | None = None


class AgentTool(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", defer_build=True)

    name: Id
    status: Literal["always_allow", "needs_approval", "blocked"] | None = None


class SetAgentTools(Introspection):
    type: Literal["set_agent_tools"] = "set_agent_tools"
    agent: Id
    tools: list[AgentTool] | None  # null, which is not the same as absent, takes all rows back
    only: bool | None = None  # true


class SetToolOverride(Introspection):
    type: Literal["set_tool_override"] = "set_tool_override"
    agent: Id
    tool: Id
    approve_always: bool


class TrustWorkspace(Introspection):
    type: Literal["trust_workspace"] = "trust_workspace"
    trusted: bool
    digest: Annotated[str, Field(max_length=ID_CHARS_MAX)] | None = None


class AcceptChanges(Introspection):
    """Let count what others have loosened since the session began, as `digest` stands for it."""

    type: Literal["accept_changes"] = "accept_changes"
    digest: Annotated[str, Field(max_length=ID_CHARS_MAX)]


class GiveGrant(Introspection):
    """Give a grant as `tool_approve` would, without a call that waits."""

    type: Literal["give_grant"] = "give_grant"
    tool: Id
    scope: WireScope
    persist: Persist | None = None
    agent: Id | None = None


class ResumeTurn(Introspection):
    type: Literal["resume_turn"] = "resume_turn"
    action: Literal["continue", "cancel"]


class RemoveMcpServer(Introspection):
    type: Literal["remove_mcp_server"] = "remove_mcp_server"
    name: Id


#: Where words of people stand that only people and models read: nothing is found, approved or
#: run by them, so they may be mended. Never a path, an id, or a part of what is approved.
FREE_TEXT: Final[Mapping[str, str]] = {
    "message": "content",
    "init_history": "text",
    "tool_deny": "reason",
    "tool_approve": "answer",
    "approval_resume": "modifications",
}

AnyCommand: TypeAlias = Annotated[
    Message
    | Stop
    | ToolApprove
    | ToolDeny
    | InitHistory
    | SetMode
    | SetConfig
    | AddMcpServer
    | Ping
    | ApprovalResume
    | ListPending
    | ListGrants
    | RevokeGrant
    | GetHistory
    | ListPermissions
    | SetAgentTools
    | SetToolOverride
    | TrustWorkspace
    | AcceptChanges
    | GiveGrant
    | ResumeTurn
    | RemoveMcpServer,
    Field(discriminator="type"),
]
