"""The prompt: where messages are written. Enter sends, Alt+Enter or Ctrl+J begins a new line."""

from pathlib import Path
from time import monotonic
from typing import Final

from textual.events import Key, Paste
from textual.message import Message

from wcore_host.terminal.completion import Completer
from wcore_host.terminal.editor import TextField
from wcore_host.terminal.lone_enter import LoneEnter
from wcore_host.terminal.rows_view import Rows
from wcore_host.terminal.text_layout import BOLD, DIM, cropped, strip_of

QUIET_S: Final = 1.0  # a person who paused this long and left the prompt empty is not typing
HISTORY_MAX: Final = 500  # messages of one session
SHOWN_MAX: Final = 6  # completions at once


class Prompt(TextField):
    """A text area with history and completion."""

    class Sent(Message):
        """A message, or a command with a slash."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Pressed(Message):
        """A key that is not of the text: `escape`, `tab` or `shift+tab`."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, folder: Path, commands: tuple[str, ...]) -> None:
        super().__init__(id="prompt", compact=True, highlight_cursor_line=False, soft_wrap=True)
        self._completer = Completer(folder, commands)
        self._history: list[str] = []
        self._recalled = 0
        self._draft = ""
        self._pressed_at = -QUIET_S
        self._lone = LoneEnter(self, self._enter)
        self._found: tuple[str, ...] = ()
        self._found_start = 0
        self._picked = 0
        self._shown = Rows(id="completions")

    @property
    def completions(self) -> Rows:
        """The list of completions; it is shown above the prompt."""
        return self._shown

    @property
    def is_idle(self) -> bool:
        """Whether the person is certainly not writing here."""
        return not self.text and monotonic() - self._pressed_at >= QUIET_S

    def remember(self, texts: list[str]) -> None:
        """Begin the history with earlier messages."""
        self._history[:0] = texts
        self._recalled = len(self._history)

    def put(self, text: str) -> None:
        """Replace what is written, the cursor at its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def write(self, text: str) -> None:
        """Write on at the cursor, as if it were typed here."""
        self._other()
        self.insert(text)

    async def _on_key(self, event: Key) -> None:
        self._other()
        if self._obey(event.key):
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    async def _on_paste(self, event: Paste) -> None:
        self._other()
        await super()._on_paste(event)

    def _other(self) -> None:
        """Something was pressed or pasted: an Enter just before it is a new line."""
        self._pressed_at = monotonic()
        if self._lone.forget() and self.text:
            self.insert("\n")

    def _obey(self, key: str) -> bool:
        """Obey a key that is not of the text; `False` leaves it to the text area."""
        match key:
            case "tab" if self._found:
                self._complete(key)
            case "up" | "down" if self._found:
                self._picked = (self._picked + (1 if key == "down" else -1)) % len(self._found)
                self._show_found()
            case "escape" if self._found:
                self._found = ()
                self._show_found()
            case "enter":
                self._lone.came()
            case "ctrl+j" | "alt+enter" | "shift+enter":
                self.insert("\n")
            case "up" if self.cursor_location[0] == 0:
                return self._recall(-1)
            case "down" if self.cursor_location[0] == self.document.line_count - 1:
                return self._recall(1)
            case "tab" | "shift+tab" | "escape":
                self.post_message(self.Pressed(key))
            case _:
                return False
        return True

    # --- sending and history ----------------------------------------------------------------------

    def _enter(self) -> None:
        text = self.text
        if not (self._found and self._complete("enter")) and text.strip():
            self.post_message(self.Sent(text))

    def taken(self, text: str) -> None:
        """What was written has been sent: remember it and begin anew, or with what came since."""
        if not self._history or self._history[-1] != text:
            self._history = [*self._history, text][-HISTORY_MAX:]
        self._recalled = len(self._history)
        self.put(self.text.removeprefix(text))

    def _recall(self, step: int) -> bool:
        at = self._recalled + step
        if not 0 <= at <= len(self._history):
            return False
        if self._recalled == len(self._history):
            self._draft = self.text
        self._recalled = at
        self.put(self._history[at] if at < len(self._history) else self._draft)
        self._found = ()
        self._show_found()
        return True

    # --- completion -------------------------------------------------------------------------------

    def on_text_area_changed(self) -> None:
        """Offer what may stand at the cursor."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        recalled = self.text in self._history[self._recalled : self._recalled + 1]
        found = None if recalled or not self.has_focus else self._completer.complete(before)
        self._found = found.found if found else ()
        self._found_start = found.start if found else 0
        self._picked = 0
        self._show_found()

    def _complete(self, key: str) -> bool:
        """Write the picked completion; `False` if Enter found it written already."""
        row, column = self.cursor_location
        chosen = self._found[self._picked]
        typed = self.document.get_line(row)[self._found_start : column]
        self._found = ()
        self._show_found()
        if key == "enter" and typed == chosen:
            return False
        more = "" if chosen.endswith("/") else " "
        self.replace(chosen + more, (row, self._found_start), (row, column))
        return True

    def _show_found(self) -> None:
        shown = self._shown
        top = max(0, min(self._picked - SHOWN_MAX // 2, len(self._found) - SHOWN_MAX))
        names = self._found[top : top + SHOWN_MAX]
        width = max(10, self.size.width)
        shown.display = bool(names)
        shown.styles.height = len(names)
        rows = [
            strip_of(
                ("> " if top + at == self._picked else "  ", BOLD),
                (cropped(name, width - 3), BOLD if top + at == self._picked else DIM),
            )
            for at, name in enumerate(names)
        ]
        shown.put(rows)
