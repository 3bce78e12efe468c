"""The answers under a card, as a widget: arrows, Enter, Space, Esc, two clicks. Never a letter.

What is typed here is not lost: it goes to the prompt, where a person who types wants it.
"""

from time import monotonic
from typing import TYPE_CHECKING, Final

from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from wcore_host.headless.answer_menu import KEPT, AnswerMenu, Choice, ChoiceAction
from wcore_host.headless.card_queue import CardQueue
from wcore_host.permission import Allow, Deny
from wcore_host.terminal.lone_enter import LoneEnter
from wcore_host.terminal.rows_view import RowsView
from wcore_host.terminal.text_layout import BOLD, DIM, PLAIN, between_words, rows_of, strip_of

if TYPE_CHECKING:
    from collections.abc import Callable

CHOSEN: Final = Style(bold=True, reverse=True)
ROWS_MAX: Final = 1_000  # where nobody says how much room there is
UNARMED_HINT: Final = "in a moment…"
AWAY_HINT: Final = "Tab goes to these answers"


class AnswerMenuWidget(RowsView, can_focus=True):
    """Shows a `AnswerMenu` and obeys keys as far as the queue of cards lets it."""

    class Given(Message):
        """An answer to the card in front."""

        def __init__(self, verdict: Allow | Deny) -> None:
            super().__init__()
            self.verdict = verdict

    class Changing(Message):
        """The arguments shall be changed, or be as they were (`undo`)."""

        def __init__(self, *, undo: bool) -> None:
            super().__init__()
            self.undo = undo

    class Moved(Message):
        """The rows have changed, or a second step begins or ends."""

    class Typed(Message):
        """A printable key: it is for the prompt."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Scrolled(Message):
        """The card above should scroll by pages."""

        def __init__(self, pages: int) -> None:
            super().__init__()
            self.pages = pages

    def __init__(self, cards: CardQueue) -> None:
        super().__init__(id="answers")
        self._cards = cards
        self.picking: AnswerMenu | None = None
        self._rows: list[Strip] = []
        self._owners: list[int] = []  # which choice a row belongs to, -1 for none
        self.rows_max = ROWS_MAX
        self.columns = 0  # of the session: a widget that was never shown has no width of its own
        self._lone = LoneEnter(self, self._enter)
        self._gap: str | None = None  # the ends of lines after text that was typed here

    # --- rows -------------------------------------------------------------------------------------

    def row_count(self) -> int:
        return len(self._rows)

    def row(self, at: int) -> Strip:
        return self._rows[at]

    def ask(self, picking: AnswerMenu | None) -> None:
        """Offer the answers of a card."""
        self._lone.forget()
        self.picking = picking
        self.redraw()

    def redraw(self) -> None:
        """Bring the rows up to date."""
        if self.picking is None:
            return
        width = max(20, self.columns - 1)
        self._rows, self._owners = _rows(self.picking, width, self._hint(), self.rows_max)
        self.styles.height = len(self._rows)
        self.sized()

    def _hint(self) -> str:
        if self.picking is None or (not self.has_focus and not self.picking.in_step):
            return AWAY_HINT
        if not self._cards.listens(monotonic()):
            return UNARMED_HINT
        if self.picking.in_step:
            return "Enter: exactly this · Esc: back" + (_keys_of(self.picking))
        esc = "no answer" if self.picking.card.is_question else "no"
        space = " · Space: tick" if self.picking.several else ""
        return f"↑↓ Enter{space} · Esc: {esc} · Ctrl+O: all"

    # --- focus ------------------------------------------------------------------------------------

    def on_focus(self) -> None:
        """From now on silence counts, and then keys do."""
        self._cards.appeared(monotonic())
        self._gap = None
        self.redraw()

    def on_blur(self) -> None:
        """Without the focus no key may answer."""
        self._lone.forget()
        if self.picking is not None and not self.picking.in_step:
            self._cards.left()
        self.redraw()

    # --- keys -------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Obey one key."""
        picking = self.picking
        if picking is None or event.key in ("tab", "shift+tab"):
            return
        if self._lone.forget():  # both are of a paste, and so is what follows
            self._cards.appeared(monotonic())
        moves: dict[str, Callable[[], None]] = {
            "up": lambda: picking.move(-1),
            "down": lambda: picking.move(1),
            "left": lambda: picking.keep(-1),
            "right": lambda: picking.keep(1),
            "pageup": lambda: self._scroll(-1),
            "pagedown": lambda: self._scroll(1),
        }
        counts = self._cards.pressed(monotonic())
        if event.key in moves:
            moves[event.key]()
        elif event.key in ("enter", "escape") or (event.key == "space" and picking.several):
            if counts:
                self._obey(event.key, picking)
            elif self._gap is not None and event.key == "enter":
                self._gap += "\n"
        elif event.is_printable and event.character:
            self._cards.appeared(monotonic())  # who types does not answer: also not with Enter
            self._typed((self._gap or "") + event.character, picking)
            self._gap = ""
        else:
            return
        event.stop()
        event.prevent_default()
        self._moved()

    def on_paste(self, event: events.Paste) -> None:
        """A paste never answers: it is for the prompt."""
        event.stop()
        self.post_message(self.Typed(event.text))

    def on_click(self, event: events.Click) -> None:
        """A click chooses, a second one on the same answer gives it."""
        at = self.scroll_offset.y + event.y
        counts = self._cards.pressed(monotonic())
        owner = self._owners[at] if at < len(self._owners) else -1
        if self.picking is None or owner < 0 or self.picking.in_step:
            return
        if owner == self.picking.at and counts:
            self._enter()
        self.picking.at = owner
        self._moved()

    def _obey(self, key: str, picking: AnswerMenu) -> None:
        match key:
            case "space":
                picking.tick()
            case "escape":
                if (verdict := picking.back()) is not None:
                    self.post_message(self.Given(verdict))
            case _:
                self._lone.came()

    def _typed(self, text: str, picking: AnswerMenu) -> None:
        if picking.choice.act in (ChoiceAction.TELL, ChoiceAction.WRITE) and not picking.in_step:
            picking.enter()
        self.post_message(self.Typed(text))

    def _enter(self) -> None:
        self._lone.forget()
        if self.picking is None or not self._cards.listens(monotonic()):
            return
        verdict = self.picking.enter()
        if verdict is not None:
            self.post_message(self.Given(verdict))
        elif self.picking.in_step:
            self._cards.appeared(monotonic())  # a second Enter must be meant as one
        elif (act := self.picking.choice.act) in (ChoiceAction.CHANGE, ChoiceAction.UNDO):
            self.post_message(self.Changing(undo=act is ChoiceAction.UNDO))
        self._moved()

    def _scroll(self, pages: int) -> None:
        self.post_message(self.Scrolled(pages))

    def _moved(self) -> None:
        self.redraw()
        self.post_message(self.Moved())


def _rows(
    picking: AnswerMenu, width: int, hint: str, rows_max: int
) -> tuple[list[Strip], list[int]]:
    """Return the rows and whose they are; where there is no room for all, those around one."""
    rows: list[Strip] = []
    owners: list[int] = []
    if picking.in_step:
        for text in _step_texts(picking):
            rows += [strip_of(("  " + row, PLAIN)) for row in between_words(text, width - 2)]
    else:
        for at, choice in enumerate(picking.choices):
            here = at == picking.at
            style = CHOSEN if here else PLAIN
            for number, row in enumerate(between_words(_label(picking, at, choice), width - 4)):
                lead = ("> " if here else "  ") if not number else "    "
                rows.append(strip_of((lead, BOLD), (row, style)))
                owners.append(at)
    owners += [-1] * (len(rows) - len(owners))
    hints = list(rows_of(hint, width, DIM, bar=("  ", PLAIN), words=True))
    if len(rows) + len(hints) > rows_max:
        hints = hints[:1]
        rows, owners = _around(rows, owners, picking.at, rows_max - 1)
    return [*rows, *hints], [*owners, *(-1 for _ in hints)]


def _around(
    rows: list[Strip], owners: list[int], at: int, room: int
) -> tuple[list[Strip], list[int]]:
    """Return some `room` rows with all of the choice `at` among them; the rest is counted."""
    own = owners.count(at)
    room = max(room, own + 2)
    first = owners.index(at) if own else 0
    top = max(0, min(first - (room - own) // 2, len(rows) - room))
    end = top + room
    shown, whose = rows[top:end], owners[top:end]
    if top:
        above = len(set(owners[: top + 1]))
        shown[0], whose[0] = strip_of((f"  ↑ {above} more", DIM)), -1
    if end < len(rows):
        below = len(set(owners[end - 1 :]))
        shown[-1], whose[-1] = strip_of((f"  ↓ {below} more", DIM)), -1
    return shown, whose


def _label(picking: AnswerMenu, at: int, choice: Choice) -> str:
    tick = ("[x] " if at in picking.ticked else "[ ] ") if picking.several else ""
    tick = tick if choice.act is ChoiceAction.OPTION else ""
    text = f" {choice.text!r}" if choice.act is ChoiceAction.LASTING and choice.text else ""
    more = "…" if choice.act in (ChoiceAction.TELL, ChoiceAction.WRITE, ChoiceAction.CHANGE) else ""
    return f"{tick}{choice.label}{text}{more}"


def _step_texts(picking: AnswerMenu) -> list[str]:
    texts = [picking.choice.label + (":" if picking.choice.takes_text else ".")]
    if picking.choice.act is ChoiceAction.LASTING and picking.can_keep_longer:
        texts.append(f"kept < {KEPT[picking.persist]} >")
    return texts


def _keys_of(picking: AnswerMenu) -> str:
    if picking.choice.act is not ChoiceAction.LASTING or not picking.can_keep_longer:
        return ""
    return " · ↑↓: how long" if picking.choice.takes_text else " · ←→: how long"
