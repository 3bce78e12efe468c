"""Live secrets are taken out of everything a tool prints, before it is cut and across chunks.

Secrets are resume tokens while their call waits, and provider keys for as long as we live. A
chunk that ends in the beginning of a secret is held back by that many characters, so no secret
can slip through in two halves.
"""

from collections.abc import Iterable
from typing import Final

MARKER: Final = "[REDACTED]"
SECRET_CHARS_MIN: Final = 8  # shorter values would blank out ordinary words


class Secrets:
    """The set of values that must not be shown; it changes while tools run."""

    def __init__(self) -> None:
        self._values: list[str] = []

    def add(self, value: str) -> None:
        """Hide `value` from now on; values too short to be secrets are ignored."""
        if len(value) >= SECRET_CHARS_MIN and value not in self._values:
            self._values.append(value)
            self._values.sort(key=len, reverse=True)

    def discard(self, value: str) -> None:
        if value in self._values:
            self._values.remove(value)

    def strip(self, text: str) -> str:
        """Return `text` with every live secret replaced by `MARKER`."""
        for value in self._values:
            if value in text:
                text = text.replace(value, MARKER)
        return text

    def held_back(self, text: str) -> int:
        """Return how many last characters of `text` could be the beginning of a secret."""
        return max((_overlap(text, value) for value in self._values), default=0)

    def values(self) -> Iterable[str]:
        return tuple(self._values)


class StreamStripper:
    """Strips secrets from text that arrives in pieces. Holds less than one secret of text."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._rest = ""

    def feed(self, piece: str) -> str:
        """Return what is safe to show now."""
        text = self._secrets.strip(self._rest + piece)
        keep = self._secrets.held_back(text)
        self._rest = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """Return what was held back and turned out to be no secret."""
        rest, self._rest = self._rest, ""
        return self._secrets.strip(rest)


def _overlap(text: str, secret: str) -> int:
    for size in range(min(len(text), len(secret) - 1), 0, -1):
        if text.endswith(secret[:size]):
            return size
    return 0
