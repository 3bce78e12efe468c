"""A server made with the SDK that can be ended and started again, as another one if it likes.

`restartable.py KIND PORT FOLDER`: `FOLDER/tools.json` has its tools and their descriptions, each
run of a tool adds a line to `FOLDER/ran`. KIND: `new` (the newer protocol, tells of changes),
`silent` (tells of none), `old` (sessions), `vague` (answers 400 for a session that it does not
know), `stateless` (the older protocol without sessions), `sse`, `stdio`.
"""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer

KIND, PORT, FOLDER = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


def runner(name: str, description: str) -> Callable[[int], str]:
    def run(n: int) -> str:
        with (FOLDER / "ran").open("a") as ran:
            ran.write(f"{name} {n} {description}\n")
        return f"{name} {n}"

    return run


def made() -> MCPServer[Any]:
    server = MCPServer[Any]("restartable", subscriptions=False if KIND == "silent" else None)
    for name, description in json.loads((FOLDER / "tools.json").read_text()).items():
        server.add_tool(runner(name, description), name=name, description=description)
    return server


class Old:
    """Knows no newer protocol, and answers with the status that it likes."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        message = await receive()
        if b"server/discover" in message.get("body", b""):
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        queue = [message]

        async def next_message() -> dict[str, Any]:
            return queue.pop() if queue else await receive()

        async def answer(event: dict[str, Any]) -> None:
            if KIND == "vague" and event.get("status") == 404:
                event["status"] = 400
            await send(event)

        await self._app(scope, next_message, answer)


def main() -> None:
    server = made()
    if KIND == "stdio":
        server.run("stdio")
        return
    if KIND == "sse":
        app: Any = server.sse_app()
    else:
        app = server.streamable_http_app(stateless_http=KIND == "stateless")
    if KIND in ("old", "vague", "stateless"):
        app = Old(app)
    uvicorn.run(app, port=PORT, log_level="error", timeout_graceful_shutdown=0)


if __name__ == "__main__":
    main()
