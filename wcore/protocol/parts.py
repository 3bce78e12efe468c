"""The objects inside events. A field that is `None` is left out of the line."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from wcore.errors import Code
from wcore.views import SandboxView
from wcore.vocabulary import Category, Mode, Persist, Status

Flag: TypeAlias = Literal[True] | None  # an additive capability: true or left out
JsonObject: TypeAlias = Mapping[str, Any]  # pydantic cannot follow a recursive alias


class Part(BaseModel):
    """Base of events and of the objects inside them."""

    # Deferred, since `ready` needs two of them; see `codec.warm`.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class SandboxInfo(Part):
    """What holds commands. All of it is held, or no command runs."""

    kind: Literal["bubblewrap"] = "bubblewrap"
    filesystem: Literal["full"] = "full"
    network: Literal["hosts"] = "hosts"


class Capabilities(Part):
    """Seven fields that are always there, then flags that are there when true."""

    tool_approval: bool = True
    thinking: bool
    effort: bool
    effort_levels: tuple[str, ...] = ()
    modes: tuple[Mode | str, ...]  # a word of another engine is among them when it was used
    current_mode: Mode | str
    mcp: bool
    hitl_suspend: Flag = None
    streaming_tools: Flag = None
    sub_agent_traces: Flag = None
    cost_attribution: Flag = None
    call_announced: Flag = None
    call_settled: Flag = None
    edit_args: Flag = None
    persist: Flag = None
    introspection: Flag = None
    grant_control: Flag = None
    prompts: Flag = None
    sandbox: SandboxInfo | None = None
    store: Literal["memory"] | None = None
    current_model: str | None = None
    context_limit: int | None = None


class InterruptedTurn(Part):
    msg_id: str
    pending: tuple[str, ...]
    unknown: tuple[str, ...]


class Problem(Part):
    """`mcp_server` is the name of the server that it is about: such a problem refuses no turn."""

    code: Code
    message: str
    retryable: bool = False
    mcp_server: str | None = None


class UsageReport(Part):
    """Tokens since the session began, then the window; cache fields are left out when zero."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    context_tokens: int | None = None
    active_window_percent: int | None = None


class ToolInfo(Part):
    name: str
    category: Category
    args: JsonObject
    description: str


class GrantInfo(Part):
    grant_id: str
    kind: Literal["name", "prefix", "path", "exact", "host"]
    tool: str
    prefix: str | None = None
    root: str | None = None
    command: str | None = None
    host: str | None = None
    sandbox: SandboxView | None = None
    persist: Persist
    agent: str | None = None
    created_at: str
    by: Literal["host"] | None = None
    from_call_id: str | None = None
    expires_at: str | None = None
    uses: int


class HistoryCall(Part):
    call_id: str
    tool: str
    args: JsonObject | None = None


class HistoryMessage(Part):
    seq: int
    msg_id: str
    role: Literal["user", "assistant", "tool"]
    text: str | None = None
    thinking: str | None = None
    calls: tuple[HistoryCall, ...] | None = None
    call_id: str | None = None
    tool_name: str | None = None
    status: Status | None = None
    output: str | None = None
    output_type: str | None = None
    metadata: JsonObject | None = None


class CommandProblem(Part):
    code: Code
    message: str


class TurnCost(Part):
    turn: int
    model: str
    provider: str
    cost_usd: float
    priced: bool


class ToolPermission(Part):
    name: str
    category: Category
    provider_key: str
    status: Literal["always_allow", "needs_approval", "blocked"]
    status_source: Literal["explicit", "default", "none"]
    override: bool
    verdict: Literal["allow", "ask", "deny"]


class AgentPermissions(Part):
    agent: str
    tools: tuple[ToolPermission, ...]
    only: Literal[True] | None = None


class TrustedFile(Part):
    path: str
    digest: str
