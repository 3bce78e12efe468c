"""How an engine may strain a host: slow, long, broken, dead, one function each."""

import json
import os
import signal
import sys
import time
from typing import Final

from wcore.conformance.host.approval_scenarios import plain
from wcore.conformance.host.fake_engine import Engine

LINGERING_S: Final = 20.0  # hosts wait some seconds before they send a signal
SLOW_S: Final = 6.0  # a start that is slow and still within what hosts wait
LONG_BYTES: Final = 8 * 1024 * 1024 - 200  # a line just within the limit
FLOOD_EVENTS: Final = 3000  # of ten kilobytes: more than fits into any pipe
LOG_LINES: Final = 100_000  # a megabyte of log, more than fits into any pipe
REFUSAL: Final = "no key for this provider"
ESCAPE: Final = "\x1b]0;owned\x07\x1b[2J"


def slow_start(engine: Engine) -> None:
    time.sleep(SLOW_S)
    plain(engine)


def long_line(engine: Engine) -> None:
    engine.begin()
    engine.say(type="text_delta", msg_id=engine.msg_id, text="x" * LONG_BYTES)
    engine.card_then_finish()


def split_characters(engine: Engine) -> None:
    """Every byte of a line alone, in the middle of characters too."""
    engine.begin()
    text = "grüße ∑ 🙂\n"
    event = {"type": "text_delta", "msg_id": engine.msg_id, "text": text}
    for byte in json.dumps(event, ensure_ascii=False).encode() + b"\n":
        engine.say_bytes(bytes([byte]))
        time.sleep(0.002)
    engine.card_then_finish()


def flood(engine: Engine) -> None:
    engine.begin()
    for _ in range(FLOOD_EVENTS):
        engine.say(type="thinking", msg_id=engine.msg_id, text="x" * 10_000)
    engine.card_then_finish()


def talkative_log(engine: Engine) -> None:
    for n in range(LOG_LINES):
        sys.stderr.write(f"log {n}\n")
    sys.stderr.flush()
    plain(engine)


def terminal_tricks(engine: Engine) -> None:
    engine.begin()
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
    engine.begin()
    engine.say(type="text_delta", msg_id=engine.msg_id, text="about to")
    engine.note("done")
    os._exit(7)


def crash_at_a_card(engine: Engine) -> None:
    engine.begin()
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


def lingers(engine: Engine) -> None:
    """The end of its input does not end it: it must be told by SIGTERM."""

    def leave(_number: int, _frame: object) -> None:
        if engine.input_ended:
            engine.note("told")
        else:
            engine.note("wrong", "the host sent SIGTERM before it closed the engine's stdin")
        os._exit(0)

    signal.signal(signal.SIGTERM, leave)
    engine.begin()
    engine.end_turn()
    time.sleep(LINGERING_S)
    engine.note("wrong", "the host leaves an engine behind that its end of input did not end")
    os._exit(0)
