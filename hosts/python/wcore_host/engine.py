"""A running engine, seen from its host: commands go in, typed events come out.

Three tasks per engine: one reads lines (never waiting for a writer), one writes whole lines, one
drains the log. `can_use_tool` callbacks run beside them, one task for each waiting call.
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import anyio

from wcore_host import decode, events
from wcore_host.commands import Commands
from wcore_host.errors import (
    CommandFailedError,
    CommandTooLongError,
    EngineExitedError,
    EngineStartError,
    TurnRefusedError,
)
from wcore_host.events import Event, JsonObject
from wcore_host.inbox import Inbox
from wcore_host.outbox import Outbox
from wcore_host.permission import CallbackRunner, CanUseTool
from wcore_host.process import EngineProcess, Start
from wcore_host.replies import Replies
from wcore_host.turn_refusals import refuses_turn

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

EXIT_GRACE_S: Final = 5.0  # from the end of stdout to the end of the process
FLUSH_S: Final = 1.0  # for commands still queued when the host closes


class Engine(Commands):
    """An engine process and the conversation with it. Iterate over it for its events.

    Iteration ends when the engine ends as it was told to, and raises `EngineExitedError` when
    it ends by itself. Events must be read: an engine whose host does not read waits.
    """

    ready: events.Ready

    def __init__(self, start: Start, callback: CanUseTool | None, ready_timeout_s: float) -> None:
        self._start = start
        self._callback = callback
        self._ready_timeout_s = ready_timeout_s
        self._inbox = Inbox()
        self._replies = Replies()
        self._desk: CallbackRunner | None = None
        self._ended = anyio.Event()
        self._exit: EngineExitedError | None = None
        self._input_closed = self._closing = False
        self.capabilities = events.Capabilities()

    # --- life ---------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._child = await EngineProcess.spawn(self._start)
        self._outbox = Outbox(self._child.write)
        self._tasks: TaskGroup = anyio.create_task_group()
        await self._tasks.__aenter__()
        if self._callback is not None:
            self._desk = CallbackRunner(self._callback, self._send_if_alive, self._tasks)
        for task in (self._read, self._outbox.run, self._child.drain_log):
            self._tasks.start_soon(task)
        try:
            self.ready = await self._wait_ready()
        except BaseException:
            await self._shut()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._shut()

    @property
    def pid(self) -> int:
        """The engine's process id, which is also its session and process group."""
        return self._child.pid

    @property
    def stderr_tail(self) -> list[str]:
        """The last lines the engine logged."""
        return self._child.stderr_tail

    @property
    def exit_code(self) -> int | None:
        """How the engine ended (negative: a signal), `None` while it runs."""
        return None if self._exit is None else self._exit.exit_code

    async def close_input(self) -> None:
        """Send no more: the engine finishes its turn without asking anybody, and ends."""
        self._input_closed = True
        await self._outbox.emptied()
        self._outbox.close()
        await self._child.close_input()

    async def _wait_ready(self) -> events.Ready:
        noise = ""
        try:
            with anyio.fail_after(self._ready_timeout_s):
                async for event in self:
                    match event:
                        case events.Ready():
                            self.capabilities = event.capabilities
                            return event
                        case events.Error(message=message):
                            await self._ended.wait()
                            raise EngineStartError(message, exit_code=self.exit_code)
                        case _:
                            noise = noise or f"; its first words were {_words(event)}"
        except TimeoutError:
            raise EngineStartError(
                f"the engine was not ready within {self._ready_timeout_s:g} s{noise}"
            ) from None
        except EngineExitedError as error:
            raise EngineStartError(f"{error}{noise}", exit_code=error.exit_code) from None
        raise EngineStartError("the engine was closed before it was ready")

    async def _shut(self) -> None:
        self._closing = True
        with anyio.CancelScope(shield=True):
            self._inbox.discard()
            with anyio.move_on_after(FLUSH_S):
                await self._outbox.emptied()
            self._outbox.close()
            await self._child.end()
            with anyio.move_on_after(FLUSH_S):
                await self._ended.wait()
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(None, None, None)
        with anyio.CancelScope(shield=True):
            await self._child.release()

    # --- commands -----------------------------------------------------------------------------

    async def send(self, command: JsonObject) -> None:
        """Send one command; returns when it is queued, waits only while the queue is full.

        Raises:
            EngineExitedError: the engine is gone.
            CommandTooLongError: the line would be longer than 8 MiB.
            ValueError: the command holds something that JSON cannot say.
        """
        line = _line(command)
        if len(line) > decode.LINE_BYTES_MAX:
            raise CommandTooLongError(f"{command.get('type')}: {len(line)} bytes in one line")
        if self._outbox.is_full:
            with self._inbox.lifted():
                await self._outbox.room()
        if self._outbox.broken:
            with self._inbox.lifted():
                raise await self._gone()
        self._outbox.put(line)

    async def request(self, command: JsonObject) -> events.CommandResult:
        """Send one introspection command and return its answer.

        Raises:
            CommandFailedError: this engine has no introspection.
            EngineExitedError: the engine ended before it answered.
        """
        if "introspection" not in self.capabilities.flags:
            kind = str(command.get("type"))
            raise CommandFailedError(kind, "not_supported", "this engine has no introspection")
        request_id, reply = self._replies.expect()
        with self._inbox.lifted():
            await self.send({**command, "request_id": request_id})
            result = await reply.wait()
            if not isinstance(result, events.CommandResult):
                raise await self._gone()
        return result

    async def ping(self) -> None:
        """Return when the engine has answered; time it with `anyio.fail_after`."""
        reply = self._replies.expect_pong()
        with self._inbox.lifted():
            await self.send({"type": "ping"})
            if await reply.wait() is None:
                raise await self._gone()

    async def run_turn(self, text: str, *, files: Sequence[str] = ()) -> AsyncIterator[Event]:
        """Send a message and yield every event until its turn has ended.

        Raises:
            TurnRefusedError: the engine did not begin the turn.
            EngineExitedError: the engine died.
        """
        msg_id = await self.message(text, files=files)
        started = False
        async for event in self:
            yield event
            match event:
                case events.StreamStart(msg_id=started_id):
                    started = started or started_id == msg_id
                case events.StreamEnd(msg_id=ended_id) if ended_id == msg_id:
                    return
                case events.Error() if not started and refuses_turn(event):
                    raise TurnRefusedError(event.code, event.message)
                case _:
                    pass

    async def _send_if_alive(self, command: JsonObject) -> None:
        with suppress(EngineExitedError):  # whoever reads the events is told
            await self.send(command)

    async def _gone(self) -> EngineExitedError:
        with anyio.move_on_after(EXIT_GRACE_S):
            await self._ended.wait()
        return self._exit or EngineExitedError(None, self.stderr_tail)

    # --- events -------------------------------------------------------------------------------

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        return await self._inbox.get()

    async def _read(self) -> None:
        try:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # its end, too
                async for data, problem in self._child.lines():
                    event = decode.garbled(problem, data) if problem else decode.line(data)
                    if not self._replies.take(event):
                        self._follow(event)
                        await self._inbox.put(event, len(data))
            await self._finish()
        finally:
            self._ended.set()  # nobody waits for a reader that was cancelled

    def _follow(self, event: Event) -> None:
        """Keep what the library itself needs to know of an event."""
        match event:
            case events.ConfigChanged(capabilities=capabilities):
                self.capabilities = capabilities
            case events.Info(digest=digest) if digest:
                self.waiting_changes = event
            case events.ToolRequest() if self._desk is not None:
                self._desk.ask(event, self.capabilities.flags)
            case _ if isinstance(event, events.EndsCard) and self._desk is not None:
                self._desk.settle(event.call_id)
            case _:
                pass

    async def _finish(self) -> None:
        code = await self._child.wait(EXIT_GRACE_S)
        self._exit = EngineExitedError(code, self.stderr_tail)
        wanted = self._closing or (self._input_closed and code == 0)
        self._outbox.close()
        if self._desk is not None:
            self._desk.close()
        self._replies.fail(self._exit)
        self._inbox.end(None if wanted else self._exit)
        self._ended.set()


def _words(event: Event) -> str:
    """Return what came instead of `ready`, for a person."""
    return repr(event.line if isinstance(event, events.GarbledLine) else event.raw.get("type"))


def _line(command: JsonObject) -> bytes:
    """Return a command as a line. Half a character, as a browser may send it, stays an escape.

    The engine mends it in words for the model, and refuses it elsewhere.
    """
    for is_ascii in (False, True):
        text = json.dumps(command, ensure_ascii=is_ascii, allow_nan=False, separators=(",", ":"))
        with suppress(UnicodeEncodeError):
            return text.encode() + b"\n"
    raise AssertionError("ASCII can always be encoded")
