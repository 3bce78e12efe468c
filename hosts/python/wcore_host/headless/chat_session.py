"""One session with one engine, without any widget: what is said becomes story and cards.

An engine that ends can be started again; the story goes on. Whatever happens, `changed` is
called, and the widgets look what is different.
"""

from collections.abc import Callable
from enum import StrEnum
from time import monotonic, perf_counter
from typing import Final

import anyio
import anyio.lowlevel

from wcore_host import decode, events
from wcore_host.engine import Engine
from wcore_host.errors import (
    CommandFailedError,
    CommandTooLongError,
    EngineExitedError,
    EngineStartError,
)
from wcore_host.events import Event, JsonObject
from wcore_host.headless.card_queue import Card, CardQueue, gone, suspended
from wcore_host.headless.chat_options import ChatOptions
from wcore_host.headless.modes import START_MODE, meaning
from wcore_host.headless.transcript import Transcript
from wcore_host.permission import Allow, Deny
from wcore_host.spawn import connect
from wcore_host.turn_refusals import refuses_turn

SLICE_S: Final = 0.008  # of taking events between two frames
RECALLED_MAX: Final = 10_000  # messages of an earlier conversation that are shown
TITLE_CHARS_MAX: Final = 80  # as in `wcore sessions list`


class EngineState(StrEnum):
    """Whether there is an engine."""

    STARTING = "starting"
    READY = "ready"
    GONE = "gone"


class ChatSession:
    """A session: its engine, story and cards, and what the footer tells."""

    def __init__(self, options: ChatOptions, changed: Callable[[], None]) -> None:
        self.options = options
        self.story = Transcript()
        self.cards = CardQueue()
        self.engine: Engine | None = None
        self.life = EngineState.STARTING
        self.session_id = ""
        self.title = ""  # how its first message begins
        self.turn = ""  # its msg_id
        self.turn_began: float | None = None
        self.usage: tuple[int, int] = (0, 0)  # tokens in and out, of the session
        self.window_percent: int | None = None  # of the model's window that is in use
        self.cost_usd: float | None = None
        self.servers: dict[str, str] = {}  # MCP servers, and what became of them
        self.interrupted: JsonObject | None = None  # a turn that waits to be resumed
        self.never_ready = True
        self.first = options.prompt  # is said as soon as there is an engine
        self.first_files: list[str] = []
        self._changed = changed
        self.is_started = False  # the engine has begun the turn
        self._scope = anyio.CancelScope()

    @property
    def name(self) -> str:
        """What a person knows the session by."""
        return self.title or self.session_id or "starting"

    # --- life -------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Start the engine and listen until it ends or `close` is called. Never raises its end."""
        self._scope = anyio.CancelScope()
        self.life = EngineState.STARTING
        self._changed()
        with self._scope:
            try:
                chosen = self.options
                async with connect(chosen.command, env=chosen.env, attended=True) as engine:
                    await self._begin(engine)
                    await self._listen(engine)
            except EngineStartError as error:
                self.story.note(f"the engine does not start: {error}", alarming=True)
            except EngineExitedError as error:
                self._gone(error)
            else:
                self.story.note("the engine has ended")
        self.engine = None
        self.life = EngineState.GONE
        self._changed()

    def close(self) -> None:
        """End the engine; `run` returns when it is gone."""
        self._scope.cancel()

    async def _begin(self, engine: Engine) -> None:
        self.engine, self.life, self.never_ready = engine, EngineState.READY, False
        self.session_id = engine.ready.session_id
        recalls = any(flag.startswith("--resume") for flag in self.options.flags)
        if recalls and not self.story.blocks:
            await self._recall(engine)
        if not self.options.has_mode and START_MODE in engine.capabilities.modes:
            await engine.set_mode(START_MODE)
            await engine.ping()  # answered in order: now the mode is what it will be
        mode = engine.capabilities.current_mode
        self.story.note(f"mode {mode}: {meaning(mode)}. /help says more.")
        waiting = engine.ready.raw.get("interrupted_turn")
        self.interrupted = waiting if isinstance(waiting, dict) else None
        self._changed()
        if self.first:
            await self.say(self.first, self.first_files)
            self.first, self.first_files = "", []

    async def _recall(self, engine: Engine) -> None:
        try:
            messages, _ = await engine.whole_history(RECALLED_MAX)
        except CommandFailedError as error:
            self.story.note(f"what was said before cannot be shown: {error}")
            return
        self.story.recall(messages)
        said = (decode.Fields(each) for each in messages)
        first = next((each.text("text") for each in said if each.text("role") == "user"), "")
        self.title = first.strip()[:TITLE_CHARS_MAX]

    async def _listen(self, engine: Engine) -> None:
        until = perf_counter() + SLICE_S
        async for event in engine:
            self.take(event, monotonic())
            self._changed()
            if perf_counter() > until:
                await anyio.lowlevel.checkpoint()
                until = perf_counter() + SLICE_S

    def _gone(self, error: EngineExitedError) -> None:
        waited = self.cards.drain()
        self.story.crashed(error, monotonic())
        if waited:
            asked = "1 card was" if len(waited) == 1 else f"{len(waited)} cards were"
            self.story.note(f"{asked} not answered: what was asked for did not run")
        self._turn_over()

    # --- what the engine says ---------------------------------------------------------------------

    def take(self, event: Event, now: float) -> None:
        """Take in one event."""
        self.story.take(event, now)
        match event:
            case events.ToolRequest(expires_in_s=left):
                self.cards.add(Card(event, None if left is None else now + left))
            case _ if isinstance(event, events.EndsCard):
                self._settled(event)
            case events.StreamStart(msg_id=msg_id):
                self.is_started = True
                self.turn, self.turn_began = msg_id, self.turn_began or now
            case events.StreamEnd(msg_id=msg_id) if msg_id == self.turn:
                self._usage(decode.Fields(event.raw).part("usage"))
                self.cards.drain()  # an engine that does not settle what a stop cuts off
                self._turn_over()
            case events.Error(message=message):
                if self.turn and not self.is_started and refuses_turn(event):
                    self._turn_over()
                self.cards.refused(message)
            case events.Info(message=message, msg_id=""):
                self.cards.advised(message)
            case events.UnknownEvent(type=kind):
                self._more(kind, decode.Fields(event.raw))
            case _:
                pass

    def _settled(self, event: events.EndsCard) -> None:
        if self.cards.settle(event.call_id):
            self.story.note(gone(event))

    def _more(self, kind: str, fields: decode.Fields) -> None:
        match kind:
            case "session_cost":
                cost = fields.raw.get("total_cost_usd")
                self.cost_usd = float(cost) if isinstance(cost, int | float) else self.cost_usd
            case "approval_required" if fields.text("resume_token"):
                if not self.cards.knows(fields.text("call_id")):
                    self.cards.add(suspended(fields.raw))
            case "approval_resume":
                self.cards.settle_token(fields.text("resume_token"))
            case "mcp_ready":
                self.servers[fields.text("name")] = f"{len(fields.items('tools'))} tools"
            case "mcp_failed":
                self.servers[fields.text("name")] = f"failed: {fields.text('reason')}"
                self.story.note(f"MCP {fields.text('name')}: {fields.text('reason')}")
            case _:
                pass

    def _usage(self, usage: decode.Fields) -> None:
        spent = usage.number("input_tokens"), usage.number("output_tokens")
        cached = usage.number("cache_read_tokens"), usage.number("cache_write_tokens")
        if spent[0] is not None or spent[1] is not None:
            self.usage = sum(n or 0 for n in (spent[0], *cached)), spent[1] or 0
        self.window_percent = usage.number("active_window_percent")

    def _turn_over(self) -> None:
        self.turn, self.turn_began, self.is_started = "", None, False

    # --- what the person says ---------------------------------------------------------------------

    async def say(self, text: str, files: list[str] | None = None) -> None:
        """Start a turn."""
        if self.engine is None:
            return
        self.story.say(text)
        self.title = self.title or text.strip()[:TITLE_CHARS_MAX]
        self.interrupted = None
        self.is_started, self.turn_began = False, monotonic()
        try:
            self.turn = await self.engine.message(text, files=files or ())
        except (CommandTooLongError, ValueError) as error:
            self._turn_over()
            self.story.note(f"not sent: {error}", alarming=True)
        self._changed()

    async def answer(self, card: Card, verdict: Allow | Deny) -> None:
        """Answer one card; nothing is sent if it is no longer in front."""
        if self.engine is None or card is not self.cards.front:
            return
        self.cards.answered(monotonic())
        try:
            await self.engine.send(card.command(verdict))
        except (CommandTooLongError, ValueError) as error:
            self.cards.refused(f"{card.call_id}: not sent: {error}")
        self._changed()

    async def stop(self) -> None:
        """End the running turn."""
        if self.engine is not None and self.turn:
            self.story.note("stopping")
            await self.engine.stop()

    def tick(self, now: float) -> None:
        """Time has passed."""
        self.story.tick()
        if self.cards.overdue(now):
            self.story.note("the engine did not take that answer; the card is back")
