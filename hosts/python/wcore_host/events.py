"""What the engine says, as frozen values to `match` on.

Every event keeps the object it was read from in `raw`, so a field that this library does not
know is still there. An event type that it does not know arrives as `UnknownEvent`, a line that is
no event as `GarbledLine`: neither ends the conversation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]
Scope: TypeAlias = str | JsonObject  # "once", "always", or an object with one key


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of every event; `raw` is the JSON object as it came."""

    raw: JsonObject = field(default_factory=dict[str, Json], repr=False, compare=False)


@dataclass(frozen=True)
class UnknownEvent(Event):
    """An event type newer than this library. Ignoring it is always right."""

    type: str


@dataclass(frozen=True)
class GarbledLine(Event):
    """A line on the engine's stdout that is no event; `line` is its beginning."""

    problem: str
    line: str


# --- the engine itself ------------------------------------------------------------------------


@dataclass(frozen=True)
class Capabilities:
    """What this engine can do. `flags` holds every capability that is `true`.

    `context_limit` is what the model can read, in tokens; zero if that is not known.
    """

    modes: tuple[str, ...] = ()
    current_mode: str = "default"
    current_model: str = ""
    flags: frozenset[str] = frozenset()
    context_limit: int = 0


@dataclass(frozen=True)
class Ready(Event):
    version: str
    session_id: str
    capabilities: Capabilities


@dataclass(frozen=True)
class ConfigChanged(Event):
    capabilities: Capabilities


@dataclass(frozen=True)
class Pong(Event):
    pass


@dataclass(frozen=True)
class Info(Event):
    message: str
    msg_id: str = ""
    digest: str = ""  # of changes that wait for `accept_changes`


@dataclass(frozen=True)
class Error(Event):
    code: str
    message: str
    retryable: bool = False
    msg_id: str = ""
    mcp_server: str = ""  # whose problem it is; it refuses no turn then


# --- a turn -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class StreamStart(Event):
    msg_id: str


@dataclass(frozen=True)
class TextDelta(Event):
    msg_id: str
    text: str


@dataclass(frozen=True)
class Thinking(Event):
    msg_id: str
    text: str


@dataclass(frozen=True)
class StreamEnd(Event):
    """The turn is over. `finish_reason` is empty where an engine does not give one."""

    msg_id: str
    finish_reason: str = ""
    denied_unasked: int = 0

    @property
    def ended_early(self) -> bool:
        """Whether an error or a limit ended it, and neither the model nor a person."""
        return self.finish_reason not in ("", "stop")


# --- a call -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tool:
    """A call as it was prepared: what is shown here is what will run."""

    name: str
    category: str
    args: JsonObject
    description: str = ""


@dataclass(frozen=True)
class Why:
    """Why the engine asks, or does not. `span` counts UTF-8 bytes of `args.command`."""

    row: str = ""
    detail: str = ""
    rule: str = ""
    source: str = ""
    code: str = ""
    span: tuple[int, int] | None = None


@dataclass(frozen=True)
class Preview:
    """What will happen: `kind` is `diff`, `command` or `text`."""

    kind: str
    text: str
    truncated: bool = False


@dataclass(frozen=True)
class SandboxView:
    """What a call will run in: `view` is `workspace`, `read_only`, or `none` for no sandbox.

    Of the `hosts` that it can reach, nobody has agreed before to those that are `proposed`.
    """

    view: str
    hosts: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()


@dataclass(frozen=True)
class CallEvent(Event):
    """Base of what tells of a new call; `agent` is empty for the main agent."""

    msg_id: str
    call_id: str
    tool: Tool
    why: Why = Why()
    preview: Preview | None = None
    agent: tuple[str, ...] = ()
    task: str = ""
    sandbox: SandboxView | None = None


@dataclass(frozen=True)
class ToolRequest(CallEvent):
    """The call waits for an answer to `call_id`. `suggestions` is `None` if none were sent."""

    suggestions: tuple[Scope, ...] | None = None
    digest: str = ""
    expires_in_s: int | None = None


@dataclass(frozen=True)
class CallAnnounced(CallEvent):
    """The call does not wait: it runs, or is refused, without a question."""


@dataclass(frozen=True)
class CallSettled(Event):
    """How a question ended (`outcome`) and who ended it (`by`); `args` if they were changed."""

    msg_id: str
    call_id: str
    outcome: str
    by: str
    args: JsonObject | None = None


@dataclass(frozen=True)
class ToolRunning(Event):
    msg_id: str
    call_id: str
    tool_name: str


@dataclass(frozen=True)
class ToolChunk(Event):
    msg_id: str
    call_id: str
    tool_name: str
    chunk: str


@dataclass(frozen=True)
class ToolResult(Event):
    msg_id: str
    call_id: str
    tool_name: str
    status: str
    output: str
    output_type: str = "text"


@dataclass(frozen=True)
class ToolCancelled(Event):
    """Denied, expired or stopped; no `ToolResult` follows."""

    msg_id: str
    call_id: str
    reason: str


#: Behind one of these nobody needs to answer the card of their call any more.
EndsCard: TypeAlias = CallSettled | ToolRunning | ToolResult | ToolCancelled


# --- answers to introspection -----------------------------------------------------------------


@dataclass(frozen=True)
class CommandResult(Event):
    """The one answer to an introspection command; what it brings is in `raw`."""

    command: str
    ok: bool
    request_id: str = ""
    code: str = ""
    message: str = ""


@dataclass(frozen=True)
class Grant:
    """A lasting yes: `kind` is `name`, `prefix`, `path`, `exact` or `host`, or a newer one."""

    grant_id: str
    kind: str
    tool: str
    covers: str = ""  # the prefix, the root, the command or the host
    persist: str = "session"
    agent: str = ""
    uses: int = 0
    sandbox: SandboxView | None = None
