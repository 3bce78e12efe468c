"""One ACP session: an engine of its own, whose events become updates in the editor."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import anyio
from acp import RequestError, update_agent_message_text, update_agent_thought_text
from acp.helpers import SessionUpdate, update_available_commands, update_current_mode
from acp.interfaces import Client
from acp.schema import PromptResponse, SessionInfoUpdate, SessionModeState, UsageUpdate
from anyio.abc import TaskGroup, TaskStatus

from wcore_host import events
from wcore_host.acp import history, modes, servers, slash
from wcore_host.acp.calls import Calls
from wcore_host.acp.markup import span
from wcore_host.acp.notices import CONTINUE, INTERRUPTED, not_started
from wcore_host.acp.options import AcpOptions
from wcore_host.acp.permission_requests import PermissionRequests
from wcore_host.acp.prompts import Block, Prompts
from wcore_host.acp.servers import Server
from wcore_host.acp.turn import GOES_ON, INTERNAL_ERROR, Turn
from wcore_host.acp.usage import UsageTracker
from wcore_host.decode import Fields
from wcore_host.engine import Engine
from wcore_host.errors import (
    CommandFailedError,
    CommandTooLongError,
    EngineExitedError,
    EngineStartError,
)
from wcore_host.events import Event
from wcore_host.headless.modes import START_MODE
from wcore_host.spawn import connect
from wcore_host.visible import visible, visible_line

MESSAGES_MAX: Final = 2_000  # what an editor shows again; older ones are kept, not sent
TITLE_CHARS_MAX: Final = 80  # as in `wcore sessions list`
OWN_NEWS: Final = "mode updated"  # the editor has its own way to show the mode

log = logging.getLogger("wcore_host")


class Session:
    """An engine and its conversation. Start it with `begin`; `end` takes the engine away."""

    def __init__(self, editor: Client, chosen: AcpOptions, cwd: str, tasks: TaskGroup) -> None:
        self.session_id = ""
        self._editor = editor
        self._chosen = chosen
        self._cwd = cwd
        self._tasks = tasks
        self._prompts = Prompts()
        self._servers: Sequence[Server] = ()
        self._forms = False
        self._engine: Engine | None = None
        self._scope = anyio.CancelScope()
        self._told = anyio.Event()  # the editor knows the session: updates may flow
        self._gone = anyio.Event()
        self._failure: EngineExitedError | None = None
        self._turn: Turn | None = None
        self._mode = ""
        self._meter = UsageTracker()
        self._is_named = False  # the editor has a title for it
        self.modes: SessionModeState | None = None

    # --- life ---------------------------------------------------------------------------------

    async def begin(self, given: Sequence[Server], *, resume: str, forms: bool) -> None:
        """Start the engine, or continue the stored session `resume`.

        Raises:
            RequestError: it did not get as far as a conversation.
        """
        self._servers, self._forms = given, forms
        self._is_named = bool(resume)
        self._meter.knows_cost = not resume
        await self._start(resume)

    def tell(self) -> None:
        """The answer that names this session is on its way: updates may follow it."""
        self._tasks.start_soon(self._introduce)

    async def end(self) -> None:
        """Stop what runs, and return when the engine is gone."""
        self._scope.cancel()
        await self._gone.wait()

    async def _start(self, resume: str) -> None:
        self._gone = anyio.Event()
        try:
            await self._tasks.start(self._live, resume)
        except (EngineStartError, EngineExitedError) as error:
            raise RequestError(INTERNAL_ERROR, not_started(error)) from None

    async def _live(self, resume: str, *, task_status: TaskStatus[None]) -> None:
        flags = (*self._chosen.flags, *((f"--resume={resume}",) if resume else ()))
        command = (*self._chosen.engine, *flags)
        self._failure = None
        try:
            with anyio.CancelScope() as self._scope:
                env = self._chosen.env
                async with connect(command, cwd=self._cwd, env=env, attended=True) as engine:
                    await self._greet(engine)
                    task_status.started()
                    try:
                        await self._converse(engine)
                    finally:  # nobody watches any more: nothing goes on in the dark
                        with suppress(EngineExitedError), anyio.CancelScope(shield=True):
                            await engine.stop()
        finally:
            self._engine = None
            self._prompts.close()
            if self._turn is not None:
                self._turn.fail(self._failure)
            self._gone.set()

    async def _greet(self, engine: Engine) -> None:
        """Choose a careful mode if nobody chose one, and pass the editor's MCP servers on."""
        self._engine = engine
        self.session_id = self.session_id or engine.ready.session_id
        if not self._chosen.has_mode and START_MODE in engine.capabilities.modes:
            await engine.set_mode(START_MODE)
        if "mcp" in engine.capabilities.flags:
            for server in self._servers:
                if command := servers.command(server):
                    await engine.send(command)
        await engine.ping()  # answered in order: now the mode is what it will be
        self._mode = engine.capabilities.current_mode
        self._meter.begin(engine.capabilities.context_limit)
        self.modes = modes.state(engine.capabilities)

    async def _introduce(self) -> None:
        with suppress(ConnectionError):
            await self._update(update_available_commands(slash.announced()))
            engine = self._engine
            if engine and (told := servers.unusable(self._servers, engine.capabilities.flags)):
                await self._say(told)
            if engine and _interrupted(engine):
                await self._say(INTERRUPTED)
        self._told.set()

    # --- what the editor wants ----------------------------------------------------------------

    async def replay(self) -> None:
        """Send what was said before.

        Raises:
            RequestError: the engine is gone.
        """
        try:
            messages, more = await self._here().whole_history(MESSAGES_MAX)
        except EngineExitedError as error:
            raise RequestError(INTERNAL_ERROR, str(error)) from None
        for update in history.updates(messages, self._cwd, more=more):
            await self._update(update)

    async def prompt(self, blocks: Sequence[Block]) -> PromptResponse:
        """Run one turn, or a slash command; return when it is over.

        Raises:
            RequestError: a turn is running, or it ended with an error.
        """
        if self._turn is not None:
            raise RequestError.invalid_request({"details": "a turn is running"})
        turn = self._turn = Turn()
        try:
            if self._engine is None:
                await self._restart()
            text, files = self._prompts.read(blocks)
            if text.strip() == CONTINUE:
                turn.msg_id = _interrupted(self._here()) or turn.msg_id
                await self._here().resume_turn()
                return await turn.wait()
            told = await slash.obey(text, self._here())
            if told is not None:
                await self._say(told)
                return PromptResponse(stop_reason="end_turn")
            await self._name(text)
            await self._here().message(text, files=files, msg_id=turn.msg_id)
            return await turn.wait()
        except (EngineExitedError, CommandTooLongError, CommandFailedError) as error:
            raise RequestError(INTERNAL_ERROR, str(error)) from None
        finally:
            self._turn = None

    async def cancel(self) -> None:
        """End the running turn; its cards are gone with it."""
        if self._turn is not None and self._engine is not None:
            self._cancelled()
            with suppress(EngineExitedError):
                await self._engine.stop()

    async def set_mode(self, mode: str) -> None:
        """Change the mode; a raise is confirmed by the person.

        Raises:
            RequestError: the mode stays as it is.
        """
        engine = self._here()
        if mode not in engine.capabilities.modes:
            raise RequestError.invalid_params({"modeId": f"this engine has no mode {mode!r}"})
        if not await modes.confirmed(self._editor, self.session_id, self._mode, mode):
            raise RequestError(INTERNAL_ERROR, f"not confirmed: the mode stays {self._mode}")
        self._mode = mode
        with suppress(EngineExitedError):
            await engine.set_mode(mode)

    def _here(self) -> Engine:
        if self._engine is None:
            raise RequestError(INTERNAL_ERROR, f"the engine is gone. {GOES_ON}")
        return self._engine

    async def _restart(self) -> None:
        why = f"\n{span(str(self._failure), 400)}" if self._failure else ""
        await self._start(self.session_id)
        await self._say(f"The engine had stopped; a new one continues this session.{why}")
        if _interrupted(self._here()):
            await self._say(INTERRUPTED)
        await self._update(update_current_mode(self._mode))

    # --- what the engine says -----------------------------------------------------------------

    async def _converse(self, engine: Engine) -> None:
        """Pass events on until the engine, or the editor, is gone."""
        await self._told.wait()
        calls = Calls(self._editor, self.session_id, self._cwd)
        desk = PermissionRequests(
            self._editor, self.session_id, calls, self._cancelled, forms=self._forms
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calls.stream)
            try:
                async for event in engine:
                    if isinstance(event, events.Error) and event.mcp_server:
                        continue  # `mcp_failed` follows
                    await self._take(event, calls)
                    desk.follow(event, engine, tasks)
            except EngineExitedError as error:
                self._failure = error
            except ConnectionError:
                log.info("the editor is gone")
            tasks.cancel_scope.cancel()

    async def _take(self, event: Event, calls: Calls) -> None:
        match event:
            case events.TextDelta(text=text):
                await self._update(update_agent_message_text(visible(text)))
            case events.Thinking(text=text):
                await self._update(update_agent_thought_text(visible(text)))
            case events.CallEvent():
                await calls.announce(event)
            case events.ConfigChanged(capabilities=capabilities):
                await self._show_mode(capabilities.current_mode)
            case events.Info(message=message) if not message.startswith(OWN_NEWS):
                await self._update(update_agent_thought_text(f"{span(message, 1000)}\n"))
            case events.UnknownEvent(type="mcp_failed", raw=raw):
                await self._say(servers.failed(raw))
            case events.Error(message=message) if self._turn is None:
                await self._say(f"The engine reports: {span(message, 1000)}")
            case _:
                await calls.follow(event)
        if counted := self._meter.take(event):
            await self._update(counted)
        if self._turn is not None:
            self._turn.follow(event)

    async def _name(self, text: str) -> None:
        """Give the session the title that the stored ones get: how its first message begins."""
        if not self._is_named and (title := visible_line(text.strip(), TITLE_CHARS_MAX)):
            self._is_named = True
            info = SessionInfoUpdate(session_update="session_info_update", title=title)
            await self._update(info)

    def _cancelled(self) -> None:
        if self._turn is not None:
            self._turn.was_cancelled = True

    async def _show_mode(self, mode: str) -> None:
        if mode != self._mode:
            self._mode = mode
            await self._update(update_current_mode(mode))

    async def _say(self, markdown: str) -> None:
        await self._update(update_agent_message_text(f"{markdown}\n"))

    async def _update(self, update: SessionUpdate | UsageUpdate | SessionInfoUpdate) -> None:
        await self._editor.session_update(self.session_id, update)


def _interrupted(engine: Engine) -> str:
    """Return the `msg_id` of the turn that the last engine of this session left unfinished."""
    return Fields(engine.ready.raw).part("interrupted_turn").text("msg_id")
