"""Dialogs: lists to look through and pick from, a question with two answers, a long text.

What they show is visible text; nothing in it is markup. None of them can answer a card.
"""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import ClassVar, Final

from anyio import to_thread
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key, Resize
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import Input

from wcore_host.headless.card_queue import QUIET_S
from wcore_host.terminal.rows_view import Rows, RowsView
from wcore_host.terminal.text_layout import (
    BOLD,
    DIM,
    PLAIN,
    YELLOW,
    cropped,
    cut,
    lines_of,
    rows_of,
    strip_of,
)
from wcore_host.visible import visible_line

DETAIL_ROWS: Final = 4  # of the row under the cursor, in full


class ListScreen(ModalScreen[tuple[str, int] | None]):
    """A list: typing filters it, Enter or one of `keys` picks a row, Esc leaves.

    The result is the key and the index of the row among all that were given.
    """

    def __init__(
        self, title: str, rows: Sequence[str], hint: str = "", keys: frozenset[str] = frozenset()
    ) -> None:
        super().__init__()
        self._title = title
        self._all = [visible_line(row) for row in rows]
        self._hint = hint or "type to filter · Enter opens · Esc closes"
        self._keys = keys
        self._found = list(range(len(self._all)))
        self._at = 0

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Rows(id="list-title")
            yield Input(id="list-filter", compact=True, placeholder="filter")
            yield Rows(id="list-rows")
            yield Rows(id="list-detail")
            yield Rows(id="list-hint")

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._draw()

    def on_resize(self, _event: Resize) -> None:
        self.call_after_refresh(self._draw)

    @on(Input.Changed)
    def filtered(self, event: Input.Changed) -> None:
        """Show the rows that have every word."""
        words = event.value.casefold().split()
        rows = enumerate(self._all)
        self._found = [at for at, row in rows if all(w in row.casefold() for w in words)]
        self._at = 0
        self._draw()

    def on_key(self, event: Key) -> None:
        """Move, pick, leave."""
        steps = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}
        if event.key in steps:
            self._at = max(0, min(self._at + steps[event.key], len(self._found) - 1))
            self._draw()
        elif event.key == "escape":
            self.dismiss(None)
        elif event.key in self._keys | {"enter"}:
            if self._found:
                self.dismiss((event.key, self._found[self._at]))
        else:
            return
        event.stop()

    @on(Input.Submitted)
    def submitted(self) -> None:
        """Enter in the filter."""
        if self._found:
            self.dismiss(("enter", self._found[self._at]))

    def _draw(self) -> None:
        body = self.query_one("#list-rows", Rows)
        width = max(20, body.size.width)
        self.query_one("#list-title", Rows).put([strip_of((cropped(self._title, width), BOLD))])
        rows = [
            strip_of(
                ("> " if place == self._at else "  ", BOLD),
                (cropped(self._all[at], width - 3), BOLD if place == self._at else PLAIN),
            )
            for place, at in enumerate(self._found)
        ]
        body.put(rows or [strip_of(("  nothing here", DIM))])
        body.show_row(self._at)
        detail = list(rows_of(self._all[self._found[self._at]], width, DIM)) if self._found else []
        more = [*detail[:DETAIL_ROWS]] if len(detail) > 1 else []
        self.query_one("#list-detail", Rows).put(more)
        self.query_one("#list-detail", Rows).styles.height = len(more)
        hint = list(rows_of(self._hint, width, DIM, words=True))
        self.query_one("#list-hint", Rows).put(hint)
        self.query_one("#list-hint", Rows).styles.height = len(hint)


class ConfirmScreen(ModalScreen[bool]):
    """Asks once more; No is preselected, and keys count only after a quiet moment."""

    def __init__(self, question: str, yes: str, no: str = "No, leave it as it is") -> None:
        super().__init__()
        self._question = question
        self._answers = (no, yes)
        self._at = 0
        self._listens_at = monotonic() + QUIET_S

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog small"):
            yield Rows(id="confirm")

    def on_resize(self, _event: Resize) -> None:
        self.call_after_refresh(self._draw)

    def on_key(self, event: Key) -> None:
        """Choose and answer."""
        event.stop()
        now = monotonic()
        if event.key in ("up", "down", "left", "right"):
            self._at = 1 - self._at
            self._draw()
        elif event.key == "escape":
            self.dismiss(result=False)
        elif event.key == "enter" and now >= self._listens_at:
            self.dismiss(self._at == 1)
        else:
            self._listens_at = now + QUIET_S

    def _draw(self) -> None:
        rows = self.query_one(Rows)
        width = max(20, rows.size.width)
        shown = list(rows_of(self._question, width, YELLOW, words=True))
        for at, text in enumerate(self._answers):
            mark = ("> " if at == self._at else "  ", BOLD)
            shown.append(
                strip_of(mark, (cropped(text, width - 2), BOLD if mark[0][0] != " " else PLAIN))
            )
        shown += rows_of("↑↓ Enter · Esc: no", width, DIM)
        rows.put(shown)
        rows.styles.height = len(shown)


class LongText(RowsView, can_focus=True):
    """Any amount of text; rows become strips only while they are on the screen."""

    def __init__(self) -> None:
        super().__init__(id="long-text")
        self.rows: list[str] = []

    def row_count(self) -> int:
        return len(self.rows)

    def row(self, at: int) -> Strip:
        return strip_of((self.rows[at], PLAIN))


class ViewerScreen(ModalScreen[None]):
    """Shows all of a text, made visible, wrapped, however long it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+o", "dismiss", show=False),
        Binding("c", "copy", show=False),
    ]

    def __init__(self, title: str, text: str, copy: Callable[[str], None]) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._copy = copy

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog full"):
            yield Rows(id="list-title")
            yield LongText()
            yield Rows([strip_of(("↑↓ PgUp PgDn · c copies · Esc closes", DIM))], id="list-hint")

    def on_mount(self) -> None:
        self.query_one(LongText).focus()

    def on_resize(self, _event: Resize) -> None:
        self.call_after_refresh(self._load)

    async def _load(self) -> None:
        shown = self.query_one(LongText)
        width = max(20, shown.size.width - 1)
        self.query_one("#list-title", Rows).put([strip_of((cropped(self._title, width), BOLD))])
        shown.rows = await to_thread.run_sync(_wrapped, self._text, width)
        shown.sized()

    def action_copy(self) -> None:
        """Copy the text as it is."""
        self._copy(self._text)


def _wrapped(text: str, width: int) -> list[str]:
    return [row for line in lines_of(text) for row in cut(line, width)]
