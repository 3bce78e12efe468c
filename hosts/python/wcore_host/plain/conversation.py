"""The chat itself: what the engine says and what the person types, one item after another.

Nothing interleaves, so an answer is read, and sent, while exactly one question is shown.
"""

from collections.abc import Callable
from time import monotonic
from typing import Final

import anyio

from wcore_host import events
from wcore_host.engine import Engine
from wcore_host.errors import CommandFailedError, CommandTooLongError, EngineExitedError
from wcore_host.events import Event
from wcore_host.headless.card_queue import gone
from wcore_host.plain import slash
from wcore_host.plain.card_queue import dialog_of
from wcore_host.plain.dialog import Again, Dialog, Done
from wcore_host.plain.inputs import Gone, Item, Line, Signalled, Tick
from wcore_host.plain.keys import Key, Pasted, Press
from wcore_host.plain.screen import Screen
from wcore_host.plain.view import View
from wcore_host.turn_refusals import refuses_turn
from wcore_host.visible import visible_line

LEAVING: Final = "this host is leaving"
TWICE_S: Final = 2.0  # two Ctrl-C within this leave
EXIT_OK: Final = 0
EXIT_ENGINE: Final = 1


class Chat:
    """One conversation with one engine, in one terminal or pipe."""

    def __init__(
        self, engine: Engine, screen: Screen, *, keyboard: bool, drop_typed: Callable[[], None]
    ) -> None:
        self._engine = engine
        self._screen = screen
        self._keyboard = keyboard
        self._drop_typed = drop_typed
        self._view = View(screen)
        self._out = self._view.out
        self._asking = self._view.asking
        self._draft = self._view.draft
        self._reply = self._view.reply
        self._turn = ""  # its msg_id
        self._started = self._leaving = False
        self._interrupted_at = -TWICE_S
        self._line_wanted = anyio.Event()
        self._line_asked = self._line_stale = False
        self.awake = anyio.Event()  # something is going on: time matters
        self.exit_code: int | None = None
        #: Something was not done: a line was not sent, a turn failed or was cut short, or nobody
        #: was there to answer. Whoever pipes lines in wants to know.
        self.has_failed = False

    async def begin(self, prompt: str = "") -> None:
        """Start the conversation, with a first message if there is one."""
        if prompt:
            await self.take(Line(prompt))
        else:
            self._refresh()

    async def take(self, item: Item) -> None:
        """Take the next thing that happens; `exit_code` is set when it was the last."""
        try:
            await self._obey(item)
        except EngineExitedError:
            pass  # `Gone` follows and says so
        except (CommandTooLongError, ValueError) as error:
            self.has_failed = True
            self._out.note(f"not sent: {error}")
        if self.exit_code is None:
            self._refresh()
        else:
            self._screen.clear_live()

    async def line_wanted(self) -> None:
        """Wait until a line from a pipe is wanted."""
        await self._line_wanted.wait()
        self._line_wanted = anyio.Event()

    async def _obey(self, item: Item) -> None:
        match item:
            case Event():
                await self._event(item)
            case Tick():
                pass
            case Line(text):
                await self._line(text)
            case Gone(failure):
                self._gone(failure)
            case Signalled(number):
                self.exit_code = 128 + number
            case _:
                await self._press(item)

    # --- the engine ---------------------------------------------------------------------------

    async def _event(self, event: Event) -> None:
        now = monotonic()
        self._view.follow(event, now)
        match event:
            case events.ToolRequest() if self._leaving:
                self.has_failed = True
                await self._engine.deny(event, LEAVING)
            case events.ToolRequest():
                self._asking.add(dialog_of(event, self._engine.capabilities.flags), now)
            case _ if isinstance(event, events.EndsCard):
                self._settled(event)
            case events.StreamStart(msg_id=msg_id) if msg_id == self._turn:
                self._started = True
            case events.StreamEnd(msg_id=msg_id) if msg_id == self._turn:
                self.has_failed |= event.ended_early
                self._turn_over()
            case events.Error() if self._turn and not self._started and refuses_turn(event):
                self.has_failed = True
                self._turn_over()
            case events.Error(message=message) | events.Info(message=message):
                self.has_failed |= isinstance(event, events.Error)
                self._asking.told(message, now)
            case _:
                pass

    def _settled(self, event: events.EndsCard) -> None:
        if not self._asking.settle(event.call_id):
            return
        self._view.close_question(f"{gone(event)}; what you typed was not used")
        self._line_stale = self._line_asked

    def _turn_over(self) -> None:
        self._turn = ""
        self._started = False
        if self._asking.drain():  # an engine that does not settle what a stop cuts off
            self._view.close_question("the turn is over; what you typed was not used")
            self._line_stale = self._line_asked
        if self._leaving:
            self.exit_code = EXIT_OK
            self._view.show_held()

    def _gone(self, failure: EngineExitedError | None) -> None:
        self._view.show_held()
        if failure is None:
            self.exit_code = EXIT_OK
            return
        self._screen.clear_live()
        self._out.crashed(failure, self._engine.ready.session_id)
        self.exit_code = EXIT_ENGINE

    # --- the person ---------------------------------------------------------------------------

    async def _press(self, press: Press) -> None:
        if press is Key.REDRAW:
            self._screen.clear_live()
            self._asking.typed_early(monotonic())  # keys meant for the shell answer nothing
        elif self._asking.current is not None:
            await self._press_at_question(press, self._asking.current)
        elif press in (Key.INTERRUPT, Key.ESCAPE) and self._turn:
            self._out.note("stopping")
            await self._engine.stop()
        elif press is Key.INTERRUPT:
            self._interrupted()
        elif press is Key.EOF:
            if not self._turn and not self._draft.text:
                self.exit_code = EXIT_OK
        elif press is Key.ENTER:
            if not self._turn or slash.is_command(self._draft.text):  # else the draft waits
                await self._submit()
        else:
            self._draft.press(press)

    async def _press_at_question(self, press: Press, dialog: Dialog) -> None:
        if press in (Key.ESCAPE, Key.INTERRUPT, Key.EOF):
            await self._step(dialog, dialog.cancel())
        elif isinstance(press, Pasted) and not dialog.takes_paste:
            self._draft.press(press)
            self._asking.typed_early(monotonic())  # an Enter right behind it is of the paste
            self._out.note("a paste cannot answer a card: it waits for the prompt")
        elif not self._asking.listens(monotonic()):
            self._asking.typed_early(monotonic())
        elif press is Key.ENTER:
            text = self._reply.text
            self._screen.clear_live()
            await self._step(dialog, dialog.answer(text, self._screen.style))
        elif isinstance(press, Pasted):
            self._reply.press(Pasted(press.text.replace("\n", " ")))
        else:
            self._reply.press(press)

    async def _line(self, text: str | None) -> None:
        self._line_asked = False
        if text is None:
            await self._leave()
        elif self._line_stale:
            self._line_stale = False
            self._out.note("that line was for a card that is gone; it was not used")
        elif self._asking.current is not None:
            dialog = self._asking.current
            await self._step(dialog, dialog.answer(text, self._screen.style))
        else:
            await self._say(text)

    async def _submit(self) -> None:
        text = self._draft.text
        self._draft.remember(text)
        self._draft.set("")
        self._screen.clear_live()
        if text.strip():
            self._view.echo(self._engine.capabilities.current_mode, text)
        await self._say(text)

    async def _say(self, text: str) -> None:
        if not text.strip():
            return
        if slash.is_command(text):
            match await slash.obey(text, self._engine, self._out):
                case slash.Quit():
                    self.exit_code = EXIT_OK
                case slash.Continue(msg_id):
                    await self._go_on(msg_id)
                case None:
                    pass
                case question:
                    self._asking.add(question, monotonic())
            return
        self._view.running.begin(monotonic())
        self._turn = await self._engine.message(text.removeprefix("/"))

    async def _go_on(self, msg_id: str) -> None:
        """Go on with the turn that another engine left unfinished."""
        if self._turn:
            return
        self._turn = msg_id  # empty: there is none, and the engine says so
        try:
            await self._engine.resume_turn()
        except CommandFailedError as error:  # it went on already
            self._turn_over()
            self._out.note(str(error))

    async def _step(self, dialog: Dialog, step: Done | Again) -> None:
        """Do what an answer comes to. Only the shown question can get here."""
        assert dialog is self._asking.current
        if isinstance(step, Again):
            for row in step.rows:
                self._out.say(row)
            self._reply.set(step.prefill)
            return
        self._asking.close()
        self._view.close_question(step.told)
        if step.command is not None:
            await self._engine.send(step.command)

    async def _leave(self) -> None:
        self._leaving = True
        for request in self._asking.drain():
            self.has_failed = True
            await self._engine.deny(request, LEAVING)
        if not self._turn:
            self.exit_code = EXIT_OK

    def _interrupted(self) -> None:
        now = monotonic()
        if self._draft.text:
            self._draft.set("")
        elif now - self._interrupted_at < TWICE_S:
            self.exit_code = EXIT_OK
        else:
            self._interrupted_at = now
            self._out.note("Ctrl-C again leaves")

    def _refresh(self) -> None:
        """Bring the screen up to date, and say what may come next."""
        if self._view.show_next():
            self._drop_typed()
        mode = visible_line(self._engine.capabilities.current_mode, 20)
        self._view.draw(f"{mode}> ", busy=bool(self._turn))
        if self._turn or self._asking.current is not None:
            self.awake.set()
        elif self.awake.is_set():
            self.awake = anyio.Event()
        self._want_line()

    def _want_line(self) -> None:
        """Ask the pipe for a line, if one can be used now."""
        if self._keyboard or self._leaving or self.exit_code is not None or self._line_asked:
            return
        if self._asking.current is not None:
            self._out.say(self._asking.prompt(monotonic()))
        elif self._turn:
            return
        self._line_asked = True
        self._line_wanted.set()
