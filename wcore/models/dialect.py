"""What the two dialects have in common: how they are asked for bytes and how they are read."""

import hashlib
import re
from collections.abc import Sequence
from typing import Final, Protocol

from msgspec import Struct

from wcore.models.attachments import Image
from wcore.models.model import Delta, ThinkingSettings
from wcore.models.providers import ToolRules
from wcore.vocabulary import AssistantMessage, ToolOutput, ToolSpec

#: How Anthropic (and z.ai, Bedrock) and Mistral say that a reply ended because the window is full.
FILLS_WINDOW: Final = frozenset({"model_context_window_exceeded", "model_length"})

DECLINED: Final = "the model declined to go on with this"
FILTERED: Final = "a content filter ended the reply"


class EncodedMessage(Struct, frozen=True):
    """One history entry as this dialect sends it, encoded once.

    `body` is JSON without what comes around it. `after` follows the last of a row of pieces of
    the same role. `images` is their number.
    """

    role: str
    body: bytes
    after: bytes = b""
    images: int = 0


class RequestFrame(Struct, frozen=True):
    """What goes around the history."""

    model: str
    system: str
    tools: Sequence[ToolSpec]
    max_tokens: int | None
    tuning: ThinkingSettings


class Reader(Protocol):
    """Reads one reply."""

    done: bool  # nothing of worth can follow

    def read(self, data: bytes) -> Sequence[Delta]:
        """Return what the event with this `data` says.

        Raises:
            ProviderError: the provider reports an error.
            ValueError, TypeError, AttributeError, KeyError: it is not of this dialect.
        """
        ...

    def end(self) -> Sequence[Delta]:
        """Return the calls and `Finished`.

        Raises:
            TransientError: the reply has no end.
        """
        ...


class Encoding(Protocol):
    """How the history is written for a provider. Pure."""

    @property
    def takes_images(self) -> bool: ...
    @property
    def tool_rules(self) -> ToolRules: ...
    def send_thinking(self) -> bool:
        """From now on write the thinking behind calls too; false where no field is known for it."""
        ...

    def thinks(self, model: str) -> bool: ...
    def effort_levels(self, model: str) -> tuple[str, ...]: ...
    def user(self, text: str, images: Sequence[Image]) -> EncodedMessage: ...
    def assistant(self, message: AssistantMessage) -> EncodedMessage: ...
    def result(self, call_id: str, output: ToolOutput, image: Image | None) -> EncodedMessage: ...
    def frame_bytes(self, frame: RequestFrame) -> int: ...
    def reply_tokens(self, frame: RequestFrame) -> int: ...


class Dialect(Encoding, Protocol):
    """One way to talk to a provider over HTTP. Pure."""

    path: str

    def headers(self, key: str | None) -> dict[str, str]: ...
    def body(self, frame: RequestFrame, pieces: Sequence[EncodedMessage]) -> bytes: ...
    def reader(self) -> Reader: ...


def call_id(given: str, pattern: str, length: int = 24) -> str:
    """Return the id as the provider takes it; the same one for call and result."""
    if re.fullmatch(pattern, given):
        return given
    return hashlib.sha256(given.encode(errors="replace")).hexdigest()[:length]
