"""One session on the screen: conversation, card, prompt, footer; and what goes between them."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Final, TypeAlias, TypeVar, cast

from textual import on
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.events import Resize
from textual.message import Message
from textual.screen import Screen

from wcore_host.errors import EngineExitedError
from wcore_host.events import JsonObject
from wcore_host.headless import engine_cli
from wcore_host.headless.chat_options import ChatOptions
from wcore_host.headless.chat_session import ChatSession, EngineState
from wcore_host.headless.transcript_blocks import AssistantBlock
from wcore_host.headless.workspace import attached
from wcore_host.terminal.answer_menu_widget import AnswerMenuWidget
from wcore_host.terminal.card_panel import CardPanel
from wcore_host.terminal.card_rows import card_rows
from wcore_host.terminal.dialogs import ViewerScreen
from wcore_host.terminal.focus import Focus
from wcore_host.terminal.prompt import Prompt
from wcore_host.terminal.render_blocks import plain
from wcore_host.terminal.rows_view import Rows
from wcore_host.terminal.search import SearchField
from wcore_host.terminal.status import footer
from wcore_host.terminal.transcript_view import TranscriptView
from wcore_host.visible import visible

Result = TypeVar("Result")
Obey: TypeAlias = Callable[["Pane", str], Awaitable[None]]
FRAME_S: Final = 1 / 30  # nobody reads faster
TICK_S: Final = 0.25  # often enough for clocks in seconds
WHOLE_COLUMNS: Final = 10_000  # a card for the viewer is not wrapped, the viewer does that
HINTS: Final = {True: "Tab: answer it", False: "/help"}


class Pane(Vertical):
    """A session and everything that shows it. `obey` does what begins with a slash."""

    class OpenSession(Message):
        """Another session is wanted."""

        def __init__(self, options: ChatOptions) -> None:
            super().__init__()
            self.options = options

    class SessionAction(Message):
        """Something that concerns all sessions: `side`, `close`, `quit`."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    class SessionChanged(Message):
        """Something has changed that the list of sessions shows."""

    def __init__(
        self, options: ChatOptions, folder: Path, commands: tuple[str, ...], obey: Obey
    ) -> None:
        super().__init__(classes="pane")
        self._obey = obey
        self.talk = ChatSession(options, self._changed)
        self._folder = folder
        self._task: asyncio.Task[None] | None = None
        self._offered: JsonObject | None = None  # the interrupted turn that was asked about
        self._frame_due = False
        self._drawn_at = 0.0
        self._prompt = Prompt(folder, commands)
        self._transcript = TranscriptView(self.talk.story)
        self._panel = CardPanel(self.talk.cards)
        self._focus = Focus(self._prompt, self._panel, self._transcript)

    def compose(self) -> ComposeResult:
        yield self._transcript
        yield self._panel
        yield SearchField(self._transcript)
        yield self._prompt.completions
        yield self._prompt
        yield Rows(id="status")

    def on_mount(self) -> None:
        self._prompt.completions.display = False
        self._prompt.focus()
        self.set_interval(TICK_S, self.tick)
        self._start()

    # --- the engine -------------------------------------------------------------------------------

    def _start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        await self.talk.run()
        if self.talk.never_ready:
            self.post_message(self.SessionAction("failed"))
        if self.talk.interrupted is not None:
            self.talk.interrupted = None
        self._draw()

    def restart(self, options: ChatOptions) -> None:
        """Start an engine again for this conversation."""
        if self._task is None or self._task.done():
            self.talk.options = options
            self._start()

    async def shut(self) -> None:
        """End the engine and wait until it is gone."""
        self.talk.close()
        if self._task is not None:
            await self._task

    async def on_unmount(self) -> None:
        """However this session goes off the screen, its engine does not outlive it."""
        await self.shut()

    # --- drawing ----------------------------------------------------------------------------------

    def _changed(self) -> None:
        if not self._frame_due and self.is_mounted:
            self._frame_due = True
            wait = FRAME_S - (monotonic() - self._drawn_at)
            self.set_timer(max(wait, 0.001), self._draw)

    def _draw(self) -> None:
        began = monotonic()
        self._frame_due = False
        if not self.is_mounted or not self._is_shown:
            return
        self._transcript.sync()
        if self._panel.sync(self._flags):
            self.call_after_refresh(self._card_appeared)
        self._draw_status()
        if self.talk.interrupted is not None and self.talk.interrupted is not self._offered:
            self._offered = self.talk.interrupted
            self.run_worker(self._obey(self, "/resume"))
        self.post_message(self.SessionChanged())
        self._drawn_at = 2 * monotonic() - began  # a slow frame is followed by as long a pause

    @property
    def _is_shown(self) -> bool:
        """Whether nothing is taken down: an application ends part by part."""
        return self.is_running and self.app.is_running  # pyright: ignore[reportUnknownMemberType]

    def _draw_status(self) -> None:
        hint = HINTS[bool(len(self.talk.cards)) and not self._panel.has_keys]
        if self.talk.life is EngineState.GONE:
            hint = "/resume starts it again"
        row = footer(self.talk, max(10, self.size.width), hint)
        self.query_one("#status", Rows).put([row])

    def tick(self) -> None:
        """Show how the time goes on, if it matters."""
        if self._is_shown and (self.talk.turn or len(self.talk.cards)):
            self.talk.tick(monotonic())
            self._panel.tick()
            self._focus.focus_card_if_idle()
            self._changed()

    def on_resize(self, _event: Resize) -> None:
        """The card divides its room anew."""
        self.call_after_refresh(self._panel.fit)
        self._changed()

    @property
    def _flags(self) -> frozenset[str]:
        engine = self.talk.engine
        return frozenset() if engine is None else engine.capabilities.flags

    # --- who has the keys -------------------------------------------------------------------------

    def _card_appeared(self) -> None:
        self._focus.card_appeared()
        self._draw_status()

    @property
    def is_writing(self) -> bool:
        """Whether there is something in the prompt."""
        return bool(self._prompt.text)

    def help(self) -> None:
        """Show the help."""
        self.run_worker(self._obey(self, "/help"))

    def focus_prompt(self) -> None:
        """Write here."""
        self._prompt.focus()

    def next_focus(self, step: int) -> None:
        """Go round: prompt, card, conversation."""
        self._focus.go_round(step)
        self._draw_status()

    @on(Prompt.Pressed)
    async def pressed(self, message: Prompt.Pressed) -> None:
        """Tab and Esc in the prompt."""
        if message.key == "escape":
            await self.talk.stop()
        else:
            self.next_focus(1 if message.key == "tab" else -1)

    @on(AnswerMenuWidget.Typed)
    def typed(self, message: AnswerMenuWidget.Typed) -> None:
        """What was typed at a card is for the prompt."""
        self.write(message.text)

    def write(self, text: str) -> None:
        """Write on in the prompt, wherever it was typed or pasted."""
        self._prompt.focus()
        self._prompt.write(visible(text))

    @on(CardPanel.Answered)
    async def answered(self, message: CardPanel.Answered) -> None:
        """An answer to the card that was shown, and only to that."""
        with suppress(EngineExitedError):  # it is told where events are read
            await self.talk.answer(message.card, message.verdict)
        self._draw()

    # --- the person writes ------------------------------------------------------------------------

    @on(Prompt.Sent)
    async def sent(self, message: Prompt.Sent) -> None:
        """A message, or a command."""
        text = message.text
        if text.startswith("/") and not text.startswith("//"):
            self._prompt.taken(text)
            self.run_worker(self._obey(self, text.strip()), exit_on_error=True)
            return
        if self.talk.life is EngineState.STARTING and not self.talk.first:
            self._prompt.taken(text)
            self.talk.first = text.removeprefix("/")
            self.talk.first_files = attached(self.talk.first, self._folder)
        elif self.talk.engine is None:
            self.note("there is no engine; /resume starts it again, /new a new session")
        elif self.talk.turn:
            self.note("the turn is still running: your message stays in the prompt; Esc stops it")
        else:
            self._prompt.taken(text)
            said = text.removeprefix("/")
            try:
                await self.talk.say(said, attached(said, self._folder))
            except EngineExitedError:
                self._prompt.put(text + self._prompt.text)
        self._draw()

    def note(self, text: str) -> None:
        """Say something of our own."""
        self.talk.story.note(text)
        self._changed()

    async def outside(self, *arguments: str) -> list[JsonObject]:
        """Ask the command line of the engine that this session runs."""
        return await engine_cli.ask(self.talk.options.engine, *arguments, cwd=".")

    # --- what can be looked at --------------------------------------------------------------------

    def search(self, text: str = "") -> None:
        """Open the search field."""
        self.query_one(SearchField).open(text)

    @on(TranscriptView.Opened)
    def opened(self, message: TranscriptView.Opened) -> None:
        """Show all of a block."""
        self._show(self._viewer("all of it", plain(message.block)))

    def open_block(self) -> None:
        """Show all of the card, or of the call that the person means."""
        panel = self._panel
        if panel.shown is not None and not self._transcript.has_focus:
            rows = card_rows(panel.shown, WHOLE_COLUMNS, whole=True)
            self._show(self._viewer("this card", "\n".join(row.text for row in rows)))
        elif (block := self._transcript.block_at_cursor()) is not None:
            self._show(self._viewer("all of it", plain(block)))

    async def view(self, title: str, text: str) -> None:
        """Show a text and wait until it is closed."""
        await self.ask(self._viewer(title, text))

    async def ask(self, screen: Screen[Result]) -> Result | None:
        """Show a dialog and return what became of it; to be awaited in a worker."""
        return await self._app.push_screen_wait(screen)

    def _show(self, screen: Screen[None]) -> None:
        self._app.push_screen(screen)

    def _viewer(self, title: str, text: str) -> ViewerScreen:
        return ViewerScreen(title, text, self._app.copy_to_clipboard)

    @property
    def _app(self) -> App[int]:
        return cast("App[int]", self.app)  # pyright: ignore[reportUnknownMemberType]

    def copy_last(self) -> None:
        """Copy the last thing the model said."""
        blocks = self.talk.story.blocks
        last = next(
            (block for block in reversed(blocks) if isinstance(block, AssistantBlock)), None
        )
        if last is not None:
            self._app.copy_to_clipboard(last.text)
            self.note("copied")
