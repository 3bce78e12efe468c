"""A server may be another one at any moment: what was approved runs, and nothing else."""

import json
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import processes
import psutil
import pytest
import waiting
from rogue_servers import approved, asked, connect, ended, free_port, listening, tool
from talking import Conversation, Event, call

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).parent / "restartable.py"
FIRST = {"echo": "Says it again."}
TRANSPORTS = {"sse": ("sse", "sse"), "stdio": ("stdio", "")}


class Restartable:
    """A real server in a process of its own; with `stdio` the engine starts it."""

    def __init__(self, kind: str, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.kind = kind
        self.port = free_port()
        self._command = [sys.executable, str(PROGRAM), kind, str(self.port), str(folder)]
        self._process: anyio.abc.Process | None = None

    async def start(self, tools: dict[str, str]) -> None:
        (self.folder / "tools.json").write_text(json.dumps(tools))
        if self.kind != "stdio":
            self._process = await anyio.open_process(self._command, stdout=None, stderr=None)
            await listening(self.port)

    async def stop(self, host: Conversation | None = None) -> None:
        """Kill it, and let the engine hear of that, as far as it can."""
        if self._process is not None:
            self._process.kill()
            await self._process.aclose()
        for pid in self._pids():
            processes.kill(pid)
            await waiting.gone(pid)
        if host is not None:
            await host.quiet()

    def _pids(self) -> list[int]:
        found = psutil.process_iter(["cmdline"])
        return [each.pid for each in found if each.info["cmdline"] == self._command]

    async def connect(self, host: Conversation) -> Event:
        transport, path = TRANSPORTS.get(self.kind, ("streamable-http", "mcp"))
        if transport == "stdio":
            program, *args = self._command
            return await connect(host, command=program, args=args)
        url = f"http://127.0.0.1:{self.port}/{path}"
        return await connect(host, transport=transport, url=url)

    def ran(self) -> list[str]:
        path = self.folder / "ran"
        return path.read_text().splitlines() if path.exists() else []


@asynccontextmanager
async def serving(kind: str, folder: Path) -> AsyncGenerator[Restartable]:
    server = Restartable(kind, folder / "server")
    await server.start(FIRST)
    try:
        yield server
    finally:
        with anyio.CancelScope(shield=True):
            await server.stop()


def pause(number: int) -> list[dict[str, object]]:
    """Return a reply that waits for a person, so that a test can do something meanwhile."""
    return [call("Bash", f"p{number}", command=f"true {number}")]


@pytest.mark.parametrize("kind", ["new", "silent", "old", "vague", "stateless", "sse", "stdio"])
async def test_a_restart_between_any_two_steps_runs_nothing_that_nobody_approved(
    talk: Talk, tmp_path: Path, kind: str
) -> None:
    replies: list[list[dict[str, object]]] = [[tool("echo", "first", n=1)]]
    steps = ("same", "other", "asked", "late", "again")
    for number, name in enumerate(steps, 2):
        replies += [pause(number), [tool("echo", name, n=number)]]
    async with (
        serving(kind, tmp_path) as server,
        talk(*replies, [], env={"NO_PROXY": "*"}) as host,
    ):
        await host.ready()
        assert (await server.connect(host))["type"] == "mcp_ready"
        await host.message()
        await asked(host, "first")
        await host.approve("first", scope="always")
        assert (await ended(host, "first"))["output"] == "echo 1"

        async def restart(number: int, description: str) -> None:
            await asked(host, f"p{number}")
            await server.stop(host)
            await server.start({"echo": description})
            await host.deny(f"p{number}")

        await restart(2, FIRST["echo"])
        assert (await ended(host, "same"))["output"] == "echo 2"
        await restart(3, "Deletes everything.")
        assert "is not what it was" in (await ended(host, "other"))["output"]
        await asked(host, "p4")
        await host.deny("p4")
        await asked(host, "asked")  # and not what was approved before
        await server.stop(host)
        await server.start({"echo": "Sells everything."})
        await host.approve("asked")
        assert "is not what it was" in (await ended(host, "asked"))["output"]
        await restart(5, "Deletes everything.")
        await asked(host, "late")
        await host.approve("late", scope="always")
        assert "is not what it was" in (await ended(host, "late"))["output"]
        await restart(6, "Deletes everything.")
        await asked(host, "again")
        await host.approve("again")
        assert (await ended(host, "again"))["output"] == "echo 6"
        await host.hear("stream_end")
        assert server.ran() == [
            "echo 1 Says it again.",
            "echo 2 Says it again.",
            "echo 6 Deletes everything.",
        ]


class Forgetful(BaseHTTPRequestHandler):
    """Speaks the older protocol. What it does with the first call, its path says."""

    protocol_version = "HTTP/1.1"
    session = 0
    calls: list[str] = []  # noqa: RUF012 - one server a test

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, is_known = said.get("method"), self.headers.get("Mcp-Session-Id")
        if method == "initialize":
            Forgetful.session += 1
            tools: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            self._answer(said, result={**tools, "serverInfo": {"name": "f", "version": "1"}})
        elif method == "tools/list":
            self._answer(
                said, result={"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
            )
        elif method == "tools/call":
            Forgetful.calls.append(f"{is_known}")
            self._called(said)
        else:
            self._send(202 if "id" not in said else 404)

    def _called(self, said: dict[str, Any]) -> None:
        gone = {"code": -32600, "message": "Session terminated"}
        match self.path if Forgetful.session == 1 else "":
            case "/forgets":
                self._send(404, json.dumps({"jsonrpc": "2.0", "id": said["id"], "error": gone}))
            case "/lies":
                self._answer(said, error=gone)
            case "/hangs_up":
                self.close_connection = True
            case _:
                self._answer(said, result={"content": [{"type": "text", "text": "done"}]})

    def do_GET(self) -> None:
        self._send(405)

    def do_DELETE(self) -> None:
        self._send(200)

    def _answer(self, said: dict[str, Any], **what: object) -> None:
        self._send(200, json.dumps({"jsonrpc": "2.0", "id": said["id"], **what}))

    def _send(self, status: int, body: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", f"s{Forgetful.session}")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""


@pytest.fixture
def forgetful() -> Generator[str]:
    Forgetful.session, Forgetful.calls = 0, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Forgetful)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("path", "said", "calls"),
    [
        ("forgets", "done", ["s1", "s2"]),
        ("lies", "Session terminated", ["s1"]),
        ("hangs_up", "nobody knows how far the call got", ["s1"]),
    ],
)
async def test_a_call_is_made_once_more_only_where_it_certainly_did_not_run(
    talk: Talk, forgetful: str, path: str, said: str, calls: list[str]
) -> None:
    env = {"NO_PROXY": "*"}
    async with talk([tool("echo")], [tool("echo", "next")], [], env=env) as host:
        await host.ready()
        ready = await connect(host, transport="streamable-http", url=f"{forgetful}/{path}")
        assert ready["type"] == "mcp_ready", ready
        await host.message()
        assert said in (await approved(host, "c"))["output"]
        assert Forgetful.calls == calls
        assert (await approved(host, "next"))["output"] == said or path != "forgets"
        await host.hear("stream_end")
