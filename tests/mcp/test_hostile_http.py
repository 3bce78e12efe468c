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


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
async def test_a_proxy_that_cannot_be_used_is_named(
    talk: Talk, transport: str, capfd: pytest.CaptureFixture[str]
) -> None:
    env = {"NO_PROXY": "", "all_proxy": "socks://me:secret-word@h:1"}
    async with talk([], flags=("--verbose",), env=env) as host:
        await host.ready()
        failed = await connect(host, transport=transport, url="https://mcp.invalid/mcp")
        assert failed["type"] == "mcp_failed"
        assert failed["reason"].startswith("all_proxy: no address of a proxy")
        (error,) = host.of("error")
        assert error["error"]["code"] == "config_error"
        await host.turn()
    told = str(host.heard) + "".join(capfd.readouterr())
    assert "secret-word" not in told
    assert "raceback" not in told


async def test_the_end_of_a_line_is_no_part_of_a_header(talk: Talk) -> None:
    token = "Bearer tok-0123456789abcdef"
    with serving() as url:
        async with talk([], env={"NO_PROXY": "*"}) as host:
            await host.ready()
            for at, (value, why) in enumerate(
                (
                    (f" {token}\r\n", "HTTP 401"),
                    (f"{token}\n!", "is no header"),
                    ("\u2013", "is no header"),
                )
            ):
                given = {"url": f"{url}/forbidden", "headers": {"Authorization": value}}
                failed = await connect(host, f"s{at}", transport="streamable-http", **given)
                assert why in failed["reason"], ascii(value)
    assert "tok-0123" not in str(host.heard)


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
