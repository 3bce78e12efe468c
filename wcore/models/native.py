"""A model behind one of the native dialects: asks, retries, and keeps the encoded history.

One instance serves one conversation; `renamed` makes another one over the same connections.
"""

import random
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from itertools import count
from typing import Final

import anyio
from anyio import to_thread

from wcore.errors import ProviderError
from wcore.models import Delta, Finished, Notice, Request, failures, retrying
from wcore.models.anthropic import Anthropic
from wcore.models.attached import attach
from wcore.models.chat import Chat
from wcore.models.dialect import Frame, Piece, Reader
from wcore.models.http import Http
from wcore.models.providers import Dialect, Provider, window_tokens
from wcore.models.sse import EventReader
from wcore.models.transcript import Transcript
from wcore.models.window import BYTES_PER_TOKEN
from wcore.vocabulary import Message, Usage, UserMessage

REPLY_BYTES_MAX: Final = 256 * 1024 * 1024  # of one answer as it comes; a server gone wild
DRAIN_S: Final = 0.25  # for the last, empty chunk; then the connection can be used again
OVERFLOW_SHARE: Final = 0.8  # of what the provider found too long, for the next attempt


class NativeModel:
    """One model of one provider."""

    def __init__(self, provider: Provider, name: str, http: Http, folder: str) -> None:
        self.name = name
        self.provider = provider
        self._http = http
        self._folder = folder
        self._dialect = Chat(provider) if provider.dialect is Dialect.CHAT else Anthropic()
        self._headers = self._dialect.headers(http.endpoint.key)
        self._transcript = Transcript(self._dialect)
        self._window_tokens: float = window_tokens(name)
        self._frame_tokens = 0.0  # of the last request

    @property
    def thinks(self) -> bool:
        """Whether thinking can be asked for."""
        return self._dialect.thinks(self.name)

    @property
    def effort_levels(self) -> tuple[str, ...]:
        """What effort may be asked for."""
        return self._dialect.effort_levels(self.name)

    def warm(self) -> None:
        """Load the HTTP library and make the client."""
        self._http.warm()

    def renamed(self, name: str) -> "NativeModel":
        """Return another model of the same provider."""
        return NativeModel(self.provider, name, self._http, self._folder)

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield one reply; a failure before its first words may be mended and tried again.

        Raises:
            ProviderError: no reply, or not a whole one.
        """
        self._require_key()
        await self._take(request.messages)
        for attempt in count(1):
            spoken = False
            try:
                async with aclosing(self._attempt(request)) as batches:
                    async for deltas in batches:
                        for delta in deltas:
                            spoken = spoken or not isinstance(delta, Notice)
                            yield delta
                return
            except ProviderError as error:
                remedy = None if spoken else self._remedy(error, attempt)
                if remedy is None:
                    raise
            notice, wait_s = remedy
            yield Notice(notice)
            await anyio.sleep(wait_s)

    async def _take(self, messages: Sequence[Message]) -> None:
        for message in self._transcript.new(messages):
            files = message.files if isinstance(message, UserMessage) else ()
            found = await to_thread.run_sync(attach, files, self._folder) if files else None
            self._transcript.take(message, found)

    async def _attempt(self, request: Request) -> AsyncGenerator[Sequence[Delta], None]:
        """Send the request once; yield what each piece of the answer says."""
        frame, pieces, is_cut = self._fitted(request)
        if is_cut:
            yield (
                Notice("the conversation outgrew the model's window: its oldest parts stay out"),
            )
        body = self._dialect.body(frame, pieces)
        reader = self._dialect.reader()
        events = EventReader()
        received = 0
        try:
            async with self._http.post(self._dialect.path, self._headers, body) as chunks:
                async for chunk in chunks:
                    received += len(chunk)
                    self._limit(received)
                    if deltas := self._read(reader, events, chunk):
                        yield deltas
                    if reader.done:
                        await _drain(chunks)
                        break
        except (failures.PassingError, failures.StalledError):
            if not reader.done:
                raise
        yield [*self._read(reader, events, None), *self._ended(reader)]

    def _fitted(self, request: Request) -> tuple[Frame, Sequence[Piece], bool]:
        system = self._transcript.system(request.system)
        frame = Frame(self.name, system, request.tools, request.max_tokens, request.tuning)
        self._frame_tokens = self._dialect.frame_bytes(frame) / BYTES_PER_TOKEN
        reserve = min(self._dialect.reply_tokens(frame), self._window_tokens / 2)
        pieces, is_cut = self._transcript.fitted(self._window_tokens - reserve, self._frame_tokens)
        return frame, pieces, is_cut

    def _read(self, reader: Reader, events: EventReader, chunk: bytes | None) -> list[Delta]:
        """Return what `chunk` says; `None` is the end of the answer."""
        found: list[Delta] = []
        try:
            for data in events.finish() if chunk is None else events.feed(chunk):
                if reader.done:
                    break
                found += reader.read(data)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            text = f"{self.provider.name} sent what nobody can read"
            raise failures.PassingError(text) from error
        return found

    def _ended(self, reader: Reader) -> Sequence[Delta]:
        end = reader.end()
        for delta in end:
            if isinstance(delta, Finished):
                self._transcript.learn(_input_tokens(delta.usage), self._frame_tokens)
        return end

    def _remedy(self, error: ProviderError, attempt: int) -> tuple[str, float] | None:
        """Return what to tell the host and the seconds to wait before another attempt, if any."""
        if attempt >= retrying.ATTEMPTS_MAX:
            return None
        match error:
            case failures.PassingError():
                wait_s = retrying.delay_s(error, attempt, random.random())
                text = f"{error}; trying again (attempt {attempt + 1} of {retrying.ATTEMPTS_MAX})"
                return None if wait_s is None else (text, wait_s)
            case failures.ContextOverflowError():
                sent_tokens = self._transcript.tokens(self._frame_tokens)
                self._window_tokens = min(self._window_tokens, sent_tokens) * OVERFLOW_SHARE
                can_cut = self._transcript.can_cut(self._window_tokens, self._frame_tokens)
                return (
                    ("the conversation is too long; trying a shorter one", 0) if can_cut else None
                )
            case failures.ImagesRefusedError() if self._transcript.hide_images():
                return "this model cannot see images; going on without them", 0
            case _:
                return None

    def _limit(self, received: int) -> None:
        if received > REPLY_BYTES_MAX:
            text = f"{self.provider.name}: a reply has {REPLY_BYTES_MAX} bytes at most"
            raise failures.RefusedError(text)

    def _require_key(self) -> None:
        endpoint = self._http.endpoint
        if endpoint.key is None and not endpoint.is_loopback:
            names = " or ".join(endpoint.key_names) or "a key"
            raise failures.AuthRequiredError(
                f"{self.provider.name} needs a key: start the engine with {names} in its "
                "environment (any text, where the server asks for none)"
            )


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    with anyio.move_on_after(DRAIN_S):
        async for _ in chunks:
            pass


def _input_tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
