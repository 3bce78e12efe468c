"""The arguments of a waiting call in an editor. Nothing is sent from here.

Whoever leaves it with changes sees the card again, as it would now run, and answers there.
"""

from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import TextArea

from wcore_host.events import JsonObject
from wcore_host.headless.argument_editing import Draft, DraftError, draft, read
from wcore_host.headless.card_queue import Card
from wcore_host.headless.durations import clock
from wcore_host.terminal.rows_view import Rows
from wcore_host.terminal.text_layout import BOLD, DIM, RED, cropped, rows_of, strip_of
from wcore_host.visible import visible, visible_line

HINT: Final = "Ctrl+S shows the card with the changes, nothing runs yet · Esc leaves"
TO_JSON: Final = " · Ctrl+T: all arguments"
LOSES: Final = "Esc again throws your changes away"


class TextField(TextArea):
    """Where text is written: what is pasted is made visible first; Ctrl+Z is the shell's."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+underscore", "undo", show=False)]

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert(visible(event.text.replace("\r\n", "\n").replace("\r", "\n")))


class EditScreen(ModalScreen[JsonObject | None]):
    """Lets the person change the arguments of one card; `None` leaves them as they are."""

    def __init__(self, card: Card) -> None:
        super().__init__()
        self.card = card
        self._args = card.args
        self._draft: Draft = draft(card.args)
        self._told = ""
        self._left_s: int | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog full"):
            yield Rows(id="list-title")
            yield TextField(self._draft.text, id="edit-text", compact=True)
            yield Rows(id="list-hint")

    def on_mount(self) -> None:
        self._text.focus()
        if self._text.document.line_count == 1:
            self._text.move_cursor(self._text.document.end)

    def on_resize(self, _event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    @property
    def _text(self) -> TextField:
        return self.query_one(TextField)

    def left(self, seconds: int | None) -> None:
        """Show how long there is to answer."""
        has_parts = self.is_active and self.query(TextField)  # not before, nor when they go
        if seconds != self._left_s and has_parts:
            self._left_s = seconds
            self._draw()

    def on_key(self, event: events.Key) -> None:
        """Keys that are not of the text."""
        match event.key:
            case "ctrl+s":
                self._take()
            case "ctrl+t":
                self._other()
            case "escape":
                self._leave()
            case _:
                if self._told:
                    self._tell("")
                return
        event.stop()
        event.prevent_default()

    def _take(self) -> None:
        try:
            self.dismiss(read(self._args, self._draft.name, self._text.text))
        except DraftError as error:
            self._tell(str(error))

    def _other(self) -> None:
        """Go on with all arguments as JSON, or back to one."""
        try:
            self._args = read(self._args, self._draft.name, self._text.text)
        except DraftError as error:
            self._tell(str(error))
            return
        self._draft = draft(self._args, whole=bool(self._draft.name))
        self._text.load_text(self._draft.text)
        self._tell("")

    def _leave(self) -> None:
        changed = self._text.text != self._draft.text or self._args != self.card.args
        if changed and self._told != LOSES:
            self._tell(LOSES)
        else:
            self.dismiss(None)

    def _tell(self, text: str) -> None:
        self._told = text
        self._draw()

    def _draw(self) -> None:
        width = max(20, self._text.size.width)
        left = "" if self._left_s is None else f"{clock(self._left_s)} "
        what = self._draft.name or "all arguments, as JSON"
        title = f"{left}Change {visible_line(self.card.request.tool.name, 40)}: {what}"
        self.query_one("#list-title", Rows).put([strip_of((cropped(title, width), BOLD))])
        hint = list(rows_of(self._told, width, RED, words=True)) if self._told else []
        hint += rows_of(HINT + TO_JSON, width, DIM, words=True)
        self.query_one("#list-hint", Rows).put(hint)
        self.query_one("#list-hint", Rows).styles.height = len(hint)
