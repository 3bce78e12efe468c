"""The events nobody has read yet: bounded, and unable to deadlock with what is being written.

A host that does not read makes the engine wait. But a host that waits for the engine (for room
to write, for the answer to a command) cannot read meanwhile, so while it waits the bound is
lifted: then the engine can always get rid of its output and come to its input.
"""

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import anyio

from wcore_host.errors import EngineExitedError
from wcore_host.events import Event

INBOX_BYTES_MAX: Final = 16 * 1024 * 1024  # two lines of the largest size
EVENT_BYTES: Final = 512  # what a small event costs in memory beyond its line


class Inbox:
    """A queue of events with one bound in bytes; ends once, cleanly or with an error."""

    def __init__(self, bytes_max: int = INBOX_BYTES_MAX) -> None:
        self._events: deque[tuple[Event, int]] = deque()
        self._bytes = 0
        self._bytes_max = bytes_max
        self._lifted = 0
        self._ended = False
        self._discarding = False
        self._failure: EngineExitedError | None = None
        self._changed = anyio.Event()

    async def put(self, event: Event, line_bytes: int) -> None:
        """Add one event; waits while the queue is full and nobody of ours is stuck."""
        while self._is_full():
            await self._changed.wait()
        if self._discarding:
            return
        size = line_bytes + EVENT_BYTES
        self._events.append((event, size))
        self._bytes += size
        self._wake()

    async def get(self) -> Event:
        """Return the next event.

        Raises:
            EngineExitedError: the engine died, and everything it said before has been read.
            StopAsyncIteration: the engine ended as it was told to.
        """
        while not self._events:
            if self._failure is not None:
                raise self._failure
            if self._ended:
                raise StopAsyncIteration
            await self._changed.wait()
        event, size = self._events.popleft()
        self._bytes -= size
        self._wake()
        return event

    @contextmanager
    def lifted(self) -> Generator[None]:
        """Lift the bound while the caller waits for the engine and so cannot read."""
        self._lifted += 1
        self._wake()
        try:
            yield
        finally:
            self._lifted -= 1

    def discard(self) -> None:
        """Throw away what comes from now on: we are closing."""
        self._discarding = True
        self._wake()

    def end(self, failure: EngineExitedError | None = None) -> None:
        """Say that no more events come, and why if that was not wanted."""
        self._ended = True
        self._failure = failure
        self._wake()

    def _is_full(self) -> bool:
        return self._bytes >= self._bytes_max and not self._lifted and not self._discarding

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
