"""How events look. Everything that engine, model or tool wrote is made visible first."""

from collections.abc import Callable
from typing import Final

from wcore_host import events
from wcore_host.errors import EngineExitedError
from wcore_host.events import Event
from wcore_host.headless.card_content import headline
from wcore_host.plain.screen import Screen
from wcore_host.plain.style import Style, diff_colour, fold
from wcore_host.visible import visible, visible_line

OUTPUT_ROWS: Final = 10
OUTPUT_CHARS: Final = 4000  # of the folded output: ten rows may be very long ones
DESCRIPTION_CHARS: Final = 200  # two lines of a terminal
LOG_CHARS: Final = 200  # two lines of a terminal


class TranscriptPrinter:
    """Prints events; remembers the last output for `/last`."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._names: dict[str, str] = {}  # what an open call is called, by call_id
        self._asked: set[str] = set()  # calls whose card was shown
        self._speaking = ""  # what the unfinished line is: text or thinking
        self.last_output = ""

    def follow(self, event: Event) -> None:
        """Learn names before anything is shown (showing may come later)."""
        match event:
            case events.CallEvent():
                about = visible_line(event.tool.description, DESCRIPTION_CHARS)
                self._names[event.call_id] = headline(event.tool.name, about, event.agent)
                if isinstance(event, events.ToolRequest):
                    self._asked.add(event.call_id)
            case _:
                pass

    def show(self, event: Event) -> None:
        """Print one event, if it is something to look at."""
        match event:
            case events.TextDelta(text=text):
                self._speak("text", text, str)
            case events.Thinking(text=text):
                self._speak("thinking", text, self._screen.style.dim)
            case events.CallAnnounced():
                self._announced(event)
            case events.ToolResult():
                self._result(event)
            case events.ToolCancelled(call_id=call_id, reason=reason):
                name = self._names.pop(call_id, "a call")
                self.say(self._screen.style.red(f"✗ {name}: {visible_line(reason, 300)}"))
            case events.StreamEnd():
                self._ended(event)
            case events.GarbledLine(problem=problem, line=line):
                self.note(f"the engine sent a line that is no event ({problem}): {line}")
            case _:
                self._advice(event)

    def say(self, text: str) -> None:
        """Print a whole line of ours; `text` is visible already."""
        self._speaking = ""
        self._screen.line(text)

    def note(self, text: str) -> None:
        """Print one dim line about something; `text` may be hostile."""
        for row in visible(text).split("\n"):
            self.say(self._screen.style.dim(row))

    def crashed(self, failure: EngineExitedError, session_id: str) -> None:
        """Say how the engine ended, what it said last, and how to go on."""
        for row in str(failure).split("\n"):
            self.say(self._screen.style.red(visible_line(_ends(row))))
        again = f"wcore-chat --plain --resume {visible_line(session_id, 128)}"
        self.note(f"What was said is stored, and what was not answered did not run: {again}")

    def show_last(self) -> None:
        """Print the whole output of the last tool."""
        if not self.last_output:
            self.note("no tool has printed anything yet")
            return
        for row in visible(self.last_output.replace("\r\n", "\n")).split("\n"):
            self.say(row)

    def _speak(self, what: str, text: str, paint: Callable[[str], str]) -> None:
        if self._speaking and self._speaking != what and self._screen.is_mid_line:
            self._screen.write("\n")
        self._speaking = what
        self._screen.write(paint(visible(text)))

    def _announced(self, event: events.CallAnnounced) -> None:
        row = visible_line(event.why.row, 30)
        name = self._names.get(event.call_id, "")
        self.say(self._screen.style.dim(f"· {name}" + (f"  [{row}]" if row else "")))

    def _result(self, event: events.ToolResult) -> None:
        style = self._screen.style
        name = self._names.pop(event.call_id, visible_line(event.tool_name, 60))
        good = event.status == "success"
        self.say(style.green(f"✓ {name}") if good else style.red(f"✗ {name}"))
        self.last_output = event.output
        if good and event.call_id in self._asked and event.output_type == "diff":
            return  # the card has shown this very diff
        text = visible(event.output[:OUTPUT_CHARS].replace("\r\n", "\n").rstrip("\n"))
        rows = text.split("\n") if text else []
        if len(event.output) > OUTPUT_CHARS:
            more = event.output.count("\n", OUTPUT_CHARS)
            rows = [*rows[: OUTPUT_ROWS - 1], f"… {more + 1} more lines; /last shows them"]
        paint = diff_colour if event.output_type == "diff" else _as_it_is
        for row in fold(rows, OUTPUT_ROWS, "/last shows them"):
            self.say("  " + (paint(row, style) if good else style.red(row)))

    def _ended(self, event: events.StreamEnd) -> None:
        if self._screen.is_mid_line:
            self.say("")
        self._names.clear()
        self._asked.clear()
        if event.ended_early:
            self.note(f"the turn ended early: {event.finish_reason}")
        if event.denied_unasked:
            self.note(f"{event.denied_unasked} calls were refused because nobody can be asked")

    def _advice(self, event: Event) -> None:
        match event:
            case events.Info(message=message):
                self.note(f"· {message}")
            case events.Error(code=code, message=message):
                self.say(self._screen.style.red(f"! {visible(message)} ({visible_line(code)})"))
            case _:
                pass


def _as_it_is(row: str, _style: Style) -> str:
    return row


def _ends(row: str) -> str:
    """Return the two ends of a long log line; a traceback gives its reason at the end."""
    return row if len(row) <= 3 * LOG_CHARS else f"{row[:LOG_CHARS]} … {row[-2 * LOG_CHARS :]}"
