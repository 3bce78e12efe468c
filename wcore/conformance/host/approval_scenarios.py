"""What an engine may do to a host with turns and cards, one function each.

The last card of a scenario says whether the host survived it.
"""

from typing import Final

from wcore.conformance.host.fake_engine import Engine, JsonObject

LONG_CHARS: Final = 3000  # more than any screen shows at once
THE_END: Final = "rm -r the-end-of-it"
NEWS: Final = "the model is asked for the second time"
BY_ITSELF: Final = "echo nobody-was-asked"


def plain(engine: Engine) -> None:
    engine.begin()
    engine.say(type="text_delta", msg_id=engine.msg_id, text="hello\n")
    engine.card_then_finish()


def baseline(engine: Engine) -> None:
    """An engine of the first days: four fields on a card and no flag of ours."""
    engine.begin(flags=())
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
    why: JsonObject = {"row": "invented", "detail": "a row nobody knows", "more": {}}
    engine.ask(
        "c1", why=why, expires_in_s=60, digest="d", preview={"kind": "hologram", "text": "x"}
    )
    engine.answers("c1")
    tool: JsonObject = {"name": "Warp", "category": "invented", "args": {}, "description": "Warp"}
    engine.say(type="call_announced", msg_id=turn, call_id="c2", tool=tool, why=why)
    ended = {"status": "success", "output": "x", "output_type": "hologram"}
    engine.say(type="tool_result", msg_id=turn, call_id="c2", tool_name="Warp", **ended)
    engine.say(type="error", error={"code": "invented", "message": "odd", "retryable": False})
    engine.ask("last", suggestions=["once", {"always_moon": {"phase": 1}}], expires_in_s=60)
    engine.answers("last")
    engine.finish("invented")


def parallel(engine: Engine) -> None:
    engine.begin()
    for call_id in ("c1", "c2", "c3"):
        engine.ask(call_id, expires_in_s=300, digest=f"d-{call_id}")
    engine.answers("c1", "c2", "c3")
    engine.card_then_finish()


def late_settle(engine: Engine) -> None:
    """A card that the engine closes: by expiry, as a host finds it in the wild."""
    engine.begin()
    engine.ask("c1", expires_in_s=0, digest="d-c1")
    ids = {"msg_id": engine.msg_id, "call_id": "c1"}
    engine.say(type="call_settled", **ids, outcome="expired", by="timeout")
    engine.cancel("c1", "approval timed out (no host response)")
    engine.card_then_finish()


def settled_elsewhere(engine: Engine) -> None:
    """A card that ends by a result, without a word about who approved it."""
    engine.begin(flags=())
    engine.ask("c1")
    engine.end_card("c1")
    ids = {"msg_id": engine.msg_id, "call_id": "c1", "tool_name": "Bash"}
    engine.say(type="tool_running", **ids)
    engine.say(type="tool_running", **ids)
    engine.say(type="tool_result", **ids, status="success", output="ok", output_type="text")
    engine.card_then_finish()


def race(engine: Engine) -> None:
    """Fifty cards that are over before the host can have read them, and one that is not."""
    engine.begin()
    for n in range(50):
        engine.ask(f"c{n}", expires_in_s=1, digest=f"d-{n}")
        ids = {"msg_id": engine.msg_id, "call_id": f"c{n}"}
        engine.say(type="call_settled", **ids, outcome="cancelled", by="policy")
        engine.cancel(f"c{n}", "overtaken")
    engine.card_then_finish()


def suspended(engine: Engine) -> None:
    engine.begin(hitl_suspend=True)
    _question(engine, "b", several=False)
    token = {"resume_token": "rt-1"}
    wanted = {"reason": "Tool requires host decision", "context": "AskUserQuestion: Which?"}
    engine.say(type="approval_required", call_id="q1", correlation_id="rt-1", **token, **wanted)
    engine.say(type="suspend", reason="awaiting host decision", **token)
    engine.answers("q1")
    engine.say(type="approval_resume", approved=False, **token)
    engine.card_then_finish()


def error_in_turn(engine: Engine) -> None:
    engine.begin()
    problem = {"code": "refused", "message": "that could not be done", "retryable": False}
    engine.say(type="error", error=problem)
    engine.say(type="thinking", msg_id=engine.msg_id, text="")
    engine.card_then_finish()


def information(engine: Engine) -> None:
    """News while a card is open, which it does not change."""
    engine.begin()
    engine.command("c1", "echo one")
    engine.say(type="info", msg_id=engine.msg_id, message=NEWS)
    engine.answers("c1")
    engine.finish()


def multi_select(engine: Engine) -> None:
    engine.begin()
    _question(engine, "b, c", several=True)
    engine.answers("q1")
    engine.card_then_finish()


def without_a_yes(engine: Engine) -> None:
    """A card to which nobody says yes: what is typed means nothing, or nothing is typed."""
    engine.begin()
    engine.ask("c1", expires_in_s=300, digest="d-c1")
    engine.no_yes("c1")
    engine.finish()


def long_command(engine: Engine) -> None:
    """A card whose most interesting part comes last."""
    engine.begin()
    engine.command("c1", f"echo {'x' * LONG_CHARS}; {THE_END}")
    engine.answers("c1")
    engine.finish()


def unattended(engine: Engine) -> None:
    engine.begin()
    engine.command("c1", BY_ITSELF)
    engine.answers("c1")
    engine.finish()


def _question(engine: Engine, label: str, *, several: bool) -> None:
    """Ask a question with two options; `label` is the second one."""
    options = [{"label": "a", "description": ""}, {"label": label, "description": ""}]
    args = {"question": "Which?", "header": "h", "options": options, "multiSelect": several}
    tool = {"name": "AskUserQuestion", "category": "info", "args": args, "description": "Which?"}
    engine.ask("q1", tool=tool, expires_in_s=300, digest="d-q")
