"""MCP servers that the editor passes in, as the engine's command to start them. Pure."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from acp.schema import AcpMcpServer, EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio
from acp.schema import SseMcpServer as SseServer

from wcore_host.acp.markup import span
from wcore_host.events import Json, JsonObject

Server: TypeAlias = HttpMcpServer | SseServer | AcpMcpServer | McpServerStdio

NAME_CHARS_MAX: Final = 128  # of a server, in the protocol


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
    return {"type": "add_mcp_server", "name": _name(server), "transport": transport, **how}


def unusable(servers: Iterable[Server], flags: frozenset[str]) -> str:
    """Return what to tell of servers that an engine with these flags is not told of."""
    left = [server for server in servers if "mcp" not in flags or command(server) is None]
    named = ", ".join(span(server.name) for server in left)
    return f"This engine cannot use these MCP servers: {named}." if left else ""


def failed(event: JsonObject) -> str:
    """Return what to tell of a server that is not there."""
    name, reason = span(str(event.get("name"))), span(str(event.get("reason")), 400)
    return f"MCP server {name} is not available: {reason}"


def _name(server: Server) -> str:
    """Return the name as engines take it: in any script, but for `__` and a `_` at its ends."""
    return re.sub("_+", "_", server.name.strip())[:NAME_CHARS_MAX].strip("_") or "server"


def _named(pairs: Sequence[EnvVariable | HttpHeader] | None) -> dict[str, Json]:
    return {pair.name: pair.value for pair in pairs or ()}
