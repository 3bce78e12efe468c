"""What acts, loaded late: nothing that `ready` says depends on it.

`load` is called in a thread right after `ready`, while the host's first line is on its way; only
commands that act wait for it.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wcore.agents import AgentDefinition
    from wcore.engine.mcp_servers import McpServers
    from wcore.tools.tool import Tool, ToolEnvironment
    from wcore.turn.turn import Turn


class Acting(NamedTuple):
    """What acts: turns, MCP servers, tools."""

    servers: "type[McpServers]"
    turn: "type[Turn]"
    builtin_tools: (
        "Callable[[ToolEnvironment, Callable[[], Mapping[str, AgentDefinition]]], dict[str, Tool]]"
    )


def load() -> Acting:
    """Import what acts and return it; the first time this takes some 50 ms."""
    from wcore.engine.mcp_servers import McpServers  # noqa: PLC0415 - see above
    from wcore.tools.builtin.catalog import builtin_tools  # noqa: PLC0415
    from wcore.turn.turn import Turn  # noqa: PLC0415

    return Acting(McpServers, Turn, builtin_tools)
