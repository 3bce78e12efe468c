"""Servers behind an address: what they send is bounded, and where they point is not followed."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import pytest
from rogue_servers import connect
from talking import Conversation

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio


class Answering(BaseHTTPRequestHandler):
    """Answers each request as the path says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.close_connection = True
        match self.path:
            case "/forbidden":
                self._head(401, "text/plain")
            case "/elsewhere":
                self._head(307, "text/plain", Location="http://127.0.0.2:1/mcp")
            case "/squeezed":
                self._head(200, "application/json", **{"Content-Encoding": "gzip"})
            case "/endless":
                self._pour("application/json", b" " * 65536)
            case "/crowd":
                self._head(200, "application/json")
                self.wfile.write(json.dumps([{"a": 1}] * 100_000).encode())
            case "/endless-event":
                self._pour("text/event-stream", b"data: " + b"x" * 65536 + b"\n")
            case _:
                self._head(200, "application/json")
                self.wfile.write(json.dumps({"not": "a message"}).encode())

    do_GET = do_POST  # noqa: N815 - the library's name

    def _head(self, status: int, kind: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _pour(self, kind: str, piece: bytes) -> None:
        self._head(200, kind)
        try:
            while True:
                self.wfile.write(piece)
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""


@contextmanager
def serving() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.clock
@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
@pytest.mark.parametrize(
    "path", ["forbidden", "elsewhere", "squeezed", "endless", "crowd", "endless-event", "nonsense"]
)
async def test_a_server_that_does_not_speak_mcp_fails_soon_and_says_why(
    talk: Talk, transport: str, path: str
) -> None:
    with serving() as url:
        async with talk([], env={"NO_PROXY": "*"}) as host:
            await host.ready()
            with anyio.fail_after(18):
                failed = await connect(host, transport=transport, url=f"{url}/{path}")
            assert failed["type"] == "mcp_failed"
            assert failed["reason"]
            assert "\u23ce" not in failed["reason"]  # one line says it
            assert ("HTTP 401" in failed["reason"]) == (path == "forbidden")
            assert "127.0.0.2" not in failed["reason"] or path == "elsewhere"
            await host.turn()
