"""Plays the steps of one case, one function a kind of step."""

import json
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final, cast

import anyio

from wcore.conformance.cases import kind_of
from wcore.conformance.engine.assertions import LOOKERS
from wcore.conformance.engine.case_context import CaseContext
from wcore.conformance.engine.command import HookMissingError
from wcore.conformance.engine.conversation import PATIENCE_S, MismatchError, ending
from wcore.conformance.engine.patterns import MISSING, filled, found
from wcore.conformance.json_object import JsonObject
from wcore.conformance.script import PAD


async def play(context: CaseContext, steps: list[JsonObject]) -> None:
    """Play `steps` in order.

    Raises:
        MismatchError: something else came of one than it says.
        ViolationError: an invariant does not hold.
    """
    for raw in steps:
        kind = kind_of(raw)
        if kind == "each":
            await _each(context, raw)
        else:
            await _PLAYERS[kind](context, cast("JsonObject", filled(raw, context.known)))


async def _each(context: CaseContext, step: JsonObject) -> None:
    given = step["each"]
    for n, item in enumerate(range(given) if isinstance(given, int) else given, 1):
        context.known |= {"it": filled(item, context.known), "n": n}
        await play(context, step["steps"])


async def _send(context: CaseContext, step: JsonObject) -> None:
    command = cast("JsonObject", step["send"])
    if size := step.get("bytes"):
        text = json.dumps(command)
        bare = len(text.replace(PAD, "")) + 1
        command = json.loads(text.replace(PAD, "x" * (size - bare)))
    await context.engine.say(command)


async def _raw(context: CaseContext, step: JsonObject) -> None:
    text = step["raw"] * step.get("times", 1)
    with suppress(ValueError, RecursionError):  # most raw lines are no commands, some are
        command = json.loads(text)
        if isinstance(command, dict):
            context.engine.watch.said(cast("JsonObject", command))
    await context.engine.say_bytes((text + step.get("end", "\n")).encode())


async def _hex(context: CaseContext, step: JsonObject) -> None:
    await context.engine.say_bytes(bytes.fromhex(step["hex"]))


async def _message(context: CaseContext, step: JsonObject) -> None:
    context.turns += 1
    msg_id = step.get("msg_id", f"m{context.turns}")
    context.known["turn"] = msg_id
    await context.engine.say({"type": "message", "msg_id": msg_id, "content": step["message"]})
    if step.get("started", True):
        pattern = {"hear": {"type": "stream_start", "msg_id": msg_id}}
        await context.engine.hear([pattern], None)


async def _hear(context: CaseContext, step: JsonObject) -> None:
    passing = step.get("passing", [])
    (event,) = await context.engine.hear([step], step.get("within_s"), passing)
    if name := step.get("as"):
        context.known[name] = event


async def _hear_all(context: CaseContext, step: JsonObject) -> None:
    wanted = cast("list[JsonObject]", step["hear_all"])
    events = await context.engine.hear(wanted, step.get("within_s"), step.get("passing", []))
    for one, event in zip(wanted, events, strict=True):
        if name := one.get("as"):
            context.known[name] = event


async def _race(context: CaseContext, step: JsonObject) -> None:
    """Answer every question in the moment in which it is read, until all have ended."""
    asked = ended = 0
    while ended < step["times"]:
        event = await context.engine.next(PATIENCE_S)
        if event["type"] == "tool_request":
            asked += 1
            await context.engine.say({**step["race"], "call_id": event["call_id"]})
        elif event["type"] == "tool_result" and event["status"] == "success":
            ended += 1
        elif event["type"] in ("tool_cancelled", "stream_end", "error"):
            raise MismatchError(f"{event['type']} after {asked} questions and {ended} results")


async def _until(context: CaseContext, step: JsonObject) -> None:
    """Answer whatever is asked until an event comes; nothing may run."""
    while (event := await context.engine.next(PATIENCE_S))["type"] != step["until"]:
        if event["type"] == "tool_request":
            await context.engine.say({"type": step["answer"], "call_id": event["call_id"]})
        elif event["type"] == "tool_running":
            raise MismatchError("tool_running comes, and nothing was approved")


async def _hear_text(context: CaseContext, step: JsonObject) -> None:
    times = step.get("times")
    text = step["hear_text"]
    if times is not None:
        text = "".join(text.replace("{n}", str(n)) for n in range(1, times + 1))
    await context.engine.hear_text(text)


async def _quiet(context: CaseContext, step: JsonObject) -> None:
    passing = step.get("passing", [])
    await context.engine.quiet(step["quiet"], step.get("within_s"), passing)


async def _eof(context: CaseContext, _: JsonObject) -> None:
    await context.engine.end_input()


async def _signal(context: CaseContext, step: JsonObject) -> None:
    context.engine.note(f"SIG{step['signal']}")
    context.engine.child.signal(signal.Signals[f"SIG{step['signal']}"])


async def _exit(context: CaseContext, step: JsonObject) -> None:
    code = await context.engine.exit_code(step.get("within_s"))
    _check_exit(code, step["exit"])


async def _gone(context: CaseContext, step: JsonObject) -> None:
    """Wait until the process has ended, however."""
    wait_s = step["within_s"] * context.engine.slack
    with anyio.move_on_after(wait_s):
        await context.engine.child.wait()
        return
    raise MismatchError(f"the engine does not end within {wait_s:g} s")


async def _start(context: CaseContext, step: JsonObject) -> None:
    context.talk = await context.start(cast("list[str]", step["start"]))
    context.talks.append(context.talk)


async def _run(context: CaseContext, step: JsonObject) -> None:
    flags = cast("list[str]", step["run"])
    code, out = await context.run(flags, step.get("within_s", PATIENCE_S))
    _check_exit(code, step.get("exit", 0))
    if "lines" in step and len(out.splitlines()) != step["lines"]:
        raise MismatchError(f"stdout has {len(out.splitlines())} lines, not {step['lines']}")


async def _close_stdout(context: CaseContext, _: JsonObject) -> None:
    context.engine.note("the host closes the engine's stdout")
    context.engine.child.close_stdout()


async def _wait(_: CaseContext, step: JsonObject) -> None:
    await anyio.sleep(step["wait_s"])


async def _needs(context: CaseContext, step: JsonObject) -> None:
    context.needs(step["needs"])


async def _given(context: CaseContext, step: JsonObject) -> None:
    """Go on only if an optional field came."""
    if found(context.known, step["given"]) is MISSING:
        raise HookMissingError(f"{step['given']} is not there, and need not be")


def _check_exit(code: int, wanted: int | str | list[int]) -> None:
    if wanted == "nonzero":
        fits = code != 0
    else:
        fits = code in wanted if isinstance(wanted, list) else code == wanted
    if not fits:
        raise MismatchError(f"the engine {ending(code)}, not with {wanted}")


_PLAYERS: Final[Mapping[str, Callable[[CaseContext, JsonObject], Awaitable[None]]]] = {
    **LOOKERS,
    "send": _send,
    "raw": _raw,
    "hex": _hex,
    "message": _message,
    "hear": _hear,
    "hear_all": _hear_all,
    "race": _race,
    "hear_text": _hear_text,
    "quiet": _quiet,
    "eof": _eof,
    "signal": _signal,
    "exit": _exit,
    "start": _start,
    "run": _run,
    "close_stdout": _close_stdout,
    "wait_s": _wait,
    "needs": _needs,
    "given": _given,
    "gone": _gone,
    "until": _until,
}
