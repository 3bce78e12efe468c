"""Calls that a running tool makes: the same gate, the same card, never in the model's history."""

from collections.abc import Awaitable, Callable

import anyio

from wcore.approval import reasons
from wcore.approval.manager import Denied
from wcore.tools.tool import Tool
from wcore.turn import gate
from wcore.turn.call import ToolCall
from wcore.turn.finish import Refusal, finish, finished_after_bug, stopped
from wcore.vocabulary import Args, By, ModelCall

Effect = Callable[[ToolCall], Awaitable[None]]


async def ask(outer: ToolCall, effect: Effect, tool: Tool, args: Args) -> None:
    """Gate a call of `tool` that the running call `outer` makes; run it if it may.

    Returns when it has ended. Cancelling withdraws it: its card is settled or its effect
    cancelled, and the host has been told before the cancellation leaves.
    """
    call_id = outer.session.new_call_id("")
    call = ToolCall(outer.control, call_id, ModelCall("", tool.spec.name, args), inner=tool)
    running = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_withdraw_on_cancel, call, running)
        with anyio.CancelScope(shield=True):
            await _run_call(call, effect, running)
        tasks.cancel_scope.cancel()


async def _withdraw_on_cancel(call: ToolCall, running: anyio.CancelScope) -> None:
    """Wait to be cancelled; then nobody waits for the call any more."""
    try:
        await anyio.sleep_forever()
    finally:
        running.cancel()
        over = Denied(reasons.WITHDRAWN, By.POLICY)
        call.session.approvals.try_resolve(call.call_id, over)


async def _run_call(call: ToolCall, effect: Effect, running: anyio.CancelScope) -> None:
    async with finished_after_bug(call):
        await gate.gate(call)
        if call.ended.is_set():
            return
        if call.pending is not None and not await gate.await_answer(call, call.pending):
            return
        with running:
            await effect(call)
        if not call.ended.is_set():
            is_stopped = call.control.ending is not None
            await finish(call, stopped(call) if is_stopped else Refusal(reasons.WITHDRAWN))
