"""Servers behind an address: what they send is bounded, and where they point is not followed."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import pytest
from rogue_servers import approved, connect, tool
from talking import Conversation

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio


class Answering(BaseHTTPRequestHandler):
    """Answers each request as the path says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.close_connection = True
        match self.path:
            case "/forbidden":
                self._head(401, "text/plain")
            case "/elsewhere":
                self._head(307, "text/plain", Location="http://127.0.0.2:1/mcp")
            case "/squeezed":
                self._head(200, "application/json", **{"Content-Encoding": "gzip"})
            case "/fails":
                self._fail_in_a_call(json.loads(body or b"{}"))
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

    def _fail_in_a_call(self, said: dict[str, Any]) -> None:
        match said.get("method"):
            case "initialize":
                result: dict[str, Any] = {"protocolVersion": "2025-06-18"}
                result["serverInfo"] = {"name": "r", "version": ""}
                result["capabilities"] = {"tools": {}}
            case "tools/list":
                result = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                given = said["params"]["arguments"]
                self._head(given["status"], given["kind"])
                text = given["body"].replace("{header}", self.headers["Authorization"])
                self.wfile.write(text.encode() * given.get("times", 1))
                return
            case _:
                self._head(202 if "method" in said and "id" not in said else 404, "text/plain")
                return
        self._head(200, "application/json")
        answer = {"jsonrpc": "2.0", "id": said["id"], "result": result}
        self.wfile.write(json.dumps(answer).encode())

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


TOLD = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "no such n"}})
FAILURES: tuple[tuple[dict[str, Any], str], ...] = (
    ({"status": 500, "kind": "text/plain", "body": "boom"}, "HTTP 500: boom"),
    ({"status": 429, "kind": "text/plain", "body": "slow\n  down"}, "HTTP 429: slow down"),
    ({"status": 502, "kind": "text/html", "body": "<h1>Bad</h1>"}, "HTTP 502: <h1>Bad</h1>"),
    ({"status": 500, "kind": "text/plain", "body": "not {header}!"}, "HTTP 500: not "),
    ({"status": 503, "kind": "text/plain", "body": ""}, "HTTP 503"),
    ({"status": 400, "kind": "application/json", "body": '{"a": "b"}'}, 'HTTP 400: {"a": "b"}'),
    ({"status": 400, "kind": "application/json", "body": TOLD}, "no such n"),
    ({"status": 500, "kind": "text/plain", "body": "\x1b[2J"}, "HTTP 500: \u27e8U+001B\u27e9[2J"),
    ({"status": 500, "kind": "text/event-stream", "body": "x", "times": 9_999_999}, "HTTP 500: xx"),
)


async def test_an_http_error_in_a_call_is_told_with_its_code_and_its_words(talk: Talk) -> None:
    calls = [[tool("echo", f"c{at}", **given)] for at, (given, _) in enumerate(FAILURES)]
    with serving() as url:
        async with talk(*calls, [{"text": "done"}], env={"NO_PROXY": "*"}) as host:
            await host.ready()
            given: dict[str, Any] = {
                "url": f"{url}/fails",
                "headers": {"Authorization": "tok-0123456789abcdef"},
            }
            ready = await connect(host, transport="streamable-http", **given)
            assert ready["type"] == "mcp_ready"
            await host.say(type="message", msg_id="m1", content="go")
            for at, (_, words) in enumerate(FAILURES):
                asked = await host.hear("tool_request")
                ended = await approved(host, asked["call_id"])
                assert ended["status"] == "error", at
                assert words in ended["output"]
                assert len(ended["output"]) < 1_000
            await host.hear("stream_end", finish_reason="stop")
    assert "tok-0123" not in str(host.heard)
