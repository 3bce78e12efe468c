"""All calls of one model reply: which may go together and which must wait for another.

The rules, in the order they apply:
- a call on a file that an earlier unfinished call will change is prepared after that one ended;
- so is a call that will change a file which an earlier unfinished command names: a person who
  says yes to `sh x` means the `x` of that moment;
- everything else is prepared and announced at once, in the model's order;
- an exec or mcp call that needs no question waits, unannounced, for the earlier edit, exec and
  mcp calls, and is then prepared and decided anew;
- calls beyond `CALLS_MAX` are announced and end in an error, without being looked at;
- results go back in the model's order, one a call, whatever happened.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import anyio

from wcore.persistence.restore import OpenCall
from wcore.store import Kind
from wcore.turn import execution, gate
from wcore.turn.gate import Step
from wcore.turn.tool_call import Flight
from wcore.vocabulary import Category, ModelCall, ToolMessage

if TYPE_CHECKING:
    from wcore.turn.turn import Turn

CALLS_MAX: Final = 1024  # of one reply; as many as may wait, and more than anybody reads
TOO_MANY: Final = f"not run: a reply may ask for {CALLS_MAX} calls, ask for the others again"

NOTHING: Final[Mapping[str, OpenCall]] = MappingProxyType({})


async def run_batch(
    turn: "Turn", calls: Sequence[tuple[str, ModelCall]], left: Mapping[str, OpenCall] = NOTHING
) -> list[ToolMessage]:
    """Gate and run `calls`; return one result for each, in their order.

    `left` is what an earlier engine left of them.
    """
    flights: list[Flight] = []
    for call_id, call in calls:
        flights.append(Flight(turn, call_id, call, flights, left.get(call_id)))
    if len(flights) > 1:  # then their order hangs on where their paths lead
        of = {flight.call_id: sorted(flight.target_paths) for flight in flights}
        turn.session.journal.record(Kind.FOUND, what="targets", of=of)
    async with anyio.create_task_group() as tasks:
        for flight in flights[:CALLS_MAX]:
            step = Step.HELD if _writers_before(flight) else await _gate(flight)
            if step is not Step.ENDED:
                tasks.start_soon(_fly, flight, step)
        for flight in flights[CALLS_MAX:]:
            await _leave_out(flight)
    return [flight.result for flight in flights]


async def _leave_out(flight: Flight) -> None:
    """Announce a call that is too many, and end it; nothing of it was looked at."""
    try:
        await (flight.fail(TOO_MANY) if flight.turn.ending is None else flight.stop())
    except Exception:  # noqa: BLE001 - one call's bug must not take its neighbours along
        await flight.break_off()


async def _fly(flight: Flight, step: Step) -> None:
    while step is Step.HELD:
        delaying = [other for other in flight.earlier if other.delays(flight)]
        await flight.wait_for(_writers_before(flight) or delaying)
        step = await _gate(flight)
    if step is Step.READY:
        try:
            if flight.pending is None or await gate.hear(flight, flight.pending):
                await execution.run(flight)
        except Exception:  # noqa: BLE001 - one call's bug must not take its neighbours along
            await flight.break_off()


async def _gate(flight: Flight) -> Step:
    try:
        return await gate.gate(flight)
    except Exception:  # noqa: BLE001 - one call's bug must not take its neighbours along
        await flight.break_off()
        return Step.ENDED


def _writers_before(flight: Flight) -> list[Flight]:
    """Return the earlier unfinished calls whose end a call on the same files waits for."""
    return [
        other
        for other in flight.earlier
        if not other.ended.is_set() and _come_in_order(other, flight)
    ]


def _come_in_order(first: Flight, then: Flight) -> bool:
    kinds = (first.category, then.category)
    if kinds in ((Category.EDIT, Category.EXEC), (Category.EXEC, Category.EDIT)):
        return bool((first.target_paths | _names(first)) & (then.target_paths | _names(then)))
    return first.category is Category.EDIT and bool(first.target_paths & then.target_paths)


def _names(flight: Flight) -> set[str]:
    """Return the names of the files: a command names them without their folders."""
    return {path.rpartition("/")[2] for path in flight.target_paths}
