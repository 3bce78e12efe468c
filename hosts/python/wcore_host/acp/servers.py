"""MCP servers that the editor passes in, as the engine's command to start them. Pure."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from acp.schema import AcpMcpServer, EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio
from acp.schema import SseMcpServer as SseServer

from wcore_host.events import Json, JsonObject

Server: TypeAlias = HttpMcpServer | SseServer | AcpMcpServer | McpServerStdio


def command(server: Server) -> JsonObject | None:
    """Return the command that adds `server`; `None` for a kind that engines do not know."""
    match server:
        case HttpMcpServer() | SseServer():
            transport = "sse" if isinstance(server, SseServer) else "streamable-http"
            how: dict[str, Json] = {"url": server.url, "headers": _named(server.headers)}
        case McpServerStdio():
            transport = "stdio"
            how = {"command": server.command, "args": [*server.args], "env": _named(server.env)}
        case _:
            return None
    return {"type": "add_mcp_server", "name": server.name, "transport": transport, **how}


def names(servers: Iterable[Server]) -> str:
    return ", ".join(server.name for server in servers)


def _named(pairs: Sequence[EnvVariable | HttpHeader] | None) -> dict[str, Json]:
    return {pair.name: pair.value for pair in pairs or ()}
