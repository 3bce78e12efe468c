"""The engine behind the pages: started, listened to, and started again when somebody asks.

Pages speak the engine's own protocol; what a page may say is a list here. Of two pages that
answer the same call the first one counts, and the other is told.
"""

from contextlib import suppress
from typing import Final

import anyio

from wcore_host import events
from wcore_host.decode import Fields
from wcore_host.engine import Engine
from wcore_host.errors import CommandFailedError, EngineExitedError, EngineStartError
from wcore_host.events import Event, Json, JsonObject
from wcore_host.headless.modes import START_MODE
from wcore_host.headless.workspace import attached
from wcore_host.spawn import connect
from wcore_host.turn_refusals import refuses_turn
from wcore_host.web.event_log import EventLog
from wcore_host.web.options import WebOptions

HISTORY_MAX: Final = 2_000  # messages: what a page can show at once
SETTLE_S: Final = 5.0  # an answer without changed arguments is taken at once
STOP_S: Final = 2.0  # a stopped turn is over by then
SETTLED_MAX: Final = 4096  # calls whose end is remembered; the engine holds at most 1,024

SAID: Final = frozenset(
    "message stop tool_approve tool_deny set_mode set_config add_mcp_server".split()
)
ASKED: Final = frozenset(
    "list_pending list_grants revoke_grant list_permissions set_agent_tools set_tool_override"
    " get_history resume_turn trust_workspace accept_changes remove_mcp_server".split()
)


class RefusedError(Exception):
    """A page asked for something that is not possible now; nothing was done."""


class Conversation:
    """One engine at a time, and what pages say to it."""

    def __init__(self, options: WebOptions, event_log: EventLog) -> None:
        self._options = options
        self._event_log = event_log
        self._engine: Engine | None = None
        self._life = anyio.CancelScope()  # of the engine
        self._wanted = anyio.Event()
        self._next: str | None = None  # the session that the next engine continues
        self._session_id = ""
        self._turn = ""
        self._turn_began = False
        self._answering: set[str] = set()
        self._settled: dict[str, None] = {}
        self._servers: dict[str, Json] = {}  # MCP servers: how many tools, what went wrong

    # --- the engine ---------------------------------------------------------------------------

    async def run(self, started: anyio.Event) -> None:
        """Keep an engine for as long as the server lives; `started` is set at the first `ready`.

        Raises:
            EngineStartError: the first engine did not start.
        """
        await self._serve(self._options.command, started)
        while True:
            await self._wanted.wait()
            self._wanted = anyio.Event()
            command = self._options.again(self._next)
            if self._next != self._session_id:
                self._event_log.clear()
            self._settled.clear()
            self._event_log.change(engine="starting", told="")
            try:
                await self._serve(command, started)
            except EngineStartError as error:
                self._event_log.change(engine="gone", told=f"The engine does not start: {error}")

    async def _serve(self, command: tuple[str, ...], started: anyio.Event) -> None:
        told = "The engine has ended."
        with anyio.CancelScope() as self._life:
            async with connect(command, env=self._options.env, attended=True) as engine:
                try:
                    self._began(engine)
                    await self._greet(engine)
                    started.set()
                    async for event in engine:
                        self._hear(event)
                except EngineExitedError as error:
                    told = f"{str(error)[:1].upper()}{str(error)[1:]}"
                finally:
                    self._engine = None
        self._turn = ""
        if not self._wanted.is_set():  # else the next one starts at once
            self._event_log.change(engine="gone", told=told, turn="")

    def _began(self, engine: Engine) -> None:
        self._engine = engine
        self._session_id = engine.ready.session_id
        self._servers = {}
        self._event_log.change(
            servers={},
            engine="running",
            told="",
            turn="",
            session_id=self._session_id,
            version=engine.ready.version,
            capabilities=engine.ready.raw.get("capabilities"),
            interrupted_turn=engine.ready.raw.get("interrupted_turn"),
        )

    async def _greet(self, engine: Engine) -> None:
        """Choose a careful mode if nobody chose one; show what a continued session holds."""
        with suppress(CommandFailedError):
            messages, _ = await engine.whole_history(HISTORY_MAX)
            if messages:
                self._event_log.clear()
                self._event_log.post({"type": "host_history", "messages": [*map(dict, messages)]})
        if not self._options.has_mode and START_MODE in engine.capabilities.modes:
            await engine.set_mode(START_MODE)
            text = "Reading the folder runs unasked; everything else asks first."
            self._event_log.post({"type": "host_note", "text": f"Mode {START_MODE}. {text}"})

    def _hear(self, event: Event) -> None:
        match event:
            case events.GarbledLine(problem=problem):
                text = f"The engine wrote a line that is no event ({problem})."
                self._event_log.post({"type": "host_note", "text": text})
                return
            case events.Pong() | events.CommandResult():
                return  # of somebody who no longer waits
            case events.ConfigChanged():
                self._event_log.change(capabilities=event.raw.get("capabilities"))
            case events.CallSettled(call_id=call_id):
                self._settled[call_id] = None
                if len(self._settled) > SETTLED_MAX:
                    self._settled.pop(next(iter(self._settled)))
            case events.StreamStart(msg_id=msg_id):
                self._turn, self._turn_began = msg_id, True
                self._event_log.change(turn=msg_id, interrupted_turn=None)
            case events.UnknownEvent(type="mcp_ready" | "mcp_failed" as kind):
                self._hear_server(kind, Fields(event.raw))
            case events.StreamEnd() | events.Error() if self._ends_turn(event):
                self._turn = ""
                self._event_log.change(turn="")
            case _:
                pass
        self._event_log.post(event.raw)

    def _hear_server(self, kind: str, told: Fields) -> None:
        """Remember what became of a server; one that is there may be told about, too."""
        name = told.text("name")
        before = self._servers.get(name)
        tools: Json = before["tools"] if isinstance(before, dict) else None
        tools = len(told.items("tools")) if kind == "mcp_ready" else tools
        self._servers = {**self._servers, name: {"tools": tools, "problem": told.text("reason")}}
        self._event_log.change(servers=self._servers)

    def _ends_turn(self, event: events.StreamEnd | events.Error) -> bool:
        if isinstance(event, events.StreamEnd):
            return event.msg_id == self._turn
        return bool(self._turn) and not self._turn_began and refuses_turn(event)

    # --- the pages ----------------------------------------------------------------------------

    async def say(self, command: JsonObject, page: str) -> None:
        """Send a command of a page.

        Raises:
            RefusedError: it is none that pages may send, comes too late, or the engine is gone.
        """
        engine = self._alive()
        match command.get("type"):
            case "message":
                await self._message(engine, command, page)
            case "tool_approve" | "tool_deny":
                await self._answer(engine, command)
            case kind if kind in SAID:
                await self._send(engine, command)
            case _:
                raise RefusedError("a page cannot send that command")

    async def ask(self, command: JsonObject) -> JsonObject:
        """Send an introspection command of a page; return the engine's `command_result`.

        Raises:
            RefusedError: it is none that pages may send, or the engine is gone.
        """
        if command.get("type") not in ASKED:
            raise RefusedError("a page cannot ask that")
        try:
            result = await self._alive().request(command)
            if result.ok and result.command == "remove_mcp_server":
                self._servers = {k: v for k, v in self._servers.items() if k != command.get("name")}
                self._event_log.change(servers=self._servers)
            return result.raw
        except (CommandFailedError, EngineExitedError, ValueError) as error:
            raise RefusedError(str(error)) from error

    async def pending(self) -> list[Json]:
        """Return the calls that wait, with the time they have left; none if nobody can tell."""
        if self._engine is None:
            return []
        try:
            return [dict(call.raw) for call in await self._engine.list_pending()]
        except (CommandFailedError, EngineExitedError):
            return []

    def start_again(self, session_id: str | None) -> None:
        """Start another engine: with that session, or with a new one. One that idles ends first.

        Raises:
            RefusedError: a turn is running, or the session is the one that is open.
        """
        if self._engine is not None and self._turn:
            raise RefusedError("a turn is running: wait for its end, or stop it")
        if self._engine is not None and session_id == self._session_id:
            raise RefusedError("this session is open already")
        self._next = session_id
        self._wanted.set()
        self._life.cancel()

    async def leave(self) -> None:
        """End what runs, so that the engine can end at once."""
        if self._engine is not None and self._turn:
            with suppress(EngineExitedError), anyio.move_on_after(STOP_S):
                await self._engine.stop()

    def _alive(self) -> Engine:
        if self._engine is None:
            raise RefusedError("the engine is not running")
        return self._engine

    async def _message(self, engine: Engine, command: JsonObject, page: str) -> None:
        msg_id = command.get("msg_id")
        if self._turn:
            raise RefusedError("a turn is running: wait for its end, or stop it")
        if not isinstance(msg_id, str):
            raise RefusedError("a message needs a msg_id")
        self._turn, self._turn_began = msg_id, False
        content = command.get("content")
        files = attached(content, self._options.folder) if isinstance(content, str) else []
        said = {"msg_id": msg_id, "text": content, "page": page}
        self._event_log.post({"type": "host_said", **said})
        self._event_log.change(turn=msg_id)
        try:
            await self._send(engine, {**command, **({"files": [*files]} if files else {})})
        except RefusedError:  # else every later message would be told that a turn is running
            self._turn = ""
            self._event_log.change(turn="")
            raise

    async def _answer(self, engine: Engine, command: JsonObject) -> None:
        """Send one answer to a waiting call; of several the first one counts."""
        call_id = str(command.get("call_id"))
        if call_id in self._answering or call_id in self._settled:
            raise RefusedError("this call was answered already, in another tab or by the engine")
        self._answering.add(call_id)
        try:
            await self._send(engine, command)
            with suppress(EngineExitedError), anyio.move_on_after(SETTLE_S):
                await engine.ping()  # answered in order: now the answer was taken, or refused
        finally:
            self._answering.discard(call_id)

    async def _send(self, engine: Engine, command: JsonObject) -> None:
        try:
            await engine.send(command)
        except (EngineExitedError, ValueError) as error:
            raise RefusedError(str(error)) from error
