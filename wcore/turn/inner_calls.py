"""Calls that a running tool makes: the same gate, the same card, never in the model's history."""

from collections.abc import Awaitable, Callable

import anyio

from wcore.approval import reasons
from wcore.approval.manager import Denied
from wcore.persistence import records
from wcore.store import Kind
from wcore.tools.tool import Tool
from wcore.turn import gate
from wcore.turn.tool_call import Flight, Refusal
from wcore.vocabulary import Args, By, ModelCall

Effect = Callable[[Flight], Awaitable[None]]


async def ask(outer: Flight, effect: Effect, tool: Tool, args: Args) -> None:
    """Gate a call of `tool` that the running call `outer` makes; run it if it may.

    Returns when it has ended. Cancelling withdraws it: its card is settled or its effect
    cancelled, and the host has been told before the cancellation leaves.
    """
    journal = outer.session.journal
    journal.record(Kind.FOUND, **records.inner(outer.call_id, tool.spec.name, args))
    call_id = outer.session.new_call_id("")
    flight = Flight(outer.turn, call_id, ModelCall("", tool.spec.name, args), inner=tool)
    running = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_withdraw, flight, running)
        with anyio.CancelScope(shield=True):
            await _fly(flight, effect, running)
        tasks.cancel_scope.cancel()


async def _withdraw(flight: Flight, running: anyio.CancelScope) -> None:
    """Wait to be cancelled; then nobody waits for the call any more."""
    try:
        await anyio.sleep_forever()
    finally:
        if not flight.ended.is_set():
            with anyio.CancelScope(shield=True):
                await flight.session.journal.record_sync_point(
                    f"{records.WITHDRAWN} {flight.call_id}"
                )
        running.cancel()
        over = Denied(reasons.WITHDRAWN, By.POLICY)
        flight.session.approvals.try_resolve(flight.call_id, over)


async def _fly(flight: Flight, effect: Effect, running: anyio.CancelScope) -> None:
    try:
        if await gate.gate(flight) is not gate.Step.READY:
            return
        if flight.pending is not None and not await gate.hear(flight, flight.pending):
            return
        with running:
            await effect(flight)
        if not flight.ended.is_set():
            over = flight.turn.ending is None
            await (flight.cancel(Refusal(reasons.WITHDRAWN)) if over else flight.stop())
    except Exception:  # noqa: BLE001 - a bug in it must not take the outer call along
        await flight.break_off()
