"""A model that asks again and again for what was denied: it is told so, then the turn ends."""

from collections import Counter
from typing import Final

TOLD_FROM: Final = 3  # the second time may be a misunderstanding
DENIALS_MAX: Final = 10  # of the same call in a turn; what was said thrice is not going to be heard

REPEATED: Final = "(denied {count} times in this turn: do not ask for it again)"
GAVE_UP: Final = "the turn was ended: the model asked {count} times for a call that was denied"


class Denials:
    """How often each prepared call was denied in a turn, by its digest."""

    def __init__(self) -> None:
        self._counts = Counter[str]()

    def add(self, digest: str) -> str:
        """Count one; return what the model is told beside the reason, nothing at first."""
        self._counts[digest] += 1
        count = self._counts[digest]
        return f" {REPEATED.format(count=count)}" if count >= TOLD_FROM else ""

    @property
    def gave_up(self) -> str | None:
        """Why the turn must end, for people."""
        count = max(self._counts.values(), default=0)
        return GAVE_UP.format(count=count) if count >= DENIALS_MAX else None
