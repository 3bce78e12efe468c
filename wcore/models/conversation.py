"""A model in a conversation: keeps the encoded history within the window, asks, tries again.

How it is asked is the business of a `Backend`: over HTTP in one of our dialects, or by a library.
One instance serves one conversation; `renamed` makes another one over the same connections.
"""

import logging
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from itertools import count
from typing import Final, Protocol, Self

import anyio
from anyio import to_thread
from msgspec.structs import replace

from wcore.errors import ProviderError
from wcore.models import backoff, compaction, errors, prices
from wcore.models.attachments import attach
from wcore.models.dialect import EncodedMessage, Encoding, RequestFrame
from wcore.models.encoded_history import OWNER, EncodedHistory, FittedHistory
from wcore.models.model import Delta, Finished, Notice, Request, ThinkingSettings
from wcore.models.providers import window_tokens
from wcore.models.sent_tools import SentTools
from wcore.models.whole_text import WholeText
from wcore.models.window import BYTES_PER_TOKEN
from wcore.vocabulary import Message, Usage, UserMessage

OVERFLOW_SHARE: Final = 0.8  # of what the provider found too long, for the next attempt
PARTS_REFUSED_MAX: Final = 32  # requests for one reply; who refuses more takes nothing of it
LARGE_TOKENS: Final = 6_000  # sent; below, no window in use is too small
TOO_LONG: Final = "the conversation is too long; trying a shorter one"
FULL: Final = "the conversation fills the model's window"
TOO_LONG_PERHAPS: Final = "the provider refused the request; trying a shorter conversation"
NO_IMAGES: Final = "this model cannot see images; going on without them"
TOOLS: Final = "what the provider cannot have of the tools: "
CUT: Final = "the conversation outgrew the model's window: "
SUMMING_UP: Final = "its oldest turns are summed up by the model and stay out"
LEFT_OUT: Final = "its oldest parts stay out"

log = logging.getLogger("wcore.models")


class Backend(Protocol):
    """How a model is asked. One way serves one conversation."""

    @property
    def encoding(self) -> Encoding: ...

    @property
    def owner(self) -> str:
        """Who is asked, and where: nobody else is sent the sealed parts of a reply."""
        ...

    @property
    def price_provider(self) -> str: ...

    def fresh(self) -> Self:
        """Return the way for another conversation, over the same connections."""
        ...

    def warm(self) -> None:
        """Do what the first request would wait for. Blocks, never fails, may be called twice."""
        ...

    def require_key(self) -> None:
        """Check that there is a key.

        Raises:
            ProviderError: there is none; says which variable to set.
        """
        ...

    def answer(
        self, frame: RequestFrame, pieces: Sequence[EncodedMessage]
    ) -> AsyncGenerator[Sequence[Delta], None]:
        """Send one request; yield what each piece of the answer says, `Finished` last.

        Raises:
            ProviderError: no reply, or not a whole one.
        """
        ...


class ConversationModel:
    """One model of one provider. `folder` is where relative paths of attached files begin."""

    def __init__(self, backend: Backend, name: str, folder: str) -> None:
        self.name = name
        self.backend = backend
        self._folder = folder
        self._encoding = backend.encoding
        self._transcript = EncodedHistory(backend.encoding, backend.owner)
        self._tools = SentTools(backend.encoding.tool_rules)
        self.window_tokens = window_tokens(name)
        self._limit_tokens: float = self.window_tokens  # less where a provider found it too much
        self._frame_tokens = 0.0  # of the last request
        self._spent = Usage()  # on summaries, not yet reported
        self._unexplained: float | None = None  # the limit before a refusal was taken for length

    @property
    def price_provider(self) -> str:
        """The provider whose price list holds; empty at another address than its own."""
        return self.backend.price_provider

    @property
    def thinks(self) -> bool:
        """Whether thinking can be asked for."""
        return self._encoding.thinks(self.name)

    @property
    def effort_levels(self) -> tuple[str, ...]:
        """What effort may be asked for."""
        return self._encoding.effort_levels(self.name)

    @property
    def problem(self) -> str:
        """That there is no key, where one is needed."""
        try:
            self.backend.require_key()
        except ProviderError as error:
            return str(error)
        return ""

    def warm(self) -> None:
        """Load what the first request needs, and what tells its price."""
        self.backend.warm()
        if self.price_provider:
            prices.load()

    def renamed(self, name: str) -> "ConversationModel":
        """Return another model of the same provider, or the same one for another conversation."""
        return ConversationModel(self.backend.fresh(), name, self._folder)

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield one reply; a failure before its first words may be mended and tried again.

        Raises:
            ProviderError: no reply, or not a whole one.
        """
        self.backend.require_key()
        await self._take(request.messages)
        refused = 0  # requests for their tools or pictures, which cost one each
        for number in count(1):
            spoken = False
            try:
                async with aclosing(self._attempt(request)) as batches:
                    async for deltas in batches:
                        for delta in deltas:
                            if isinstance(delta, Finished) and delta.fills_window:
                                self._full(delta, spoken=spoken)
                            spoken = spoken or not isinstance(delta, Notice)
                            yield delta
                self._unexplained = None
                return
            except ProviderError as error:
                refused += isinstance(error, errors.ToolsRefusedError | errors.ImagesRefusedError)
                is_over = spoken or refused > PARTS_REFUSED_MAX
                remedy = None if is_over else self._remedy(error, number - refused)
                if remedy is None:
                    self._undo(error)
                    _advise(error)
                    raise
            notice, wait_s = remedy
            yield Notice(notice)
            await anyio.sleep(wait_s)

    def _undo(self, error: ProviderError) -> None:
        """Send the whole conversation again where leaving some of it out did not help."""
        before, self._unexplained = self._unexplained, None
        if before is not None and isinstance(error, errors.UnexplainedError):
            self._limit_tokens = before
            self._transcript.uncut()

    async def _take(self, messages: Sequence[Message]) -> None:
        for message in self._transcript.new(messages):
            files = message.files if isinstance(message, UserMessage) else ()
            found = await to_thread.run_sync(attach, files, self._folder) if files else None
            self._transcript.take(message, found)

    async def _attempt(self, request: Request) -> AsyncGenerator[Sequence[Delta], None]:
        """Send the request once; yield what each piece of the answer says."""
        frame, fitted = self._fitted(request)
        if news := self._tools.news():
            yield (Notice(TOOLS + news),)
        pieces = fitted.pieces
        needed = self._frame_tokens + fitted.gone_tokens + compaction.SUMMARY_TOKENS
        sums_up = bool(fitted.gone) and needed <= self._limit_tokens
        if fitted.is_cut:
            yield (Notice(CUT + (SUMMING_UP if sums_up else LEFT_OUT)),)
        if sums_up:
            summary = await self._summary(frame, fitted.gone)
            pieces = self._transcript.sum_up(summary) if summary else pieces
        text = WholeText()
        async with aclosing(self.backend.answer(frame, pieces)) as batches:
            async for deltas in batches:
                yield [self._counted(delta) for delta in text.joined(deltas)]

    async def _summary(self, frame: RequestFrame, gone: Sequence[EncodedMessage]) -> str:
        """Return the model's own summary of `gone`; empty if it gives none in time."""
        request = replace(frame, max_tokens=compaction.SUMMARY_TOKENS, tuning=ThinkingSettings())
        asked = [*gone, self._encoding.user(compaction.INSTRUCTION, ())]
        said: list[Delta] = []
        with anyio.move_on_after(compaction.SUMMARY_S_MAX) as late:
            try:
                async with aclosing(self.backend.answer(request, asked)) as batches:
                    async for deltas in batches:
                        said += deltas
            except ProviderError:
                log.info("summary.failed")
                return ""
        self._spent = sum((d.usage for d in said if isinstance(d, Finished)), self._spent)
        return "" if late.cancelled_caught else compaction.text_of(said)

    def _fitted(self, request: Request) -> tuple[RequestFrame, FittedHistory]:
        system = self._transcript.system(request.system)
        tools = self._tools.fitted(request.tools, has_calls=self._transcript.has_calls)
        frame = RequestFrame(self.name, system, tools, request.max_tokens, request.tuning)
        self._frame_tokens = self._encoding.frame_bytes(frame) / BYTES_PER_TOKEN
        reserve = min(self._encoding.reply_tokens(frame), self._limit_tokens / 2)
        room_tokens = self._limit_tokens - reserve
        return frame, self._transcript.fitted(room_tokens, self._frame_tokens)

    def _counted(self, delta: Delta) -> Delta:
        """Learn from what the provider counted; what a summary cost belongs to the reply."""
        if not isinstance(delta, Finished):
            return delta
        read = _input_tokens(delta.usage)
        self._transcript.learn(read, self._frame_tokens)
        spent, self._spent = self._spent, Usage()
        context_tokens = read + delta.usage.output_tokens if read else 0
        sealed = delta.sealed
        if isinstance(sealed, dict):
            sealed = {**sealed, OWNER: self.backend.owner}
        return replace(
            delta, usage=delta.usage + spent, sealed=sealed, context_tokens=context_tokens
        )

    def _remedy(self, error: ProviderError, attempt: int) -> tuple[str, float] | None:
        """Return what to tell the host and the seconds to wait before another attempt, if any.

        A refusal is met by leaving out the smallest part that may be its cause, each once.
        """
        if attempt >= backoff.ATTEMPTS_MAX:
            return None
        match error:
            case errors.TransientError():
                wait_s = backoff.delay_s(error, attempt, random.random())
                if wait_s is None:
                    return None
                when = f" in {backoff.in_words(wait_s)}" if wait_s else ""
                which = f"attempt {attempt + 1} of {backoff.ATTEMPTS_MAX}"
                return f"{error}; trying again{when} ({which})", wait_s
            case errors.ContextOverflowError():
                return (TOO_LONG, 0) if self._shrink(error.window_tokens) else None
            case errors.SealRefusedError() if self._transcript.drop_seals():
                return "the provider refused thinking of earlier replies; going on without it", 0
            case errors.ThinkingWantedError() if self._transcript.send_thinking():
                return "the provider wants the thinking of earlier replies; sending it", 0
            case errors.ToolsRefusedError() if names := self._tools.refuse(error):
                return f"{error}; going on without {names}", 0
            case errors.ImagesRefusedError() if (name := self._without_image(error)) is not None:
                text = f"the provider refused {name}; going on without that image"
                return text if name else NO_IMAGES, 0
            case errors.UnexplainedError() if self._may_be_too_long():
                self._unexplained = self._limit_tokens
                return (TOO_LONG_PERHAPS, 0) if self._shrink(error.window_tokens) else None
            case _:
                return None

    def _without_image(self, error: errors.ImagesRefusedError) -> str | None:
        return self._transcript.drop_image(may_be_all=error.takes_none)

    def _may_be_too_long(self) -> bool:
        """Whether a refusal for no reason that we know may be about length; believed once."""
        sent_tokens = self._transcript.tokens(self._frame_tokens)
        return self._unexplained is None and sent_tokens >= LARGE_TOKENS

    def _full(self, ended: Finished, *, spoken: bool) -> None:
        """Send less from now on; a reply that says nothing is as good as a refusal."""
        if not spoken:
            self._spent = ended.usage
            raise errors.ContextOverflowError(f"{self.name}: {FULL}")
        self._shrink(None)

    def _shrink(self, window_tokens: int | None) -> bool:
        """Take what was sent for too long; return whether less can be sent."""
        sent_tokens = self._transcript.tokens(self._frame_tokens)
        limit_tokens = min(self._limit_tokens, sent_tokens) * OVERFLOW_SHARE
        self._limit_tokens = min(limit_tokens, window_tokens or limit_tokens)
        return self._transcript.can_cut(self._limit_tokens, self._frame_tokens)


def _advise(error: ProviderError) -> None:
    """Let the error say when to try again, where the provider named a time far off."""
    wait_s = error.retry_after_s if isinstance(error, errors.TransientError) else None
    if wait_s is not None and wait_s > backoff.RETRY_AFTER_S_MAX:
        error.args = (f"{error}; try again in {backoff.in_words(wait_s)}",)


def _input_tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
