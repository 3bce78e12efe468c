"""Servers behind an address that keep us busy: they cost little, and everything else goes on."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from rogue_servers import approved, connect, tool
from talking import Conversation

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

HELLO: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "rogue", "version": "1"},
}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "torn")]
SOON_S = 3  # how long a flood is watched


class Rogue(BaseHTTPRequestHandler):
    """Speaks MCP, and on the stream for news does as the path says."""

    protocol_version = "HTTP/1.1"
    opened = 0
    stopped = threading.Event()

    def do_GET(self) -> None:
        Rogue.opened += 1
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        if self.path == "/torn":
            self.wfile.write(b"id: %d\nretry: 0\ndata:\n\n" % Rogue.opened)
            return
        number = 0
        try:
            while number := number + 1:
                ping = {"jsonrpc": "2.0", "id": number, "method": "ping"}
                self.wfile.write(f"data: {json.dumps(ping)}\n\n".encode())
        except OSError:
            return

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        match said.get("method"):
            case "initialize":
                self._answer(said["id"], HELLO)
            case "tools/list":
                self._answer(said["id"], {"tools": TOOLS})
            case "tools/call" if said["params"]["name"] == "torn":
                self.do_GET()
            case "tools/call":
                self._answer(said["id"], {"content": [{"type": "text", "text": "echo"}]})
            case None:
                Rogue.stopped.wait()  # an answer to a ping, which nobody takes
            case _:
                self._send(202 if "id" not in said else 404, b"")

    def do_DELETE(self) -> None:
        self._send(200, b"")

    def _answer(self, number: int, result: dict[str, Any]) -> None:
        self._send(200, json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", "s")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""


class Serving(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: the engine goes away when it likes."""


@pytest.fixture
def url() -> Generator[str]:
    with served() as found:
        yield found


@contextmanager
def served() -> Generator[str]:
    Rogue.opened = 0
    Rogue.stopped.clear()
    server = Serving(("127.0.0.1", 0), Rogue)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        Rogue.stopped.set()
        server.shutdown()
        server.server_close()


def memory_mib(host: Conversation) -> int:
    status = Path(f"/proc/{host.process.pid}/status").read_text()
    return next(int(row.split()[1]) for row in status.splitlines() if "VmRSS" in row) // 1024


async def watch(host: Conversation) -> None:
    """Talk to the engine for a while: it answers all the time."""
    with anyio.move_on_after(SOON_S):
        while True:
            await host.quiet()
            await anyio.sleep(0.01)


async def test_a_stream_that_always_ends_at_once_is_opened_ever_more_slowly(
    talk: Talk, url: str
) -> None:
    async with talk([tool("echo")], [], env={"NO_PROXY": "*"}) as host:
        await host.ready()
        await connect(host, transport="streamable-http", url=f"{url}/torn")
        await watch(host)
        assert 1 <= Rogue.opened <= 30
        await host.message()
        assert (await approved(host, "c"))["output"] == "echo"
        await host.hear("stream_end")


async def test_a_server_on_this_machine_is_never_reached_through_a_proxy(
    talk: Talk, url: str
) -> None:
    nowhere = {"HTTP_PROXY": "http://127.0.0.1:9", "all_proxy": "socks://h:1", "NO_PROXY": ""}
    async with talk([tool("echo")], [], env=nowhere) as host:
        await host.ready()
        ready = await connect(host, transport="streamable-http", url=f"{url}/torn")
        assert ready["type"] == "mcp_ready", ready


async def test_an_answer_that_always_breaks_off_ends_with_stop(talk: Talk, url: str) -> None:
    async with talk([tool("torn")], [], env={"NO_PROXY": "*"}) as host:
        await host.ready()
        await connect(host, transport="streamable-http", url=f"{url}/torn")
        await host.message()
        await host.hear("tool_request")
        await host.approve("c")
        await host.hear("tool_running")
        await watch(host)
        assert Rogue.opened <= 30
        await host.say(type="stop")
        await host.hear("stream_end")


async def test_pings_whose_answers_nobody_takes_fill_no_memory(talk: Talk, url: str) -> None:
    async with talk([], env={"NO_PROXY": "*"}) as host:
        await host.ready()
        await connect(host, transport="streamable-http", url=f"{url}/pings")
        before = memory_mib(host)
        await watch(host)
        assert memory_mib(host) - before < 16
        await host.turn()
