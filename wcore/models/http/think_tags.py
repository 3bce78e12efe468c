"""Thinking that a local model writes into its text: a leading `<think>…</think>`. Pure.

Chat templates that nobody set up for it pass it through. Only what begins the reply counts: a
model may write about such tags.
"""

from collections.abc import Sequence
from typing import Final

from wcore.models.model import Delta, Text, Thinking

OPENS: Final = "<think>"
CLOSES: Final = "</think>"


class ThinkTags:
    """Tells thinking from text while both stream in; holds back no more than a tag."""

    def __init__(self) -> None:
        self._read = self._first
        self._held = ""

    def feed(self, piece: str) -> Sequence[Delta]:
        """Return what is certain by now."""
        self._held += piece
        return self._read()

    def finish(self) -> Sequence[Delta]:
        """Return what was held back when the reply ends."""
        held, self._held = self._held, ""
        if not held:
            return ()
        return (Thinking(held),) if self._read == self._inside else (Text(held),)

    def _first(self) -> Sequence[Delta]:
        start = self._held.lstrip()
        if len(start) < len(OPENS) and OPENS.startswith(start):
            return ()
        if not start.startswith(OPENS):
            self._read = self._text
            return self._text()
        self._held = start.removeprefix(OPENS)
        self._read = self._inside
        return self._inside()

    def _inside(self) -> Sequence[Delta]:
        thought, tag, rest = self._held.partition(CLOSES)
        if tag:
            self._held, self._read = rest, self._behind
            return [*([Thinking(thought)] if thought else []), *self._behind()]
        kept = next((n for n in range(len(CLOSES) - 1, 0, -1) if thought.endswith(CLOSES[:n])), 0)
        self._held = thought[len(thought) - kept :]
        sure = thought[: len(thought) - kept]
        return (Thinking(sure),) if sure else ()

    def _behind(self) -> Sequence[Delta]:
        """Pass over the blank lines between thinking and text."""
        self._held = self._held.lstrip()
        if not self._held:
            return ()
        self._read = self._text
        return self._text()

    def _text(self) -> Sequence[Delta]:
        text, self._held = self._held, ""
        return (Text(text),) if text else ()
