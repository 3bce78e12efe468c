"""One reply of the model while it streams in."""

from typing import Final

from wcore.models.model import FinishReason
from wcore.vocabulary import Json, ModelCall, Usage

TEXT_CHARS_MAX: Final = 1024 * 1024  # a delta longer than this is cut into several lines


class Reply:
    """One model reply while it streams in."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.thinking: list[str] = []
        self.calls: list[ModelCall] = []
        self.finish: FinishReason | None = None
        self.sealed: Json = None
        self.usage = Usage()
        self.pieces: list[Json] = []
        self.cost_usd: float | None = None
        self.context_tokens = 0
        self.failed: dict[str, Json] | None = None
        self.reminder = ""  # what the model is told behind it


def split_delta(text: str) -> list[str]:
    """Return a delta as lines can hold it."""
    return [text[at : at + TEXT_CHARS_MAX] for at in range(0, len(text), TEXT_CHARS_MAX)]
