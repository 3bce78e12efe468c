"""What MCP costs: nothing when no server is configured, and little for a hundred tools.

    python tests/bench/bench_mcp.py [ROUNDS]

Prints, as medians: `ready` and the resident memory after it, without and with a server; and how
long a message takes to the first word of a model on loopback, without tools of a server and with a
hundred of them, each with a schema of ten fields.
"""

import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

TOOLS = 100
FIELDS = 10
SETTLED_S = 1.5  # idle work after `ready` is done by then

SERVER = f"""
import json, sys
field = {{"type": "string", "description": "what this field is for, in some words"}}
schema = {{"type": "object", "properties": {{f"field_{{n}}": field for n in range({FIELDS})}}}}
tools = [{{"name": f"tool_{{n}}", "description": "does something " * 8, "inputSchema": schema}}
         for n in range({TOOLS})]
info = {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}},
        "serverInfo": {{"name": "bench", "version": "1"}}}}
for line in sys.stdin:
    said = json.loads(line)
    known = {{"initialize": info, "tools/list": {{"tools": tools}}}}
    result = known.get(said["method"])
    answer = {{"result": result}} if result else {{"error": {{"code": -32601, "message": "no"}}}}
    if "id" in said:
        print(json.dumps({{"jsonrpc": "2.0", "id": said["id"], **answer}}), flush=True)
"""


class Provider(BaseHTTPRequestHandler):
    """Says one word to whatever it is asked, as Chat Completions."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        chunk = {"choices": [{"index": 0, "delta": {"content": "hello"}, "finish_reason": "stop"}]}
        body = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""


class Engine:
    """One engine process, spoken to by lines."""

    def __init__(self, folder: Path, url: str) -> None:
        began = time.perf_counter()
        self.process = Popen(
            [sys.executable, "-m", "wcore", "--provider=openai", "--model=m", f"--base-url={url}"],
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            cwd=folder,
            env={**os.environ, "HOME": str(folder)},
        )
        self.hear("ready")
        self.ready_ms = (time.perf_counter() - began) * 1000

    def say(self, **command: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, kind: str) -> dict[str, Any]:
        assert self.process.stdout
        while True:
            event: dict[str, Any] = json.loads(self.process.stdout.readline())
            if event["type"] == kind:
                return event

    def memory_mib(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(row.split()[1]) for row in text.splitlines() if "VmRSS" in row) / 1024

    def turn_ms(self, msg_id: str) -> float:
        began = time.perf_counter()
        self.say(type="message", msg_id=msg_id, content="go")
        self.hear("text_delta")
        took = (time.perf_counter() - began) * 1000
        self.hear("stream_end")
        return took


@contextmanager
def engine(url: str) -> Generator[Engine]:
    with tempfile.TemporaryDirectory() as folder:
        started = Engine(Path(folder), url)
        try:
            yield started
        finally:
            assert started.process.stdin
            started.process.stdin.close()
            started.process.wait()


def measure(url: str, *, server: bool) -> dict[str, float]:
    with engine(url) as host:
        if server:
            given = {"name": "bench", "transport": "stdio", "command": sys.executable}
            host.say(type="add_mcp_server", **given, args=["-c", SERVER])
            host.hear("mcp_ready")
        time.sleep(SETTLED_S)
        memory = host.memory_mib()
        return {
            "ready ms": host.ready_ms,
            "memory MiB": memory,
            "first turn ms": host.turn_ms("m1"),
            "second turn ms": host.turn_ms("m2"),
        }


def main() -> None:
    provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{provider.server_port}/v1"
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    for title, server in (("no server", False), (f"{TOOLS} tools", True)):
        found = [measure(url, server=server) for _ in range(rounds)]
        middle = {key: statistics.median(each[key] for each in found) for key in found[0]}
        print(f"{title:>10}: " + "  ".join(f"{key} {value:.1f}" for key, value in middle.items()))


if __name__ == "__main__":
    main()
