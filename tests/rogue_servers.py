"""A server that misbehaves, and a way to have an engine connect it."""

import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import waiting
from talking import Conversation, Event, call

ROGUE = Path(__file__).parent / "mcp" / "rogue.py"


async def connect(host: Conversation, name: str = "r", *manner: str, **more: Any) -> Event:
    """Have a rogue server connected; return the event that says how it went."""
    env = {"ROGUE_TRACE": str(host.workspace.parent / "trace"), **more.pop("env", {})}
    program = {"command": sys.executable, "args": [str(ROGUE), *manner], "env": env}
    given = {"transport": "stdio", **({} if "url" in more else program), **more}
    await host.say(type="add_mcp_server", name=name, **given)
    while (event := await host.next())["type"] not in ("mcp_ready", "mcp_failed"):
        pass
    return event


async def approved(host: Conversation, call_id: str) -> Event:
    """Approve a call once it asks; return its end."""
    await asked(host, call_id)
    await host.approve(call_id)
    return await ended(host, call_id)


async def asked(host: Conversation, call_id: str) -> Event:
    """Return the question about a call, also if it was heard before."""
    heard = [e for e in host.of("tool_request") if e["call_id"] == call_id]
    return heard[0] if heard else await host.hear("tool_request", call_id=call_id)


async def ended(host: Conversation, call_id: str) -> Event:
    """Return how a call ended."""
    while True:
        event = await host.next()
        if event["type"] in ("tool_result", "tool_cancelled") and event["call_id"] == call_id:
            return event


def tool(name: str, call_id: str = "c", server: str = "r", **args: object) -> dict[str, object]:
    """Return a script item that calls a tool of a server."""
    return call(f"mcp__{server}__{name}", call_id, **args)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


async def listening(port: int) -> None:
    """Wait until somebody takes connections."""
    with waiting.patience():
        while True:
            try:
                stream = await anyio.connect_tcp("127.0.0.1", port)
            except OSError:
                await anyio.sleep(0.05)
            else:
                await stream.aclose()
                return
