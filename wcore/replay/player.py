"""Runs the engine again on a recorded session, without effects, and compares what it does.

Only what comes from outside is recorded: what the host said, what the model replied, what tools,
store and clock came to. Everything else is the real engine.
Nothing here can write, start a program or reach the network.
"""

import asyncio
import inspect
from collections.abc import Iterator, Sequence

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from wcore.engine.engine import Engine
from wcore.engine.lazy import load
from wcore.persistence.restore import restore
from wcore.replay.host import NoWriter, RecordedHost
from wcore.replay.session import ReplaySetup, set_up
from wcore.replay.timeline import Divergence, RecordItem, Timeline, items_of
from wcore.replay.unsupported import refuse
from wcore.store import JournalRecord, Kind, SessionRow
from wcore.tools.tool import ToolEnvironment


class Replayed(Struct, frozen=True):
    """What came of a replay. `open_end`: no record says that the last engine ended in order."""

    starts: int
    records: int
    events: int
    open_end: bool
    divergence: Divergence | None = None


def replay(row: SessionRow, records: Sequence[JournalRecord]) -> Replayed:
    """Replay all engines of a session, one after the other, up to the first difference.

    Raises:
        UnreplayableError: the recording lacks what a replay needs, or has what none can follow.
        UnreadableJournalError: a record makes no sense.
    """
    refuse(records)
    load()  # before anything waits for it
    events, starts, open_end = 0, 0, True
    for begin, end in _engines(records):
        items = items_of(records[begin + 1 : end], events)
        script = Timeline(items)
        setup = set_up(row, records[begin].body, script, restore(records[:begin]))
        starts += 1
        anyio.run(_play, setup, script)
        open_end = records[end - 1].kind is not Kind.CLOSED
        if script.divergence is not None:
            return Replayed(starts, len(records), events, open_end, script.divergence)
        events += _said(records[begin:end])
    return Replayed(starts, len(records), events, open_end)


def _engines(records: Sequence[JournalRecord]) -> Iterator[tuple[int, int]]:
    """Yield from where to where each engine has written."""
    begins = [at for at, record in enumerate(records) if record.kind is Kind.OPENED]
    return zip(begins, [*begins[1:], len(records)], strict=True)


def _said(records: Sequence[JournalRecord]) -> int:
    items = items_of(records, 0)
    return max((getattr(item, "number", 0) for item in items), default=0)


async def _play(setup: ReplaySetup, script: Timeline) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(script.watch)
        tasks.start_soon(_serve, setup, script, tasks)
        await script.over.wait()
        await _end_all()


async def _end_all() -> None:
    """End all tasks as the end of a process would, those too that nothing else may cancel."""
    this = asyncio.current_task()
    while left := [task for task in asyncio.all_tasks() if task is not this]:
        for task in left:
            coroutine = task.get_coro()  # one that has not begun would be lost, not ended
            begun = not inspect.iscoroutine(coroutine) or (
                inspect.getcoroutinestate(coroutine) != inspect.CORO_CREATED
            )
            if begun:
                task.cancel()
        await asyncio.sleep(0)


async def _serve(setup: ReplaySetup, script: Timeline, tasks: TaskGroup) -> None:
    session = setup.session
    places = session.settings.places
    environment = ToolEnvironment(places.workspace, places.home, {}, lambda _: True)
    host = RecordedHost(script, session.approvals)
    engine = Engine(session, host, NoWriter(), environment, warm=lambda: None, signals=host.signals)
    await engine.serve()
    if isinstance(script.head, RecordItem) and script.head.kind is Kind.CLOSED:
        script.take(RecordItem(Kind.CLOSED, {}))
    script.end()
