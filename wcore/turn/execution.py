"""The effect of a call that may run: write it down, run it, pass on what it says without secrets.

`batch.py` calls `run` when the gate and the answer let a call through. The host sees
`tool_running`, `tool_chunk` with pieces such as `"3 passed"`, and `tool_result`; the journal
holds `started` before the tool begins and `ended` after it.
"""

import logging
from functools import partial
from typing import Final

import anyio
from msgspec import Struct

from wcore.approval import reasons
from wcore.approval.redaction import StreamRedactor
from wcore.approval.table import Move
from wcore.errors import ToolError
from wcore.persistence import records
from wcore.tools.tool import RunContext, Tool
from wcore.turn import announce, inner_calls
from wcore.turn.call import ToolCall
from wcore.turn.finish import finish, stopped, unrecorded
from wcore.turn.policy_reload import require_store
from wcore.turn.subagents import spawn
from wcore.vocabulary import Access, Category, Prepared, ToolOutput

HEARTBEAT_S: Final = 10.0  # hosts of this family call an engine dead after 15 s of silence

INTERNAL: Final = "internal error in the tool"
EXHAUSTED: Final = (
    "the engine gets no more memory or threads: the machine is short of them, or a limit is too "
    "small (`ulimit -v`, `ulimit -u`, or that of a container)"
)

log = logging.getLogger("wcore.turn")


async def run(call: ToolCall) -> None:
    """Run a cleared call to its end. Told to stop, it ends once its processes are dead."""
    output = await _run_interruptibly(call)
    if output is None:
        await finish(call, stopped(call))
    else:
        call.session.known_files.wrote(output.content)
        await finish(call, output)


async def _run_interruptibly(call: ToolCall) -> ToolOutput | None:
    """Return what the tool gave, also if it was told to stop too late; else `None`."""
    assert call.tool is not None
    assert call.prepared is not None
    changes = frozenset(t.path for t in call.prepared.accesses if t.access is Access.WRITE)
    limit = call.session.settings.max_writes
    with call.control.interruptible():
        async with call.session.locks.holding(changes):
            if call.category is not Category.EDIT or call.control.tally.may_write(limit):
                return await _effect(call, call.tool, call.prepared)
            return ToolOutput.failed(f"the limit of {limit} writes a turn is reached")
    return None


async def _effect(call: ToolCall, tool: Tool, prepared: Prepared) -> ToolOutput:
    assert call.studied is not None
    session, policy = call.session, call.session.policy
    try:
        if call.pending is not None:
            await policy.reread()  # others may have forbidden it while it waited for an answer
            is_same = policy.rules.present is call.asked_under
            if not is_same and (why := session.denial(call.studied, prepared)):
                return ToolOutput.failed(reasons.RULE + why)
        await session.journal.write(records.started(call.call_id))
        require_store(session)  # it may be lost since the call was decided
    except Exception as error:  # noqa: BLE001 - whatever it was: what is not written does not run
        call.control.fail_later(error)
        return ToolOutput.failed(unrecorded(error))
    session.ledger.move(call.call_id, Move.RUN)
    call.so_far = ""
    heartbeat = _Heartbeat(call, StreamRedactor(session.secrets), anyio.Event())
    await announce.running(call)
    output: ToolOutput | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(heartbeat.keep_beating)
        try:
            live = RunContext(
                call.call_id,
                heartbeat.chunk,
                call.answer,
                spawn=partial(spawn, call),
                ask=partial(inner_calls.ask, call, run),
                denial=partial(session.denial, call.studied),
                leave=call.leave,
            )
            output = await tool.run(prepared, live)
        except ToolError as error:
            output = ToolOutput.failed(str(error))
        except Exception as error:
            log.exception("tool.run_failed")
            output = ToolOutput.failed(EXHAUSTED if is_exhausted(error) else INTERNAL)
        tasks.cancel_scope.cancel()
    assert output is not None
    return output


def is_exhausted(error: Exception) -> bool:
    """Tell whether the system refused memory or a thread, which is no mistake of a tool."""
    return isinstance(error, MemoryError) or str(error) == "can't start new thread"


class _Heartbeat(Struct):
    """Shows that a running call is alive: its output, or a repeated `tool_running`."""

    call: ToolCall
    redactor: StreamRedactor
    heard: anyio.Event

    async def keep_beating(self) -> None:
        while True:
            self.heard = anyio.Event()
            with anyio.move_on_after(HEARTBEAT_S) as silence:
                await self.heard.wait()
            if silence.cancelled_caught:
                await announce.running(self.call)

    async def chunk(self, text: str) -> None:
        """Send output of the running tool; secrets are held back across chunk borders."""
        safe = self.redactor.feed(text)
        self.heard.set()
        if safe:
            await announce.chunk(self.call, safe)
