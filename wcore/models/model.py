"""Language models behind one small streaming interface. A model only speaks; it never acts.

This module is the interface; `factory.py` finds the model that the settings name.
"""

from collections.abc import AsyncGenerator, Sequence
from enum import StrEnum
from typing import Protocol, TypeAlias

from msgspec import Struct, field

from wcore.vocabulary import Json, Message, ModelCall, ToolSpec, Usage


class FinishReason(StrEnum):
    """Why a reply ended; the wire's `finish_reason`. `TOOLS` never reaches the wire."""

    STOP = "stop"
    LENGTH = "length"
    TOOLS = "tools"


class ThinkingSettings(Struct, frozen=True):
    """How hard the model is to think; `None` leaves it to the provider."""

    thinking: bool | None = None
    thinking_budget_tokens: int | None = None
    effort: str | None = None


class Request(Struct, frozen=True):
    """Everything a model is given for one reply.

    A model that is asked again with the same message objects first, and new ones behind them,
    encodes only what is new; in a `MessageLog` it does not even look at the others.
    """

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    max_tokens: int | None = None
    tuning: ThinkingSettings = ThinkingSettings()


class Text(Struct, frozen=True):
    """A piece of the reply, never cumulative."""

    text: str


class Thinking(Struct, frozen=True):
    """A piece of the model's thinking, never cumulative."""

    text: str
    subject: str | None = None


class CallReady(Struct, frozen=True):
    """A complete tool call; calls arrive in the model's order."""

    call: ModelCall


class Notice(Struct, frozen=True):
    """Words for the host about the reply, not of the model: a retry, a history cut short."""

    text: str


class Finished(Struct, frozen=True):
    """The last event of a reply. `usage` is what this one reply cost.

    `sealed` goes into the history with the reply; see `AssistantMessage.provider_state`.
    `context_tokens` is what the conversation, this reply included, takes of the window; zero where
    nobody counted. `fills_window`: it ended because nothing more goes into the window.
    """

    reason: FinishReason
    usage: Usage = field(default_factory=Usage)
    sealed: Json = None
    context_tokens: int = 0
    fills_window: bool = False


Delta: TypeAlias = Text | Thinking | CallReady | Notice | Finished


class Model(Protocol):
    """One configured model."""

    @property
    def name(self) -> str:
        """The name as `--model` takes it."""
        ...

    @property
    def price_provider(self) -> str:
        """The provider whose price list holds, empty where none does."""
        ...

    @property
    def thinks(self) -> bool:
        """Whether thinking can be asked for."""
        ...

    @property
    def effort_levels(self) -> tuple[str, ...]:
        """What `ThinkingSettings.effort` may be; empty when effort cannot be asked for."""
        ...

    @property
    def window_tokens(self) -> int | None:
        """How much it can read, as far as is known; `None` where there is no limit to know."""
        ...

    @property
    def problem(self) -> str:
        """Why it cannot answer, as far as is known without asking it; empty where nothing is."""
        ...

    def warm(self) -> None:
        """Do what the first request would wait for. Blocks, never fails, may be called twice."""
        ...

    def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield one reply. Closing the generator or cancelling stops it at once.

        Raises:
            ProviderError: no reply, or not a whole one.
        """
        ...
