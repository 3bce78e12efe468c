"""The search field: Enter goes to older places, down to newer ones, Esc closes it."""

from textual.events import Key
from textual.widgets import Input

from wcore_host.terminal.transcript_view import TranscriptView


class SearchField(Input):
    """Searches one transcript, in all that its blocks say, folded or not."""

    def __init__(self, transcript: TranscriptView) -> None:
        super().__init__(id="search", compact=True, placeholder="search: Enter older, ↓ newer")
        self._transcript = transcript
        self.display = False

    def open(self, text: str = "") -> None:
        """Begin to search."""
        self.display = True
        self.focus()
        if text:
            self.value = text
            self._find(-1)

    def on_key(self, event: Key) -> None:
        """Find, or close."""
        match event.key:
            case "enter" | "up":
                self._find(-1)
            case "down":
                self._find(1)
            case "escape":
                self.display = False
                self._transcript.find("", 1)
                self._transcript.focus()
            case _:
                return
        event.stop()
        event.prevent_default()

    def _find(self, step: int) -> None:
        if self.value and not self._transcript.find(self.value, step):
            self.app.bell()  # pyright: ignore[reportUnknownMemberType]
