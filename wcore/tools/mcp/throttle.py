"""What keeps a server behind an address from having all of our time, or all of our memory.

A program's pipe is read by us, at our pace (see `stdio`). Over HTTP the SDK reads; here it is held
back: it hears no more while many of its answers wait, and makes requests no faster than it should.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

import anyio
import httpx2

SHARE: Final = 0.5  # of the event loop, at most, as for a program
CREDIT_S: Final = 1.0  # of work that may come at once: a large answer, and whatever else we do
PAUSE_S_MAX: Final = 0.25  # at a time; a result behind a flood comes soon all the same
ANSWERS_MAX: Final = 64  # on their way to a server that does not take them; as in `stdio`
POLL_S: Final = 0.02  # while it does not
STREAMS_AT_ONCE: Final = 10  # opened without a pause; a server may end each of them at once
STREAM_S: Final = 1.0  # then between two


class _Stream:
    """The SDK's stream, entered and left as it is."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)


class CountingSender(_Stream):
    """Messages to the server; counts those that wait."""

    waiting = 0

    async def send(self, item: Any, /) -> None:
        self.waiting += 1
        try:
            await self._inner.send(item)
        finally:
            self.waiting -= 1


class ThrottledReceiver(_Stream):
    """Messages from the server, no faster than `writing` takes ours and the loop has time.

    `ended` is called when there will be no more.
    """

    def __init__(self, inner: Any, writing: CountingSender, ended: Callable[[], None]) -> None:
        super().__init__(inner)
        self._ended = ended
        self._writing = writing
        self._credit_s = CREDIT_S
        self._at = anyio.current_time()
        self._worked_s = time.thread_time()

    @property
    def last_context(self) -> Any:
        """In which the SDK's own tasks have sent the last message."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        while self._writing.waiting > ANSWERS_MAX:  # noqa: ASYNC110 - nothing tells us
            await anyio.sleep(POLL_S)
        now, worked_s = anyio.current_time(), time.thread_time()
        earned_s = SHARE * (now - self._at) - (worked_s - self._worked_s)
        self._at, self._worked_s = now, worked_s
        self._credit_s = min(self._credit_s + earned_s, CREDIT_S)
        if self._credit_s < 0:
            await anyio.sleep(min(-self._credit_s / SHARE, PAUSE_S_MAX))
        try:
            return await self._inner.receive()
        except anyio.EndOfStream:
            self._ended()
            raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class StreamLimiter:
    """Lets streams be opened a few at once, then one after the other; use it as a request hook."""

    def __init__(self) -> None:
        self._free_at = -STREAMS_AT_ONCE * STREAM_S + anyio.current_time()

    async def __call__(self, request: httpx2.Request) -> None:
        if request.method != "GET":
            return
        now = anyio.current_time()
        self._free_at = max(self._free_at, now - STREAMS_AT_ONCE * STREAM_S) + STREAM_S
        await anyio.sleep(max(0.0, self._free_at - now))
