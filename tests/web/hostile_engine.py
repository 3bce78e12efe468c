"""An engine whose every text tries to become markup, a script, or somebody else's words."""

import json
import sys

HTML = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script><b>bold</b>'
BIDI = "safe\u202egnp.exe\u2066\u200b\x1b[31m\x07\u3164"
LINK = "[click](javascript:window.pwned=1) [x](data:text/html,<script>1</script>) <https://a.b>"
EVIL = f'"><svg onload=window.pwned=1>{HTML}{BIDI}{LINK}\n\n```html\n{HTML}\n```\n\n# {HTML}'


def say(**event: object) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def hear(kind: str) -> dict[str, object]:
    for line in sys.stdin:
        said = json.loads(line)
        if said["type"] == kind:
            return said
        if said["type"] == "ping":
            say(type="pong")
        elif "request_id" in said:
            answer(said)
    sys.exit(0)


def answer(said: dict[str, object]) -> None:
    """Answer introspection with hostile rows, too."""
    grant = {"grant_id": EVIL, "kind": EVIL, "tool": EVIL, "prefix": EVIL, "persist": EVIL}
    view = {"view": "workspace", "hosts": [EVIL], "proposed": [EVIL]}
    tool = {"name": EVIL, "category": EVIL, "provider_key": EVIL, "status": EVIL}
    agent = {"agent": EVIL, "tools": [{**tool, "status_source": EVIL, "override": False}]}
    found = {
        "calls": [],
        "grants": [{**grant, "sandbox": view, "created_at": EVIL, "uses": EVIL}],
        "agents": [agent],
    }
    ids = {"request_id": said["request_id"], "command": said["type"]}
    say(type="command_result", ok=True, messages=[], more=False, **ids, **found)


def main() -> None:
    modes = ["default", "read_only", EVIL]
    base = {"tool_approval": True, "modes": modes, "current_mode": EVIL, "current_model": EVIL}
    capabilities = {**base, "introspection": True, "call_settled": True, "edit_args": True}
    say(type="ready", version=EVIL, session_id=EVIL, capabilities=capabilities)
    msg_id = hear("message")["msg_id"]
    say(type="stream_start", msg_id=msg_id)
    for kind in ("text_delta", "thinking"):
        say(type=kind, msg_id=msg_id, text=EVIL)
    say(type="info", msg_id="", message=EVIL)
    say(type="error", error={"code": EVIL, "message": EVIL, "retryable": False})
    say(type="mcp_failed", name=EVIL, reason=EVIL)
    args = {"command": EVIL, "file_path": EVIL, EVIL: EVIL, "question": EVIL, "header": EVIL}
    args |= {"__proto__": EVIL, "constructor": {"prototype": [EVIL]}}
    tool = {"name": EVIL, "category": EVIL, "args": args, "description": EVIL}
    why = {"row": EVIL, "detail": EVIL, "rule": EVIL, "source": EVIL, "code": EVIL, "span": [0, 9]}
    scopes = [
        {"always_prefix": {"prefix": EVIL}},
        {EVIL: {EVIL: EVIL}},
        {"always_path": {"root": EVIL}},
        {"always_host": {"host": EVIL}},
    ]
    about = {"msg_id": msg_id, "tool": tool, "why": why, "agent": [EVIL], "digest": EVIL}
    about["sandbox"] = {"view": EVIL, "hosts": [EVIL], "proposed": [EVIL]}
    for number, kind in enumerate(("diff", "text", "command", EVIL)):
        preview = {"kind": kind, "text": f"@@ -1 +1 @@\n+{EVIL}\n-{EVIL}", "truncated": True}
        say(type="tool_request", call_id=f"c{number}", preview=preview, suggestions=scopes, **about)
    options = [EVIL, {"label": EVIL, "description": EVIL}]
    question = {**tool, "name": "AskUserQuestion", "args": {**args, "options": options}}
    say(type="tool_request", call_id="q", **{**about, "tool": question})
    for call_id in ("c0", "c1", "c2", "c3"):
        hear("tool_deny")
        say(type="call_settled", msg_id=msg_id, call_id=call_id, outcome=EVIL, by=EVIL)
        say(type="tool_cancelled", msg_id=msg_id, call_id=call_id, reason=EVIL)
    say(type="call_announced", call_id="r", **about)
    say(type="tool_running", msg_id=msg_id, call_id="r", tool_name=EVIL)
    say(type="tool_chunk", msg_id=msg_id, call_id="r", tool_name=EVIL, chunk=EVIL)
    say(type="tool_result", msg_id=msg_id, call_id="r", tool_name=EVIL, status=EVIL, output=EVIL)
    inner = {"type": "text_delta", "text": EVIL}
    say(type="sub_agent_event", parent_call_id="r", agent_name=EVIL, inner=inner)
    say(type="stream_end", msg_id=msg_id, finish_reason=EVIL)
    hear("message")
    sys.stderr.write(EVIL + "\n")
    sys.exit(9)


if __name__ == "__main__":
    main()
