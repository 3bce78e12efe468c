"""The model of a replay: says what was recorded, in the pieces in which it came."""

from collections.abc import AsyncGenerator, Mapping

from msgspec import Struct

from wcore.errors import Code, ConfigError, ProviderError
from wcore.models.factory import MODEL, ModelCatalog
from wcore.models.model import (
    CallReady,
    Delta,
    Finished,
    FinishReason,
    Model,
    Notice,
    Request,
    Text,
    Thinking,
)
from wcore.persistence import records
from wcore.persistence.records import as_list
from wcore.replay.timeline import NOTHING, RecordItem, SyncPoint, Timeline, facts_of, what_of
from wcore.store import Kind
from wcore.vocabulary import Json, Usage


class RecordedError(ProviderError):
    """What went wrong then."""

    def __init__(self, facts: Mapping[str, Json]) -> None:
        super().__init__(str(facts.get("problem")))
        self.code = Code(str(facts.get("code")))  # pyright: ignore[reportAttributeAccessIssue]
        self.retryable = facts.get("retryable") is True  # pyright: ignore[reportAttributeAccessIssue]


class RecordedModel(Struct):
    """One model of the recording. `below` is the call that its agent works for, if one does."""

    script: Timeline
    name: str
    thinks: bool
    effort_levels: tuple[str, ...]
    has_prices: bool
    price_provider: str
    window_tokens: int | None = None
    below: str = ""
    cost_usd: float | None = None
    problem: str = ""

    def warm(self) -> None:
        """Nothing is cold."""

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the next reply of the agent."""
        del request
        found = self._next()
        if found is None:
            await self.script.never()
        pieces, reply, is_whole = found
        message = records.assistant_message(reply.body)
        for delta in _deltas(pieces, message.text, message.thinking):
            yield delta
        failed, finish = reply.body.get("failed"), reply.body.get("finish")
        if isinstance(failed, Mapping):
            await self.script.wait_for(lambda head: head is pieces)
            if failed.get("problem") is None:
                raise RuntimeError("as it was recorded")
            raise RecordedError(failed)
        if finish is not None:
            for _, call in message.calls:
                yield CallReady(call)
            cost = reply.body.get("cost_usd")
            self.cost_usd = float(cost) if isinstance(cost, int | float) else None
            usage, context_tokens = records.usage(reply.body), records.context_tokens(reply.body)
            yield Finished(FinishReason(str(finish)), usage, message.provider_state, context_tokens)
        if not is_whole:  # it was broken off from outside
            await self.script.never()

    def _next(self) -> tuple[RecordItem, RecordItem, bool] | None:
        """Return the pieces of the next reply, the reply, and whether it came to its own end."""
        pieces: RecordItem | None = None
        is_whole = False
        for item in self.script.ahead():
            if isinstance(item, SyncPoint):
                is_whole = is_whole or item.what == f"replied {self.below}"
            if not isinstance(item, RecordItem) or item.body.get("below", "") != self.below:
                continue
            if item.kind is Kind.CHUNK and "pieces" in item.body:
                pieces = item
            elif item.kind is Kind.REPLIED and pieces is not None:
                return pieces, item, is_whole
        return None


class RecordedModels(ModelCatalog):
    """The models of the recording."""

    def __init__(self, script: Timeline) -> None:
        self._script = script

    def opened(self, facts: Mapping[str, Json], below: str = "") -> RecordedModel:
        """Return the model that the journal tells of."""
        levels = tuple(map(str, as_list(facts.get("effort_levels"))))
        window = facts.get("window_tokens")
        return RecordedModel(
            self._script,
            str(facts.get("model")),
            facts.get("thinks") is True,
            levels,
            facts.get("has_prices") is True,
            str(facts.get("priced_by")),
            window if isinstance(window, int) else None,
            below,
        )

    def with_name(self, model: Model, name: str) -> Model:
        return self._found("")

    def for_subagent(self, model: Model, name: str | None, call_id: str) -> Model:
        return self._found(call_id) if name else self.opened(self.facts(model), call_id)

    def has_prices(self, model: Model) -> bool:
        return isinstance(model, RecordedModel) and model.has_prices

    def cost_usd(self, model: Model, usage: Usage) -> float | None:
        return model.cost_usd if isinstance(model, RecordedModel) else None

    def _found(self, below: str) -> Model:
        head = self._script.head
        facts = facts_of(head) if head and what_of(head) == MODEL else NOTHING
        if "problem" in facts:
            raise ConfigError(str(facts["problem"]))
        return self.opened(facts, below)


def _deltas(pieces: RecordItem, text: str, thinking: str) -> list[Delta]:
    found: list[Delta] = []
    for piece in as_list(pieces.body.get("pieces")):
        match as_list(piece):
            case ["text", int(size)]:
                found.append(Text(text[:size]))
                text = text[size:]
            case ["thinking", int(size), subject]:
                found.append(Thinking(thinking[:size], None if subject is None else str(subject)))
                thinking = thinking[size:]
            case ["notice", notice]:
                found.append(Notice(str(notice)))
            case _:
                pass
    return found
