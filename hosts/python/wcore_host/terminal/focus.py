"""Which widget of a session gets the keys.

The focus moves to a card by itself only when the person is certainly not writing: the prompt is
empty and no key came for a moment. Otherwise the card waits until Tab.
"""

from typing import TYPE_CHECKING

from wcore_host.terminal.card_panel import CardPanel
from wcore_host.terminal.prompt import Prompt
from wcore_host.terminal.transcript_view import TranscriptView

if TYPE_CHECKING:
    from textual.widget import Widget


class Focus:
    """Prompt, card and conversation of one session, and which of them has the keys."""

    def __init__(self, prompt: Prompt, panel: CardPanel, transcript: TranscriptView) -> None:
        self._prompt = prompt
        self._panel = panel
        self._transcript = transcript

    def card_appeared(self) -> None:
        """Another card, or none, has been drawn."""
        panel = self._panel
        panel.fit()
        nobody = self._prompt.screen.focused is None  # its card went; another may be here already
        if nobody or (panel.shown is None and panel.has_keys):
            self._prompt.focus()
        elif panel.answers.has_focus:
            panel.appeared()
        elif panel.field.has_focus:
            panel.answers.focus()
        else:
            self.focus_card_if_idle()

    def focus_card_if_idle(self) -> None:
        """Give the keys to the card, if the person is certainly not writing."""
        waits = self._panel.shown is not None and not self._panel.has_keys
        if waits and self._prompt.has_focus and self._prompt.is_idle:
            self._panel.answers.focus()

    def go_round(self, step: int) -> None:
        """Go on by `step`: prompt, card, conversation."""
        order: list[Widget] = [self._prompt, self._transcript]
        if self._panel.shown is not None:
            order.insert(1, self._panel.answers)
        now = next((at for at, widget in enumerate(order) if widget.has_focus), 0)
        order[(now + step) % len(order)].focus()
