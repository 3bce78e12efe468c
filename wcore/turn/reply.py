"""One reply of the model while it streams in."""

from typing import Final

from msgspec.structs import replace

from wcore.approval.redaction import Secrets, StreamRedactor, redacted
from wcore.models.model import CallReady, Delta, FinishReason, Text, Thinking
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
        self.cost_usd: float | None = None
        self.context_tokens = 0
        self.failed: dict[str, Json] | None = None
        self.reminder = ""  # what the model is told behind it


class SecretsFilter:
    """Takes secrets out of what the model says, also where one comes in pieces.

    It does so before anything is shown, kept or run: a call runs with the arguments that were
    shown. What could be the beginning of a secret is held back until it is none.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._redactor = StreamRedactor(secrets)
        self._last: Text | Thinking = Text("")

    def feed(self, delta: Delta) -> list[Delta]:
        """Return what can be passed on now, in order."""
        before = [] if type(delta) is type(self._last) else self.finish()
        match delta:
            case Text(text) | Thinking(text):
                self._last = delta
                safe = self._redactor.feed(text)
                return [*before, *([replace(delta, text=safe)] if safe else [])]
            case CallReady(call):
                strip = self._secrets.redact
                args = None if call.args is None else redacted(call.args, strip)
                ids = strip(call.model_id), strip(call.name)
                return [*before, CallReady(ModelCall(*ids, args, strip(call.problem)))]
            case _:
                return [*before, delta]

    def finish(self) -> list[Delta]:
        """Return what was held back and turned out to be no secret."""
        held = self._redactor.finish()
        return [replace(self._last, text=held)] if held else []


def split_delta(text: str) -> list[str]:
    """Return a delta as lines can hold it."""
    return [text[at : at + TEXT_CHARS_MAX] for at in range(0, len(text), TEXT_CHARS_MAX)]
