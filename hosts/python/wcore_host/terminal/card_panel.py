"""The card in front, as a widget: head, body, answers, and a field for what is written."""

from time import monotonic
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Key, Paste
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from wcore_host.events import JsonObject
from wcore_host.headless.answer_menu import AnswerMenu, ChoiceAction
from wcore_host.headless.card_queue import Card, CardQueue
from wcore_host.headless.durations import clock
from wcore_host.permission import Allow, Deny
from wcore_host.terminal.answer_menu_widget import AnswerMenuWidget
from wcore_host.terminal.card_rows import card_rows, head
from wcore_host.terminal.editor import EditScreen
from wcore_host.terminal.lone_enter import ALONE_S, LoneEnter
from wcore_host.terminal.rows_view import Rows
from wcore_host.visible import visible_line

BODY_ROWS_MIN: Final = 6  # less of a card says nothing: then the answers scroll instead
ANSWER_ROWS_MIN: Final = 4  # the chosen one, what is above and below it, and the keys
ROWS_BESIDE: Final = 5  # two of the conversation, prompt, footer, head
FIELD_CHARS_MAX: Final = 4_000  # of a reason or an answer; the engine keeps 2,000


class Field(Input):
    """Where an answer is written: what is shown is exactly what is sent.

    An Enter that comes within `ALONE_S` of other keys was pasted with them: it sends nothing.
    """

    class Kept(Message):
        """Up or down: how long a lasting yes is kept."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Left(Message):
        """Esc."""

    def __init__(self) -> None:
        super().__init__(
            id="card-field", compact=True, select_on_focus=False, max_length=FIELD_CHARS_MAX
        )
        self.typed_at = -ALONE_S
        self._lone = LoneEnter(self, self._enter)
        self._has_company = False

    def on_key(self, event: Key) -> None:
        """Keys that are not of the text."""
        now, waited = event.time, self._lone.forget()  # when it came, not when its turn came
        if event.is_printable:
            self.typed_at = now
            if waited:
                self.insert_text_at_cursor(visible_line("\n"))
            return
        if event.key == "enter":
            self._has_company = waited or now - self.typed_at < ALONE_S
            self._lone.came()
        elif event.key in ("up", "down"):
            self.post_message(self.Kept(-1 if event.key == "up" else 1))
        elif event.key == "escape":
            self.post_message(self.Left())
        elif event.key not in ("tab", "shift+tab"):
            return
        event.stop()
        event.prevent_default()

    def _enter(self) -> None:
        if not self._has_company:
            self.post_message(self.Submitted(self, self.value))

    def _on_paste(self, event: Paste) -> None:
        event.stop()
        event.prevent_default()
        self.typed_at = event.time
        self.insert_text_at_cursor(visible_line(event.text, FIELD_CHARS_MAX))


class CardPanel(Vertical):
    """Shows the front card of a queue; says what was answered, never to which other card."""

    class Answered(Message):
        """The person has answered the card that was shown."""

        def __init__(self, card: Card, verdict: Allow | Deny) -> None:
            super().__init__()
            self.card = card
            self.verdict = verdict

    def __init__(self, cards: CardQueue) -> None:
        super().__init__(id="card")
        self._cards = cards
        self._flags = frozenset[str]()
        self._editor: EditScreen | None = None
        self.shown: Card | None = None
        self.display = False

    def compose(self) -> ComposeResult:
        yield Rows(id="card-head")
        yield Rows(id="card-body")
        yield AnswerMenuWidget(self._cards)
        yield Field()

    @property
    def answers(self) -> AnswerMenuWidget:
        return self.query_one(AnswerMenuWidget)

    @property
    def field(self) -> Field:
        return self.query_one(Field)

    @property
    def has_keys(self) -> bool:
        """Whether keys go to this card now."""
        return self.answers.has_focus or self.field.has_focus

    def sync(self, flags: frozenset[str]) -> bool:
        """Show the front card if it is another one; `True` if it is.

        `flags` are the capabilities of the engine.
        """
        self._flags = flags
        if self._cards.front is self.shown:
            return False
        self.shown = self._cards.front
        if self._editor is not None and self._editor.card is not self.shown:
            self._close_editor(self._editor)
        if self.has_keys:  # now: what is hidden with the focus takes it along, and later
            self.screen.set_focus(None if self.shown is None else self.answers)
        self.display = self.shown is not None
        self.field.display = False
        self.field.value = ""
        self.answers.ask(None if self.shown is None else self._picking(self.shown))
        self.fit()
        return True

    def _picking(self, card: Card) -> AnswerMenu:
        return AnswerMenu(card, persists="persist" in self._flags, edits="edit_args" in self._flags)

    def appeared(self) -> None:
        """This card has been drawn and has the keys: from now on silence counts."""
        self._cards.appeared(monotonic())
        self.answers.redraw()

    def left(self) -> None:
        """Whoever pressed keys may not have seen this card: none counts before the next tick."""
        self._cards.left()
        self.answers.redraw()

    def fit(self) -> None:
        """Divide the room there is between body and answers."""
        place = self._place
        if self.shown is None or not place.width:
            return
        width = place.width - 1
        self.answers.columns = place.width
        rows = card_rows(self.shown, width)
        body = self.query_one("#card-body", Rows)
        body.put(rows)
        room = place.height - ROWS_BESIDE - self.field.display
        least = min(len(rows), BODY_ROWS_MIN)
        self.answers.rows_max = max(ANSWER_ROWS_MIN, room - least)
        self.answers.redraw()
        body.styles.height = max(min(len(rows), room - self.answers.row_count()), 1)
        self.call_after_refresh(self.tick)  # when it is known how much of the body is seen

    @property
    def _place(self) -> Size:
        """The size of the session that this card belongs to."""
        return self.parent.size if isinstance(self.parent, Widget) else self.size

    def tick(self) -> None:
        """Show the time that is left, and whether keys count."""
        if self.shown is None:
            return
        left = self._cards.left_s(monotonic())
        self._watch(left)
        body = self.query_one("#card-body", Rows)
        below = body.row_count() - body.scroll_offset.y - body.size.height
        facts = [f"PgDn: {below} more rows"] if below > 0 else []
        facts += [clock(left)] if left is not None else []
        if self._cards.waiting:
            facts.append(f"{self._cards.waiting} more")
        width = max(20, self._place.width - 1)
        self.query_one("#card-head", Rows).put([head(self.shown, width, " · ".join(facts))])
        self.answers.redraw()

    def _watch(self, left: int | None) -> None:
        """A card behind a dialog does not listen; when it is in front again, silence counts."""
        if not self.screen.is_active:
            self._cards.left()
        elif self.has_keys and not self._cards.is_timed:
            self.appeared()
        if self._editor is not None:
            self._editor.left(left)

    # --- changing the arguments -------------------------------------------------------------------

    @on(AnswerMenuWidget.Changing)
    def changing(self, message: AnswerMenuWidget.Changing) -> None:
        """Open the editor, or show the call as the model wrote it."""
        message.stop()
        card = self.shown
        if card is None or card is not self._cards.front:
            return
        if message.undo:
            self._change(card, card.request.tool.args)
            return
        self._cards.left()
        self._editor = EditScreen(card)
        self.app.push_screen(self._editor, self._edited)  # pyright: ignore[reportUnknownMemberType]

    def _edited(self, args: JsonObject | None) -> None:
        editor, self._editor = self._editor, None
        if editor is not None:
            self._change(editor.card, editor.card.args if args is None else args)

    def _change(self, card: Card, args: JsonObject) -> None:
        """Show the card as it would run now: it listens as late as a new one."""
        if card is not self._cards.front:
            return  # it was settled meanwhile
        if args != card.args:
            self._cards.change(card.with_args(args))
            self.sync(self._flags)
        self.answers.focus()
        self.call_after_refresh(self.appeared)

    def _close_editor(self, editor: EditScreen) -> None:
        """The engine has settled the card: what was half written for it goes away with it."""
        self._editor = None
        if editor.is_active:
            editor.dismiss(None)

    # --- messages ---------------------------------------------------------------------------------

    @on(AnswerMenuWidget.Given)
    def given(self, message: AnswerMenuWidget.Given) -> None:
        """An answer without text."""
        message.stop()
        self._give(message.verdict)

    @on(AnswerMenuWidget.Typed)
    def typed(self, message: AnswerMenuWidget.Typed) -> None:
        """A text answer begins; other text is the prompt's."""
        picking = self.answers.picking
        if picking is not None and picking.in_step and picking.choice.takes_text:
            message.stop()
            if not self.field.display:
                self._open_field(picking)
            self.field.insert_text_at_cursor(visible_line(message.text, FIELD_CHARS_MAX))

    @on(AnswerMenuWidget.Moved)
    def moved(self, message: AnswerMenuWidget.Moved) -> None:
        """A second step may have begun."""
        message.stop()
        picking = self.answers.picking
        if picking is None:
            return
        if picking.in_step and picking.choice.takes_text and not self.field.display:
            self._open_field(picking)
        self.fit()

    @on(AnswerMenuWidget.Scrolled)
    def scrolled(self, message: AnswerMenuWidget.Scrolled) -> None:
        """Scroll the body."""
        message.stop()
        body = self.query_one("#card-body", Rows)
        body.scroll_relative(y=message.pages * max(1, body.size.height - 1), animate=False)
        self.call_after_refresh(self.tick)

    @on(Field.Kept)
    def kept(self, message: Field.Kept) -> None:
        """How long a lasting yes is kept."""
        message.stop()
        if self.answers.picking is not None:
            self.answers.picking.keep(message.step)
            self.answers.redraw()

    @on(Field.Left)
    def field_left(self, message: Field.Left) -> None:
        """Back to the answers, without one."""
        message.stop()
        if self.answers.picking is not None:
            self.answers.picking.back()
        self.field.display = False
        self.answers.focus()
        self.fit()

    @on(Input.Submitted)
    def submitted(self, message: Input.Submitted) -> None:
        """An answer with text."""
        message.stop()
        picking = self.answers.picking
        if picking is None or not self._cards.pressed(monotonic()):
            return
        verdict = picking.enter(self.field.value)
        if verdict is not None:
            self._give(verdict)

    def _open_field(self, picking: AnswerMenu) -> None:
        field = self.field
        field.value = picking.choice.text if picking.choice.act is ChoiceAction.LASTING else ""
        field.display = True
        field.cursor_position = len(field.value)
        field.focus()
        self._cards.appeared(monotonic())

    def _give(self, verdict: Allow | Deny) -> None:
        card = self.shown
        if card is None or card is not self._cards.front:
            return  # it was settled in this very moment
        self.post_message(self.Answered(card, verdict))
