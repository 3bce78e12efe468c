"""The loop over the host's commands, and the one `match` that picks a handler. Start reading here.

`wcore.cli.serve` makes an `Engine` and calls `serve`. A line such as `{"type": "tool_approve",
"call_id": "call_1"}` becomes `commands.ToolApprove(call_id="call_1")`; the handler settles the call
in `session.approvals`, and the turn, a task beside this loop, goes on and sends the events.

A command is handled before the next is read, so that a host that floods the engine waits. What
takes longer, a turn or the preparing of changed arguments, goes on as a task beside this loop.
"""

import logging
import signal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus

from wcore import __version__
from wcore.approval import reasons
from wcore.engine.background import purge_old_sessions, recall, warm_up
from wcore.engine.capabilities import capabilities
from wcore.engine.command_lines import parse_line
from wcore.engine.commands import approvals, introspection, permissions, results, resume
from wcore.engine.commands.config import ConfigCommands
from wcore.engine.costs import Costs
from wcore.engine.lazy import load
from wcore.engine.ports import CommandReader, Signals, real_signals
from wcore.errors import (
    Code,
    DuringTurnError,
    HostError,
    HostGoneError,
    RefusedError,
    WcoreError,
)
from wcore.protocol import codec, commands, events
from wcore.session.session import EventWriter, Session
from wcore.store import Kind, LeaseLostError
from wcore.tools.tool import ToolEnvironment
from wcore.vocabulary import By, UserMessage

if TYPE_CHECKING:
    from wcore.turn.turn import Turn

Answered: TypeAlias = (
    commands.ResumeTurn | commands.RemoveMcpServer | introspection.Asked | permissions.Asked
)

log = logging.getLogger("wcore.engine")

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1  # the stored conversation makes no sense
EXIT_LOST: Final = 1  # another engine took the session over
EXIT_SIGNAL: Final = 128  # plus the signal's number, as shells report it
#: They need nothing of what is loaded after `ready`.
IMMEDIATE_COMMANDS: Final = (commands.Ping, commands.InitHistory, commands.SetMode)
RECORDED_COMMANDS: Final = (commands.InitHistory, commands.SetMode, commands.SetConfig)
#: They would change what the running turn works with, or begin another one.
NOT_DURING_TURN: Final = (
    commands.ResumeTurn,
    commands.RemoveMcpServer,
    commands.TrustWorkspace,
    commands.AcceptChanges,
)
DURING_TURN: Final = "a turn is running: wait for its stream_end"
SHUTDOWN_S: Final = 1.5  # to say goodbye; hosts expect us gone within two seconds


class Engine:
    """Serves one host until it closes stdin or stdout, or a signal comes."""

    def __init__(
        self,
        session: Session,
        reader: CommandReader,
        wire: EventWriter,
        environment: ToolEnvironment,
        *,
        warm: Callable[[], None],
        signals: Signals = real_signals,
    ) -> None:
        self._session = session
        self._reader = reader
        self._wire = wire
        self._environment = environment
        self._warm = warm
        self._signals = signals
        self._loaded = anyio.Event()  # what acts is there
        self._warmed = anyio.Event()  # and the model
        self._configuring = ConfigCommands(session)
        self._costs = Costs(session)
        self._turn: Turn | None = None
        self._idle = anyio.Event()
        self._idle.set()
        self._had_message = False
        self._has_continued = False  # an interrupted turn starts its stream once a process
        self._deferred_context: list[str] = []
        self._exit_code = EXIT_OK
        lost = self._configuring.tell_of_loss
        session.persistence.watch(lambda: lost(during_turn=self._turn is not None))

    async def serve(self) -> int:
        """Run to the end; return the exit code. Every call has ended when this returns."""
        try:
            async with anyio.create_task_group() as tasks:
                await tasks.start(self._watch_signals, tasks)
                tasks.start_soon(self._write_events)
                tasks.start_soon(
                    self._session.approvals.run_reaper, self._session.settings.reap_interval_s
                )
                tasks.start_soon(self._session.journal.hold_lease)
                tasks.start_soon(self._watch_session, tasks)
                await self._session.emit(self._ready())
                for notice in self._session.notices:
                    await self._session.emit_info(notice)
                tasks.start_soon(self._warm_up, tasks)
                tasks.start_soon(purge_old_sessions, self._session, lambda: self._idle.wait())  # noqa: PLW0108
                await self._read_commands(tasks)
                await self._idle.wait()
                await self._wire.flush()
                tasks.cancel_scope.cancel()
        except* HostGoneError:
            self._exit_code = self._exit_code or EXIT_SIGNAL + signal.SIGPIPE
        return self._exit_code

    async def _read_commands(self, tasks: TaskGroup) -> None:
        """Obey until end of file; from then on nobody can be asked."""
        self._session.persistence.serve_commands()
        while (lines := await self._reader.read()) is not None:
            for line in lines:
                heard = parse_line(line)
                if heard is not None:
                    await self._handle(heard, tasks)
        self._session.host_gone = True
        self._session.approvals.resolve_all(reasons.HOST_GONE, By.HOST_GONE)

    async def _handle(
        self, command: commands.AnyCommand | codec.Malformed, tasks: TaskGroup
    ) -> None:
        if isinstance(command, codec.Malformed):
            await self._session.emit_error(Code.PROTOCOL, command.message)
        else:
            if not isinstance(command, IMMEDIATE_COMMANDS):
                await self._loaded.wait()
            if self._exit_code != EXIT_OK:
                return  # told to leave: a turn that starts now would not see its end
            try:
                if isinstance(command, RECORDED_COMMANDS):
                    body = command.model_dump(mode="json", exclude_none=True)
                    self._session.journal.record(Kind.COMMANDED, **body)
                await self._dispatch(command, tasks)
            except HostError as error:  # too late, twice, or never asked
                await self._session.emit_info(str(error))
            except HostGoneError:
                raise
            except Exception:  # a bug in one command must not end the others
                log.exception("command.failed")
                text = f"{command.type}: internal error, see the log on stderr"
                await self._session.emit_error(Code.INTERNAL, text)
        await self._session.journal.flush_if_full()

    async def _dispatch(self, command: commands.AnyCommand, tasks: TaskGroup) -> None:  # noqa: C901, PLR0912 - the table of contents
        session, during_turn = self._session, self._turn is not None
        match command:
            case commands.Ping():
                await session.emit(events.Pong())
            case commands.Message() if during_turn:
                text = f"{DURING_TURN}, or send stop first"
                await session.emit_error(Code.BUSY, text, retryable=True)
            case commands.Message():
                message = UserMessage(command.content, tuple(command.files or ()))
                self._start_turn(command.msg_id, message, tasks)
            case commands.Stop():
                self._stop()
            case commands.ToolApprove():
                await approvals.approve(session, command, tasks)
            case commands.ToolDeny():
                approvals.deny(session, command)
                if command.stop:
                    self._stop()
            case commands.ApprovalResume():
                await approvals.resume(session, command, tasks)
            case commands.InitHistory():
                self._add_context(command.text)
            case commands.SetMode():
                await self._configuring.set_mode(command.mode, during_turn=during_turn)
            case commands.SetConfig():
                await self._configuring.set_config(command, during_turn=during_turn)
            case commands.AddMcpServer():
                await self._servers.add(command, too_late=self._had_message)
            case commands.Introspection():
                try:
                    if during_turn and isinstance(command, NOT_DURING_TURN):
                        raise DuringTurnError(DURING_TURN)
                    result = results.done(command, await self._answer(command, tasks))
                except WcoreError as error:
                    result = results.refused(command, error)
                await session.emit(result)
            case _:
                assert_never(command)

    async def _answer(self, command: Answered, tasks: TaskGroup) -> Mapping[str, object]:
        """Obey a command that is answered; return what the answer says beside that.

        Raises:
            WcoreError: it was not obeyed.
        """
        if isinstance(command, commands.ResumeTurn):
            return await self._resume_turn(command, tasks)
        if isinstance(command, commands.RemoveMcpServer):
            return await self._servers.remove(command.name)
        if isinstance(command, introspection.Asked):
            return await introspection.answer(self._session, command)
        return await permissions.answer(self._session, command)

    async def _resume_turn(
        self, command: commands.ResumeTurn, tasks: TaskGroup
    ) -> Mapping[str, object]:
        interrupted = self._session.interrupted
        if interrupted is None:
            raise RefusedError("no turn was interrupted")
        if command.action == "cancel":
            return {"cancelled": await resume.abandon_turn(self._session, interrupted)}
        if self._has_continued:
            raise RefusedError("the turn could not be continued: send a message, or cancel it")
        self._has_continued = True
        self._start_turn(interrupted.msg_id, None, tasks)  # which begins once the answer is queued
        return {}

    def _start_turn(self, msg_id: str, message: UserMessage | None, tasks: TaskGroup) -> None:
        """Start a turn; one that an earlier engine left open goes on in it."""
        interrupted, self._session.interrupted = self._session.interrupted, None
        self._had_message = True
        self._turn = self._acting.turn(self._session, msg_id, interrupted)
        self._idle = anyio.Event()
        tasks.start_soon(self._run_turn, self._turn, message)

    async def _warm_up(self, tasks: TaskGroup) -> None:
        """Do after `ready` what must be done before the first turn, and what is idle work."""
        session = self._session
        try:
            await recall(session)
        except WcoreError as error:
            await session.emit_exception(error)
            await self._shut_down(EXIT_FAILED, tasks)
            return
        self._acting = await to_thread.run_sync(load)
        session.tools.update(self._acting.builtin_tools(self._environment, session.policy.known))
        self._servers = self._acting.servers(session, self._environment, tasks)
        session.before_turn = self._servers.wait_until_ready
        await self._servers.sync_with_policy()
        self._take_late_context()
        self._loaded.set()
        await to_thread.run_sync(self._warm)
        self._warmed.set()
        await warm_up(session)

    async def _run_turn(self, turn: "Turn", message: UserMessage | None) -> None:
        await self._warmed.wait()
        end = await turn.run(message)
        self._session.interrupted = turn.interrupted
        self._turn = None  # before the end is told: the host may answer it at once
        tally = turn.control.tally
        self._costs.tell(tally.cost_usd, is_priced=tally.is_priced)
        self._session.emit_nowait(end)
        self._take_late_context()
        self._configuring.apply_deferred()
        self._idle.set()

    def _stop(self) -> None:
        if self._turn is not None:
            self._turn.control.end(By.STOP)

    def _add_context(self, text: str) -> None:
        self._deferred_context.append(text)
        if self._turn is None and self._loaded.is_set():
            self._take_late_context()

    def _take_late_context(self) -> None:
        """Put what came during a turn, or before a stored conversation was read, behind it."""
        for text in self._deferred_context:
            self._session.append_history("", UserMessage(text, context=True))
        self._deferred_context.clear()

    def _ready(self) -> events.Ready:
        return events.Ready(
            version=__version__,
            session_id=self._session.settings.session_id,
            capabilities=capabilities(self._session),
            interrupted_turn=resume.interrupted_turn(self._session),
        )

    async def _write_events(self) -> None:
        try:
            await self._wire.run()
        except HostGoneError:
            self._session.persistence.hurry(for_good=True)
            raise

    async def _watch_signals(
        self, tasks: TaskGroup, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        with self._signals() as received:
            task_status.started()
            async for number in received:
                await self._shut_down(EXIT_SIGNAL + number, tasks)
                return

    async def _watch_session(self, tasks: TaskGroup) -> None:
        """End when another engine has taken the session: what we did would not be written down."""
        await self._session.journal.lost.wait()
        await self._session.emit_exception(LeaseLostError(self._session.settings.session_id))
        await self._shut_down(EXIT_LOST, tasks)

    async def _shut_down(self, exit_code: int, tasks: TaskGroup) -> None:
        """End the turn, say goodbye, and end, whether or not the host listens."""
        self._exit_code = exit_code
        self._session.persistence.hurry(for_good=True)
        with anyio.move_on_after(SHUTDOWN_S):
            if self._turn is not None:
                self._turn.control.end(By.SIGNAL)
            await self._idle.wait()
            await self._wire.flush()
        tasks.cancel_scope.cancel()
