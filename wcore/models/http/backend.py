"""The way to a model over HTTP, in one of our two dialects."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Final

import anyio

from wcore.models import errors
from wcore.models.dialect import EncodedMessage, Reader, RequestFrame
from wcore.models.http.anthropic import Anthropic
from wcore.models.http.chat import Chat
from wcore.models.http.client import HttpClient
from wcore.models.http.sse import EventReader
from wcore.models.model import Delta
from wcore.models.providers import DialectName, Provider

REPLY_BYTES_MAX: Final = 256 * 1024 * 1024  # of one answer as it comes; a server gone wild
KEPT_ALIVE_S_MAX: Final = 600.0  # with keep-alives only; some models think for minutes behind them
KEY_CHARS_MIN: Final = 8  # a shorter one is an ordinary word, which nothing is cleared of
DRAIN_S: Final = 0.25  # for the last, empty chunk; then the connection can be used again


class HttpBackend:
    """Asks one provider; see `conversation.Backend`."""

    def __init__(self, provider: Provider, http: HttpClient) -> None:
        self.provider = provider
        self.encoding = Chat(provider) if provider.dialect is DialectName.CHAT else Anthropic()
        self._http = http

    def fresh(self) -> "HttpBackend":
        return HttpBackend(self.provider, self._http)

    @property
    def owner(self) -> str:
        return f"{self.provider.name} {self._http.endpoint.host}"

    @property
    def price_provider(self) -> str:
        is_its_own = self._http.endpoint.url == self.provider.base_url
        return self.provider.name if is_its_own and not self._http.endpoint.is_loopback else ""

    def warm(self) -> None:
        """Load the HTTP library and make the client."""
        self._http.warm()

    def require_key(self) -> None:
        """Check that there is a key that can be sent; a server on this machine may need none."""
        endpoint = self._http.endpoint
        if endpoint.key is None and not endpoint.is_loopback:
            raise errors.no_key(self.provider.name, endpoint.key_names)

    async def answer(
        self, frame: RequestFrame, pieces: Sequence[EncodedMessage]
    ) -> AsyncGenerator[Sequence[Delta], None]:
        """Send one request; yield what each piece of the answer says."""
        body = self.encoding.body(frame, pieces)
        headers = self.encoding.headers(self._http.endpoint.key)
        reader = self.encoding.reader()
        events = EventReader()
        received = told = 0
        heard_at = anyio.current_time()
        try:
            async with self._http.post(self.encoding.path, headers, body) as chunks:
                async for chunk in chunks:
                    received += len(chunk)
                    if deltas := self._read(reader, events, chunk):
                        yield deltas
                    if reader.done:
                        await _drain(chunks)
                        break
                    now = anyio.current_time()
                    if events.told > told:
                        told, heard_at = events.told, now
                    self._limit(received, now - heard_at)
        except (errors.TransientError, errors.StalledError):
            if not reader.done:
                raise
        except errors.AuthInvalidError:
            if len(self._http.endpoint.key or "") >= KEY_CHARS_MIN:
                raise
            text = f"{self.provider.name} does not accept the key"
            raise errors.AuthInvalidError(text) from None
        yield [*self._read(reader, events, None), *reader.end()]

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
            raise errors.TransientError(text) from error
        return found

    def _limit(self, received: int, kept_alive_s: float) -> None:
        if received > REPLY_BYTES_MAX:
            text = f"{self.provider.name}: a reply has {REPLY_BYTES_MAX} bytes at most"
            raise errors.RefusedError(text)
        if kept_alive_s > KEPT_ALIVE_S_MAX:
            text = f"{self.provider.name} sent only keep-alives for {KEPT_ALIVE_S_MAX:g} s"
            raise errors.StalledError(f"{text}; the request was given up")


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    with anyio.move_on_after(DRAIN_S):
        async for _ in chunks:
            pass
