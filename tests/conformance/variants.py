"""An engine that is right in another way than ours: it has nothing that an engine may leave out.

The same proxy as the broken engines, with a relay between engine and model.
"""

import http.client
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NoReturn

from conformance.mutant import Faithful, Table

TOOLS = {"Bash", "Read", "Write"}
BASE = {"tool_approval", "thinking", "effort", "effort_levels", "modes", "current_mode", "mcp"}
OF_FLAGS = {
    *("call_announced", "call_settled", "tool_chunk", "sub_agent_event", "session_cost"),
    *("approval_required", "suspend", "approval_resume", "command_result"),
}
INTROSPECTION = {"list_pending", "get_history", "set_tool_override", "resume_turn"}
FLAGS = {
    *("--json-stream", "--provider", "--model", "--base-url", "--max-tokens", "--max-turns"),
    *("--system-prompt", "--auto-approve", "--force", "--mode", "--approval-ttl", "--version"),
}


class Small(Faithful):
    """No flags, no sessions, no policy files, no ceiling, one provider, three tools."""

    def arguments(self, words: list[str]) -> list[str]:
        given = {word: at for at, word in enumerate(words) if word.startswith("--")}
        if "--help" in given:
            sys.stdout.write(f"usage: small {' '.join(sorted(FLAGS))}\n")
            raise SystemExit(0)
        if odd := set(given) - FLAGS:
            self.refuse(2, f"unknown argument {min(odd)}")
        if "--provider" in given and words[given["--provider"] + 1] == "anthropic":
            self.refuse(1, "there is no such provider")
        if "--base-url" in given:
            at = given["--base-url"] + 1
            words[at] = relayed(words[at])
        return words

    def refuse(self, code: int, why: str) -> NoReturn:
        message = f"Engine failed to start: {why}"
        problem = {"code": "init_failed", "message": message, "retryable": False}
        self.say({"type": "error", "error": problem})
        raise SystemExit(code)

    def up(self, command: Table) -> list[Table]:
        if command["type"] not in INTROSPECTION:
            return [command]
        message = "this engine does not know that"
        problem = {"code": "not_supported", "message": message, "retryable": False}
        self.say({"type": "error", "error": problem})
        return []

    def down(self, event: Table) -> list[Table]:
        kind = event["type"]
        if kind in OF_FLAGS:
            return []
        if kind in ("ready", "config_changed"):
            has = {name: value for name, value in event["capabilities"].items() if name in BASE}
            return [{**event, "capabilities": {**has, "mcp": False}}]
        if kind == "tool_request":
            return [{name: event[name] for name in ("type", "msg_id", "call_id", "tool")}]
        return [event]


def relayed(url: str) -> str:
    """Return the address of a model that is offered three tools and is else the one at `url`."""

    class Relay(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            offered = [t for t in body["tools"] if t["function"]["name"] in TOOLS]
            there = http.client.HTTPConnection(url.removeprefix("http://"))
            kind = {"content-type": "application/json"}
            there.request("POST", self.path, json.dumps({**body, "tools": offered}), kind)
            answer = there.getresponse()
            self.send_response(answer.status)
            self.send_header("content-type", answer.headers["content-type"])
            self.send_header("connection", "close")
            self.end_headers()
            while data := answer.read1():
                self.wfile.write(data)
                self.wfile.flush()
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
