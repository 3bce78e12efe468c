"""All calls of one model reply: which may go together and which must wait for another.

The rules, in the order they apply:
- a call on a file that an earlier unfinished call will change is prepared after that one ended;
- so is a call that will change a file which an earlier unfinished command names: a person who
  says yes to `sh x` means the `x` of that moment;
- an exec or mcp call that needs no question waits, unannounced, for the earlier edit, exec and
  mcp calls, and is then prepared and decided anew; agents (`Spawn`) do not wait for each other;
- everything else is prepared and announced at once, in the model's order;
- calls beyond `CALLS_MAX` are announced and end in an error, without being looked at;
- results go back in the model's order, one a call, whatever happened.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import anyio

from wcore.approval.table import State
from wcore.persistence.restore import OpenCall
from wcore.turn import execution, gate
from wcore.turn.call import ToolCall
from wcore.turn.control import TurnControl
from wcore.turn.finish import finish, finished_after_bug, stopped
from wcore.vocabulary import Category, ModelCall, ToolMessage, ToolOutput

CALLS_MAX: Final = 1024  # of one reply; as many as may wait, and more than anybody reads
TOO_MANY: Final = f"not run: a reply may ask for {CALLS_MAX} calls, ask for the others again"

NOTHING: Final[Mapping[str, OpenCall]] = MappingProxyType({})


async def run_batch(
    control: TurnControl,
    model_calls: Sequence[tuple[str, ModelCall]],
    interrupted: Mapping[str, OpenCall] = NOTHING,
) -> list[ToolMessage]:
    """Gate and run `model_calls`; return one result for each, in their order.

    `interrupted` is what an earlier engine left of them, by `call_id`.
    """
    calls: list[ToolCall] = []
    for call_id, model_call in model_calls:
        calls.append(ToolCall(control, call_id, model_call, calls, interrupted.get(call_id)))
    async with anyio.create_task_group() as tasks:
        for call in calls[:CALLS_MAX]:
            if not _writers_before(call):
                await _gate(call)
            if call.ended.is_set():
                continue
            if call is calls[-1]:  # mostly the only one: it needs no task of its own
                await _run_call(call)
            else:
                tasks.start_soon(_run_call, call)
        for call in calls[CALLS_MAX:]:
            await _leave_out(call)
    return [call.result for call in calls]


async def _leave_out(call: ToolCall) -> None:
    """Announce a call that is too many, and end it; nothing of it was looked at."""
    async with finished_after_bug(call):
        is_stopped = call.control.ending is not None
        await finish(call, stopped(call) if is_stopped else ToolOutput.failed(TOO_MANY))


async def _run_call(call: ToolCall) -> None:
    while call.state is State.PROPOSED and not call.ended.is_set():  # earlier calls come first
        delaying = [other for other in call.earlier if other.delays(call)]
        await call.wait_for(_writers_before(call) or delaying)
        await _gate(call)
    async with finished_after_bug(call):
        if call.ended.is_set():
            return
        if call.pending is None or await gate.await_answer(call, call.pending):
            await execution.run(call)


async def _gate(call: ToolCall) -> None:
    async with finished_after_bug(call):
        await gate.gate(call)


def _writers_before(call: ToolCall) -> list[ToolCall]:
    """Return the earlier unfinished calls whose end a call on the same files waits for."""
    return [
        other for other in call.earlier if not other.ended.is_set() and _come_in_order(other, call)
    ]


def _come_in_order(first: ToolCall, then: ToolCall) -> bool:
    kinds = (first.category, then.category)
    if kinds in ((Category.EDIT, Category.EXEC), (Category.EXEC, Category.EDIT)):
        return bool((first.target_paths | _names(first)) & (then.target_paths | _names(then)))
    return first.category is Category.EDIT and bool(first.target_paths & then.target_paths)


def _names(call: ToolCall) -> set[str]:
    """Return the names of the files: a command names them without their folders."""
    return {path.rpartition("/")[2] for path in call.target_paths}
