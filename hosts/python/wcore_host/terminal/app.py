"""The full-screen host: sessions one at a time or side by side. Start here, then `pane`.

`headless.chat_session` is one conversation, `headless.card_queue` says when an answer counts,
`headless.answer_menu` what the answers are, `text_layout` what keeps hostile text inert,
`transcript_view` how ten thousand calls scroll.
"""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Final

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import DescendantFocus, Key

from wcore_host.headless.chat_options import ChatOptions
from wcore_host.headless.job_control import has_shell
from wcore_host.terminal.card_panel import CardPanel
from wcore_host.terminal.dialogs import ConfirmScreen
from wcore_host.terminal.pane import Pane
from wcore_host.terminal.render_blocks import plain
from wcore_host.terminal.rows_view import Rows
from wcore_host.terminal.slash import COMMANDS, run_slash_command
from wcore_host.terminal.text_layout import BOLD, DIM, YELLOW, cropped, strip_of
from wcore_host.terminal.transcript_view import TranscriptView
from wcore_host.visible import visible, visible_line

EXIT_OK: Final = 0
EXIT_ENGINE: Final = 1
PANES_MAX: Final = 16  # engines at once; each is a process
SIDE_COLUMNS_MIN: Final = 40  # a narrower session cannot be read
TWICE_S: Final = 2.0  # two Ctrl+C within this leave
TAB_CELLS: Final = 24


class ChatApp(App[int]):
    """All sessions of one terminal."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    TITLE = "wcore"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", show=False, priority=True),
        Binding("ctrl+c", "interrupt", show=False),
        Binding("ctrl+d", "end_of_input", show=False, priority=True),
        Binding("ctrl+z", "suspend", show=False, priority=True),
        Binding("ctrl+f", "search", show=False, priority=True),
        Binding("ctrl+o", "open", show=False),
        Binding("ctrl+pageup", "switch(-1)", show=False, priority=True),
        Binding("ctrl+pagedown", "switch(1)", show=False, priority=True),
        Binding("pageup", "scroll(-1)", show=False),
        Binding("pagedown", "scroll(1)", show=False),
        Binding("f1", "help", show=False, priority=True),
    ]

    def __init__(self, options: ChatOptions) -> None:
        super().__init__()
        self._options = options
        self._folder = Path(next(iter(options.values("--cwd")), "--cwd=.").partition("=")[2])
        self._side = False
        self._front: Pane | None = None
        self._ending: set[Pane] = set()  # still there for a moment
        self._interrupted_at = -TWICE_S
        self.last_words: list[str] = []  # what is said when the terminal is a terminal again

    def compose(self) -> ComposeResult:
        yield Rows(id="sessions")
        yield Horizontal(id="panes")

    async def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._signalled, signal.SIGTERM)
        await self._open(self._options)

    # --- sessions ---------------------------------------------------------------------------------

    @property
    def panes(self) -> list[Pane]:
        """The sessions, without one that is being closed."""
        return [pane for pane in self.query(Pane) if pane not in self._ending]

    async def _open(self, options: ChatOptions) -> None:
        pane = Pane(options, self._folder, COMMANDS, run_slash_command)
        await self.query_one("#panes").mount(pane)
        self._show(pane)

    @on(Pane.OpenSession)
    async def wanted(self, message: Pane.OpenSession) -> None:
        """Open another session; one that is open already comes to the front."""
        for pane in self.panes:
            if pane.talk.engine is not None and message.options.resumes(pane.talk.session_id):
                self._show(pane)
                return
        if len(self.panes) < PANES_MAX:
            await self._open(message.options)
        elif self._front is not None:
            self._front.note(f"{PANES_MAX} sessions are open: /close one first")

    @on(Pane.SessionAction)
    def wished(self, message: Pane.SessionAction) -> None:
        """What one session wants of all."""
        match message.what:
            case "side":
                self._side = not self._side
                self._show(self._front or self.panes[0])
            case "close":
                self.run_worker(self._close())
            case "failed":
                if len(self.panes) == 1:
                    self._fail(self.panes[0])
            case _:
                self.action_leave()

    async def _close(self) -> None:
        pane = self._front
        if pane is None or len(self.panes) == 1:
            self.action_leave()
            return
        if await self._may_end([pane]):
            self._ending.add(pane)
            pane.display = False  # its room is free at once
            self._show(self.panes[-1])
            await pane.shut()
            await pane.remove()

    def _show(self, pane: Pane) -> None:
        """Bring one session to the front."""
        changed = self._front is not pane
        self._front = pane
        side = self._side and len(self.panes) * SIDE_COLUMNS_MIN <= self.size.width
        for other in self.panes:
            other.display = side or other is pane
            other.set_class(side, "beside")
        if changed:
            pane.focus_prompt()
        self.draw_sessions()

    @on(Pane.SessionChanged)
    def draw_sessions(self) -> None:
        """Show which sessions there are, and which wait for an answer."""
        bars = self.query("#sessions").results(Rows) if self.screen_stack else ()
        bar = next(iter(bars), None)
        if bar is None:  # the app is ending
            return
        panes = self.panes
        bar.display = len(panes) > 1
        parts = [("Ctrl+PgDn ", DIM)]
        for number, pane in enumerate(panes, 1):
            name = cropped(visible_line(pane.talk.name), TAB_CELLS)
            waits = len(pane.talk.cards)
            mark = f" ?{waits}" if waits else " …" if pane.talk.turn else ""
            style = BOLD if pane is self._front else YELLOW if waits else DIM
            parts.append((f" {'>' if pane is self._front else ' '}{number} {name}{mark} ", style))
        bar.put([strip_of(*parts)])

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """A click into another session brings it to the front."""
        around = event.widget.ancestors
        pane = next((node for node in around if isinstance(node, Pane)), None)
        if pane is not None and pane is not self._front and self.screen_stack:
            self._show(pane)

    def on_resize(self) -> None:
        """Side by side takes room."""
        self.call_after_refresh(self._show_again)

    def _show_again(self) -> None:
        if self._front is not None:
            self._show(self._front)

    # --- keys -------------------------------------------------------------------------------------

    def on_key(self, event: Key) -> None:
        """Keys that no widget took."""
        pane = self._front
        if pane is None or len(self.screen_stack) > 1:
            return
        if event.key in ("tab", "shift+tab"):
            event.stop()
            pane.next_focus(1 if event.key == "tab" else -1)
        elif event.is_printable and event.character and isinstance(self.focused, TranscriptView):
            event.stop()
            pane.write(event.character)

    def action_switch(self, step: int) -> None:
        """Go to another session."""
        if self._front is not None and len(self.screen_stack) == 1:
            panes = self.panes
            self._show(panes[(panes.index(self._front) + step) % len(panes)])

    def action_scroll(self, pages: int) -> None:
        """Scroll the conversation, wherever the focus is."""
        if self._front is not None:
            view = self._front.query_one(TranscriptView)
            view.scroll_relative(y=pages * max(1, view.size.height - 1), animate=False)

    def action_search(self) -> None:
        """Search the conversation."""
        if self._front is not None and len(self.screen_stack) == 1:
            self._front.search()

    def action_open(self) -> None:
        """Show all of a card or call."""
        if self._front is not None and len(self.screen_stack) == 1:
            self._front.open_block()

    def action_help(self) -> None:
        """Show the help."""
        if self._front is not None:
            self._front.help()

    def action_suspend(self) -> None:
        """Stop this job, as a shell expects; the driver lets go of the terminal meanwhile."""
        if has_shell():
            os.kill(0, signal.SIGTSTP)
            for panel in self.query(CardPanel):
                panel.left()  # keys meant for the shell answer nothing
            self.refresh(layout=True)
        elif self._front is not None:
            self._front.note("Ctrl+Z: there is no shell to go back to")

    async def action_interrupt(self) -> None:
        """Copy what is selected; else stop the turn; else leave, when pressed twice."""
        pane = self._front
        if (text := self.screen.get_selected_text()) is not None and text:
            self.copy_to_clipboard(text)
            self.screen.clear_selection()
        elif pane is not None and pane.talk.turn:
            await pane.talk.stop()
        elif self._loop_time() - self._interrupted_at < TWICE_S:
            self.action_leave()
        else:
            self._interrupted_at = self._loop_time()
            if pane is not None:
                pane.note("Ctrl+C again leaves")

    def action_end_of_input(self) -> None:
        """Ctrl+D leaves, where nothing is written."""
        alone = len(self.screen_stack) == 1
        if self._front is not None and alone and not self._front.is_writing:
            self.action_leave()

    # --- the end ----------------------------------------------------------------------------------

    def action_leave(self) -> None:
        """Leave; if something still runs or waits, ask first."""
        self.run_worker(self._leave(), exclusive=True, group="leave")

    async def _leave(self) -> None:
        if await self._may_end(self.panes):
            await self._end(EXIT_OK)

    async def _may_end(self, panes: list[Pane]) -> bool:
        busy = sum(bool(pane.talk.turn) for pane in panes)
        if not busy:
            return True
        question = "A turn is still running. What runs is stopped, what waits is refused. End it?"
        return bool(await self.push_screen_wait(ConfirmScreen(question, "Yes, end it")))

    async def _end(self, code: int) -> None:
        for pane in self.panes:
            await pane.talk.stop()
        await asyncio.gather(*(pane.shut() for pane in self.panes))
        self.last_words = [
            f"session {pane.talk.session_id}: wcore-chat --resume {pane.talk.session_id}"
            for pane in self.panes
            if pane.talk.session_id
        ]
        self.exit(code)

    def _fail(self, pane: Pane) -> None:
        """The engine of the only session did not start."""
        self.last_words = [plain(block) for block in pane.talk.story.blocks]
        self.exit(EXIT_ENGINE)

    def _signalled(self, number: int) -> None:
        self.run_worker(self._end(128 + number), group="signal")

    def hung_up(self, number: int) -> None:
        """The terminal is gone: end at once, the engines by a signal of their own.

        Whoever writes to a terminal that is gone may wait for ever, and the loop with it.
        """
        for pane in self.panes if self.screen_stack else ():
            if pane.talk.engine is not None:
                with suppress(ProcessLookupError):
                    os.kill(pane.talk.engine.pid, signal.SIGTERM)
        os._exit(128 + number)

    @staticmethod
    def _loop_time() -> float:
        return asyncio.get_running_loop().time()


def run(options: ChatOptions) -> int:
    """Run the full-screen host until the person leaves; return its exit code."""
    app = ChatApp(options)
    signal.signal(signal.SIGHUP, lambda number, _frame: app.hung_up(number))
    code = app.run()
    for line in app.last_words:
        print(visible(line), file=sys.stderr)  # noqa: T201
    return EXIT_ENGINE if code is None else code
