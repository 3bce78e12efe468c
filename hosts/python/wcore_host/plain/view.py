"""What the person sees: the transcript, the shown question, and the live row below."""

from time import monotonic

from wcore_host.events import Event
from wcore_host.plain.card_queue import CardQueue
from wcore_host.plain.line_editor import LineEditor
from wcore_host.plain.running import Running
from wcore_host.plain.screen import Screen
from wcore_host.plain.style import wrap
from wcore_host.plain.transcript_printer import TranscriptPrinter
from wcore_host.visible import visible_line


class View:
    """The screen of one conversation. While a question is shown, nothing scrolls it away."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._held: list[Event] = []  # what happens behind a card is shown after it
        self.out = TranscriptPrinter(screen)
        self.asking = CardQueue()
        self.running = Running()
        self.draft = LineEditor()  # the next message
        self.reply = LineEditor()  # the answer to the shown question

    def follow(self, event: Event, now: float) -> None:
        """Take in one event; it is printed when no question is in the way."""
        self.out.follow(event)
        self.running.follow(event, now)
        self._held.append(event)

    def show_held(self) -> None:
        """Print what has happened meanwhile."""
        held, self._held = self._held, []
        for event in held:
            self.out.show(event)

    def echo(self, mode: str, text: str) -> None:
        """Print what the person has said."""
        shown = "\n".join(visible_line(row) for row in text.split("\n"))
        self.out.say(self._screen.style.bold(f"{visible_line(mode, 20)}> {shown}"))

    def show_next(self) -> bool:
        """Show the next question if none is shown; `True` if there is a new one."""
        if self.asking.current is None:
            self.show_held()
        dialog = self.asking.next(monotonic())
        if dialog is None:
            return False
        self.reply.set("")
        self._screen.clear_live()
        for row in dialog.rows(self._screen.style):
            self.out.say(row)
        return True

    def close_question(self, told: str) -> None:
        """Take the shown question away and say what became of it."""
        self._screen.clear_live()
        if told:
            self.out.say(self._screen.style.dim(f"  → {told}"))

    def draw(self, prompt: str, *, busy: bool) -> None:
        """Draw the live row: the question's prompt, ours, or what runs."""
        screen, style, now = self._screen, self._screen.style, monotonic()
        if self.asking.current is not None:
            if self.asking.listens(now):
                screen.edit(self.asking.prompt(now), self.reply)
            else:
                screen.live(style.dim("…"))
        elif not busy:
            screen.edit(prompt, self.draft)
        elif not screen.is_mid_line:
            draft = f" · {visible_line(self.draft.text)}" if self.draft.text else ""
            status = f"{self.running.status(now)} · Esc stops{draft}"
            screen.live(style.dim(next(wrap(status, style.width - 1))))
