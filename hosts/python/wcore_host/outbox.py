"""The commands not yet written: bounded, whole lines, one writer."""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

OUTBOX_BYTES_MAX: Final = 16 * 1024 * 1024  # two lines of the largest size


class Outbox:
    """A queue of lines on their way to the engine; `broken` once it no longer reads."""

    def __init__(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        self._write = write
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._writing = False
        self._changed = anyio.Event()
        self.broken = False

    @property
    def is_full(self) -> bool:
        return self._bytes >= OUTBOX_BYTES_MAX and not self.broken

    def put(self, line: bytes) -> None:
        """Add one line, newline included."""
        self._lines.append(line)
        self._bytes += len(line)
        self._wake()

    async def room(self) -> None:
        """Wait until the queue is no longer full (or nobody reads it any more)."""
        while self.is_full:
            await self._changed.wait()

    async def emptied(self) -> None:
        """Wait until every line has been written (or nobody reads them any more)."""
        while not self.broken and (self._lines or self._writing):
            await self._changed.wait()

    def close(self) -> None:
        """Nobody reads any more: forget what is left, wake who waits."""
        self.broken = True
        self._lines.clear()
        self._bytes = 0
        self._wake()

    async def run(self) -> None:
        """Write lines until the engine stops reading; nobody waits for a writer that has ended."""
        try:
            while not self.broken:
                await self._write_next()
        finally:
            self.close()

    async def _write_next(self) -> None:
        while not self._lines:
            if self.broken:
                return
            await self._changed.wait()
        line = self._lines.popleft()
        self._writing = True
        try:
            await self._write(line)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self.close()
        finally:
            self._writing = False
            self._bytes = max(0, self._bytes - len(line))
            self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
