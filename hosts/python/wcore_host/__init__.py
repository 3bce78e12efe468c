"""Drive an agent engine of this protocol from Python: spawn it, read its events, answer its cards.

    async with connect(cwd=".", can_use_tool=my_policy) as engine:
        async for event in engine.run_turn("run the tests"):
            ...

Nothing here knows how the engine works inside; everything goes over the published wire.
"""

from wcore_host.engine import Engine
from wcore_host.errors import (
    CommandFailedError,
    CommandTooLongError,
    EngineExitedError,
    EngineStartError,
    HostLibraryError,
    TurnRefusedError,
)
from wcore_host.events import (
    CallAnnounced,
    CallSettled,
    Capabilities,
    CommandResult,
    ConfigChanged,
    Error,
    Event,
    GarbledLine,
    Grant,
    Info,
    Json,
    JsonObject,
    Pong,
    Preview,
    Ready,
    SandboxView,
    Scope,
    StreamEnd,
    StreamStart,
    TextDelta,
    Thinking,
    Tool,
    ToolCancelled,
    ToolChunk,
    ToolRequest,
    ToolResult,
    ToolRunning,
    UnknownEvent,
    Why,
)
from wcore_host.headless.grants import always_exact, always_prefixes
from wcore_host.permission import Allow, CanUseTool, Deny, ToolContext
from wcore_host.spawn import DEFAULT_COMMAND, connect
from wcore_host.visible import visible, visible_line

__all__ = [
    "DEFAULT_COMMAND",
    "Allow",
    "CallAnnounced",
    "CallSettled",
    "CanUseTool",
    "Capabilities",
    "CommandFailedError",
    "CommandResult",
    "CommandTooLongError",
    "ConfigChanged",
    "Deny",
    "Engine",
    "EngineExitedError",
    "EngineStartError",
    "Error",
    "Event",
    "GarbledLine",
    "Grant",
    "HostLibraryError",
    "Info",
    "Json",
    "JsonObject",
    "Pong",
    "Preview",
    "Ready",
    "SandboxView",
    "Scope",
    "StreamEnd",
    "StreamStart",
    "TextDelta",
    "Thinking",
    "Tool",
    "ToolCancelled",
    "ToolChunk",
    "ToolContext",
    "ToolRequest",
    "ToolResult",
    "ToolRunning",
    "TurnRefusedError",
    "UnknownEvent",
    "Why",
    "always_exact",
    "always_prefixes",
    "connect",
    "visible",
    "visible_line",
]
