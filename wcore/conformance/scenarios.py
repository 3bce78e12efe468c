"""What an engine may do to a host, one function each; the last line says whether it survived."""

import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Final

from wcore.conformance.fake_engine import (
    ESCAPE,
    FLOOD_EVENTS,
    LOG_LINES,
    LONG_BYTES,
    REFUSAL,
    SLOW_S,
    Engine,
    Scenario,
    Table,
)


def plain(engine: Engine) -> None:
    engine.ready()
    engine.start_turn()
    engine.say(type="text_delta", msg_id=engine.msg_id, text="hello\n")
    engine.card_then_finish()


def baseline(engine: Engine) -> None:
    """An engine of the first days: four fields on a card and no flag of ours."""
    engine.ready(flags=())
    engine.start_turn()
    engine.ask("c1")
    engine.answers("c1")
    engine.finish()


def unknown(engine: Engine) -> None:
    engine.ready(telepathy=True, levels=[1, 2], colour="blue")
    engine.say(type="invented_tomorrow", msg_id="?", x={"y": [None]})
    engine.start_turn()
    turn = engine.msg_id
    engine.say(type="invented_tomorrow", msg_id=turn, call_id="nobody", critical=False)
    engine.say(type="text_delta", msg_id=turn, text="hello\n", colour="blue", weight=7)
    why: Table = {"row": "invented", "detail": "a row nobody knows", "more": {}}
    engine.ask(
        "c1", why=why, expires_in_s=60, digest="d", preview={"kind": "hologram", "text": "x"}
    )
    engine.answers("c1")
    tool: Table = {"name": "Warp", "category": "invented", "args": {}, "description": "Warp"}
    engine.say(type="call_announced", msg_id=turn, call_id="c2", tool=tool, why=why)
    ended = {"status": "success", "output": "x", "output_type": "hologram"}
    engine.say(type="tool_result", msg_id=turn, call_id="c2", tool_name="Warp", **ended)
    engine.say(type="error", error={"code": "invented", "message": "odd", "retryable": False})
    engine.ask("last", suggestions=["once", {"always_moon": {"phase": 1}}], expires_in_s=60)
    engine.answers("last")
    engine.finish("invented")


def parallel(engine: Engine) -> None:
    engine.ready()
    engine.start_turn()
    for call_id in ("c1", "c2", "c3"):
        engine.ask(call_id, expires_in_s=300, digest=f"d-{call_id}")
    engine.answers("c1", "c2", "c3")
    engine.card_then_finish()


def late_settle(engine: Engine) -> None:
    """A card that the engine closes: by expiry, as a host finds it in the wild."""
    engine.ready()
    engine.start_turn()
    engine.ask("c1", expires_in_s=0, digest="d-c1")
    ids = {"msg_id": engine.msg_id, "call_id": "c1"}
    engine.say(type="call_settled", **ids, outcome="expired", by="timeout")
    engine.cancel("c1", "approval timed out (no host response)")
    engine.card_then_finish()


def settled_elsewhere(engine: Engine) -> None:
    """A card that ends by a result, without a word about who approved it."""
    engine.ready(flags=())
    engine.start_turn()
    engine.ask("c1")
    engine.end_card("c1")
    ids = {"msg_id": engine.msg_id, "call_id": "c1", "tool_name": "Bash"}
    engine.say(type="tool_running", **ids)
    engine.say(type="tool_running", **ids)
    engine.say(type="tool_result", **ids, status="success", output="ok", output_type="text")
    engine.card_then_finish()


def race(engine: Engine) -> None:
    """Fifty cards that are over before the host can have read them, and one that is not."""
    engine.ready()
    engine.start_turn()
    for n in range(50):
        engine.ask(f"c{n}", expires_in_s=1, digest=f"d-{n}")
        ids = {"msg_id": engine.msg_id, "call_id": f"c{n}"}
        engine.say(type="call_settled", **ids, outcome="cancelled", by="policy")
        engine.cancel(f"c{n}", "overtaken")
    engine.card_then_finish()


def suspended(engine: Engine) -> None:
    engine.ready(hitl_suspend=True)
    engine.start_turn()
    options = [{"label": "a", "description": ""}, {"label": "b", "description": ""}]
    args = {"question": "Which?", "header": "h", "options": options, "multiSelect": False}
    tool = {"name": "AskUserQuestion", "category": "info", "args": args, "description": "Which?"}
    engine.ask("q1", tool=tool, expires_in_s=300, digest="d-q")
    token = {"resume_token": "rt-1"}
    wanted = {"reason": "Tool requires host decision", "context": "AskUserQuestion: Which?"}
    engine.say(type="approval_required", call_id="q1", correlation_id="rt-1", **token, **wanted)
    engine.say(type="suspend", reason="awaiting host decision", **token)
    engine.answers("q1")
    engine.say(type="approval_resume", approved=False, **token)
    engine.card_then_finish()


def error_in_turn(engine: Engine) -> None:
    engine.ready()
    engine.start_turn()
    problem = {"code": "refused", "message": "that could not be done", "retryable": False}
    engine.say(type="error", error=problem)
    engine.say(type="info", msg_id="", message="for your information")
    engine.say(type="thinking", msg_id=engine.msg_id, text="")
    engine.card_then_finish()


def slow_start(engine: Engine) -> None:
    time.sleep(SLOW_S)
    plain(engine)


def long_line(engine: Engine) -> None:
    engine.ready()
    engine.start_turn()
    engine.say(type="text_delta", msg_id=engine.msg_id, text="x" * LONG_BYTES)
    engine.card_then_finish()


def split_characters(engine: Engine) -> None:
    """Every byte of a line alone, in the middle of characters too."""
    engine.ready()
    engine.start_turn()
    text = "grüße ∑ 🙂\n"
    event = {"type": "text_delta", "msg_id": engine.msg_id, "text": text}
    for byte in json.dumps(event, ensure_ascii=False).encode() + b"\n":
        engine.say_bytes(bytes([byte]))
        time.sleep(0.002)
    engine.card_then_finish()


def flood(engine: Engine) -> None:
    engine.ready()
    engine.start_turn()
    for _ in range(FLOOD_EVENTS):
        engine.say(type="thinking", msg_id=engine.msg_id, text="x" * 10_000)
    engine.card_then_finish()


def talkative_log(engine: Engine) -> None:
    for n in range(LOG_LINES):
        sys.stderr.write(f"log {n}\n")
    sys.stderr.flush()
    plain(engine)


def terminal_tricks(engine: Engine) -> None:
    engine.ready()
    engine.start_turn()
    engine.say(type="text_delta", msg_id=engine.msg_id, text=f"{ESCAPE}hello\n")
    args = {"command": f"echo {ESCAPE}"}
    tool = {"name": "Bash", "category": "exec", "args": args, "description": f"Execute: {ESCAPE}"}
    preview = {"kind": "command", "text": f"echo {ESCAPE}", "truncated": False}
    engine.ask("c1", tool=tool, preview=preview, expires_in_s=300, digest="d")
    engine.answers("c1")
    engine.finish()


def noise(engine: Engine) -> None:
    engine.ready()
    engine.say_bytes(b'not json\n[1]\n{"type":7}\n\n{"type":"info","message":"\xff"}\n')
    engine.start_turn()
    engine.card_then_finish()


def crash(engine: Engine) -> None:
    engine.ready()
    engine.start_turn()
    engine.say(type="text_delta", msg_id=engine.msg_id, text="about to")
    engine.note("done")
    os._exit(7)


def crash_at_a_card(engine: Engine) -> None:
    engine.ready()
    engine.start_turn()
    engine.ask("c1", expires_in_s=300, digest="d")
    engine.note("done")
    engine.say_bytes(b'{"type":"tool_res')
    os._exit(7)


def refuses_to_start(engine: Engine) -> None:
    message = f"Engine failed to start: {REFUSAL}"
    engine.note("done")  # first: a host may end us as soon as it has heard
    engine.say(type="error", error={"code": "init_failed", "message": message, "retryable": False})
    os._exit(1)


def never_starts(engine: Engine) -> None:
    sys.stderr.write("no such flag\n")
    engine.note("done")
    os._exit(3)


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "plain": Scenario("One card, answered", ("WC-HOST-001", "WC-WIRE-002", "WC-EOF-008"), plain),
    "baseline": Scenario(
        "An engine without any flag: nothing optional is sent", ("WC-VERS-002",), baseline
    ),
    "unknown": Scenario(
        "Unknown events, fields, flags and values", ("WC-VERS-001", "WC-VERS-003"), unknown
    ),
    "parallel": Scenario("Three cards at once", ("WC-HOST-001",), parallel),
    "late-settle": Scenario(
        "A card that expires while it is shown", ("WC-HOST-002", "WC-HOST-009"), late_settle
    ),
    "settled-elsewhere": Scenario(
        "A card that somebody else approved", ("WC-HOST-002",), settled_elsewhere
    ),
    "race": Scenario("Fifty cards that are over at once", ("WC-HOST-002", "WC-HOST-009"), race),
    "suspended": Scenario("A question that also suspends", ("WC-HOST-001",), suspended),
    "error-in-turn": Scenario(
        "An error does not end the turn", ("WC-HOST-007", "WC-HOST-006"), error_in_turn
    ),
    "slow-start": Scenario("ready after six seconds", ("WC-HOST-009",), slow_start),
    "long-line": Scenario("A line of nearly 8 MiB", ("WC-WIRE-020",), long_line),
    "split-characters": Scenario(
        "A line byte by byte", ("WC-WIRE-020",), split_characters, shows="grüße ∑ 🙂"
    ),
    "flood": Scenario("Thirty megabytes at once", ("WC-WIRE-021",), flood),
    "talkative-log": Scenario("A megabyte of log", ("WC-WIRE-021",), talkative_log),
    "terminal-tricks": Scenario(
        "Escape sequences in text and card", ("WC-HOST-005",), terminal_tricks, hides=ESCAPE
    ),
    "noise": Scenario("Lines that are no events", ("WC-HOST-009",), noise, advisory=True),
    "crash": Scenario(
        "The engine ends in the turn", ("WC-EOF-007", "WC-HOST-009"), crash, crashes=True
    ),
    "crash-at-a-card": Scenario(
        "The engine ends at a card", ("WC-EOF-007", "WC-HOST-009"), crash_at_a_card, crashes=True
    ),
    "refuses-to-start": Scenario(
        "The engine says why it does not start",
        ("WC-HAND-015",),
        refuses_to_start,
        crashes=True,
        shows=REFUSAL,
    ),
    "never-starts": Scenario(
        "The engine ends silently", ("WC-HAND-015",), never_starts, crashes=True
    ),
}
