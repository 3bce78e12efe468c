"""An engine that does what a real one must never do; `sys.argv[1]` says what."""

import json
import os
import signal
import sys
import time

MODES = ["default", "read_only", "auto_edit", "force"]
FLOOD_LINES, FLOOD_CHARS = 48, 1024 * 1024  # three times what the host's inbox holds


def say(**event: object) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def ready(**flags: object) -> None:
    base = {"tool_approval": True, "modes": MODES, "current_mode": "default"}
    say(type="ready", version="0", session_id="s", capabilities={**base, **flags}, new_field=1)


def hear() -> dict[str, object]:
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)


def hear_message() -> str:
    said = hear()
    while said["type"] != "message":
        if said["type"] == "ping":
            say(type="pong")
        said = hear()
    return str(said["msg_id"])


def start_turn() -> str:
    msg_id = hear_message()
    say(type="stream_start", msg_id=msg_id)
    return msg_id


def ask(msg_id: str, call_id: str) -> None:
    tool = {"name": "Bash", "category": "exec", "args": {"command": call_id}, "description": ""}
    say(type="tool_request", msg_id=msg_id, call_id=call_id, tool=tool, expires_in_s=60)


def strange() -> None:
    ready()
    sys.stdout.write('not json\n[1]\n{"type":7}\n{"type":"text_delta"}\n\n\xff\n')
    sys.stdout.buffer.write(b'{"type":"info","message":"\xff"}\n' + b"[" * 100_000 + b"\n")
    sys.stdout.flush()
    say(type="invented_tomorrow", x=1)
    msg_id = start_turn()
    say(type="text_delta", msg_id=msg_id, text="still here", colour="blue")
    say(type="stream_end", msg_id=msg_id)
    hear()


def crash() -> None:
    ready()
    msg_id = start_turn()
    say(type="text_delta", msg_id=msg_id, text="about to")
    sys.stderr.write("first\nTraceback: the reason\n")
    os._exit(7)


def crash_at_card() -> None:
    ready()
    ask(start_turn(), "c1")
    hear()
    os.kill(os.getpid(), signal.SIGKILL)


def die_early() -> None:
    sys.stderr.write("no such flag\n")
    sys.exit(3)


def refuse_start() -> None:
    say(type="error", error={"code": "init_failed", "message": "no key", "retryable": False})
    sys.exit(1)


def never_ready() -> None:
    hear()


def flood() -> None:
    """Writes much more than fits anywhere before it reads anything."""
    ready(introspection=True)
    for _ in range(FLOOD_LINES):
        say(type="info", msg_id="", message="x" * FLOOD_CHARS)
    while True:
        said = hear()
        if said["type"] == "list_pending":
            say(
                type="command_result",
                command="list_pending",
                ok=True,
                calls=[],
                request_id=said["request_id"],
            )


def overlong() -> None:
    ready()
    sys.stdout.write("x" * (9 * 1024 * 1024) + "\n")
    say(type="info", msg_id="", message="after")
    hear()


def talkative_log() -> None:
    sys.stderr.write("noise\n" * 200_000)
    sys.stderr.flush()
    ready()
    hear()


def immortal() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ready()
    while True:
        time.sleep(3600)


def two_turns() -> None:
    """Asks two calls; the first is settled by the engine as soon as a ping comes."""
    ready(call_settled=True)
    msg_id = start_turn()
    ask(msg_id, "c1")
    ask(msg_id, "c2")
    while (said := hear())["type"] != "ping":
        say(type="info", msg_id="", message=f"heard {json.dumps(said, sort_keys=True)}")
    say(type="call_settled", msg_id=msg_id, call_id="c1", outcome="expired", by="timeout")
    say(type="pong")
    while True:
        say(type="info", msg_id="", message=f"heard {json.dumps(hear(), sort_keys=True)}")


def refusing() -> None:
    """Takes no answer at all."""
    ready(call_settled=True)
    ask(start_turn(), "c1")
    while True:
        hear()
        say(type="error", error={"code": "protocol_error", "message": "not like that"})


def hasty() -> None:
    """Asks and takes the question back in one breath."""
    ready(call_settled=True)
    msg_id = start_turn()
    tool = {"name": "Bash", "category": "exec", "args": {"command": "true"}, "description": ""}
    events = (
        {"type": "tool_request", "msg_id": msg_id, "call_id": "c1", "tool": tool},
        {"type": "tool_cancelled", "msg_id": msg_id, "call_id": "c1", "tool_name": "Bash"},
        {"type": "text_delta", "msg_id": msg_id, "text": "done"},
        {"type": "stream_end", "msg_id": msg_id},
    )
    sys.stdout.write("".join(json.dumps({"reason": "hasty", **event}) + "\n" for event in events))
    sys.stdout.flush()
    hear()


def suspending() -> None:
    """Asks by suspend alone, without any `tool_request`."""
    ready(hitl_suspend=True)
    msg_id = start_turn()
    context, reason = "AskUserQuestion: Which way?", "Tool requires host decision"
    say(
        type="approval_required",
        call_id="c1",
        resume_token="t1",
        correlation_id="t1",
        reason=reason,
        context=context,
    )
    say(type="suspend", reason="awaiting host decision", resume_token="t1")
    heard = hear()
    say(type="approval_resume", resume_token="t1", approved=heard["approved"])
    say(type="text_delta", msg_id=msg_id, text=json.dumps(heard, sort_keys=True))
    say(type="stream_end", msg_id=msg_id)
    hear()


def filling() -> None:
    """Tells how full the window of its model is."""
    ready()
    msg_id = start_turn()
    counts = {"input_tokens": 90, "output_tokens": 10, "context_tokens": 100}
    say(type="stream_end", msg_id=msg_id, usage={**counts, "active_window_percent": 37})
    hear()


def server_fails() -> None:
    """Tells of servers that cannot be had, but for `slow`, before a turn; refuses the next one."""
    ready(mcp=True)
    names: list[object] = []
    while (said := hear())["type"] != "message":
        if said["type"] == "add_mcp_server":
            names.append(said["name"])
        elif said["type"] == "ping":
            say(type="pong")
    for name in [each for each in names if each != "slow"]:
        problem = {"code": "config_error", "message": f"MCP server {name}: no", "mcp_server": name}
        say(type="error", error=problem)
        say(type="mcp_failed", name=name, reason="no")
    say(type="stream_start", msg_id=said["msg_id"])
    say(type="text_delta", msg_id=said["msg_id"], text="done")
    say(type="stream_end", msg_id=said["msg_id"])
    while hear()["type"] != "message":
        pass
    say(type="error", error={"code": "config_error", "message": "not again"})
    hear()


def begins_late() -> None:
    """Begins a turn when it has been told to stop it twice, and ends it; then an ordinary one."""
    ready()
    msg_id = hear_message()
    for _ in range(2):
        while hear()["type"] != "stop":
            pass
    say(type="stream_start", msg_id=msg_id)
    say(type="stream_end", msg_id=msg_id)
    say(type="text_delta", msg_id=(msg_id := start_turn()), text="at your service")
    say(type="stream_end", msg_id=msg_id)
    hear()


def baseline() -> None:
    """Knows no capability of ours; echoes every answer as text."""
    ready()
    msg_id = start_turn()
    ask(msg_id, "c1")
    say(type="text_delta", msg_id=msg_id, text=json.dumps(hear(), sort_keys=True))
    say(type="stream_end", msg_id=msg_id)
    hear()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
