"""One open page: what it has not been sent yet, bounded, so that a slow one harms only itself."""

from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import Final

import anyio

TAB_BYTES_MAX: Final = 16 * 1024 * 1024  # two events of the largest size
PIECE_BYTES: Final = 64 * 1024  # written at once: what a socket takes without growing
SILENCE_S: Final = 15.0  # then a comment is sent, so that a dead connection is noticed

KEEP_ALIVE: Final = b": still here\n\n"


class Tab:
    """A queue of frames with one reader. Too far behind, it is dropped and may come again."""

    def __init__(self, page: str, first: Iterable[bytes]) -> None:
        self.page = page
        self.first = tuple(first)  # how things stand; shared with the log, so not counted
        self.frames: deque[bytes] = deque()
        self.waiting_bytes = 0
        self._changed = anyio.Event()
        self.dropped = anyio.Event()

    def offer(self, frame: bytes) -> None:
        """Add one frame; never waits. A tab that does not read loses its place instead."""
        if self.dropped.is_set():
            return
        self.frames.append(frame)
        self.waiting_bytes += len(frame)
        if self.waiting_bytes > TAB_BYTES_MAX:
            self.drop()
        self._changed.set()

    def drop(self) -> None:
        """Forget what is left; the reader is told."""
        self.frames.clear()
        self.first = ()
        self.dropped.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield what there is to send, many frames at once, until the tab is dropped."""
        for frame in self.first:
            yield frame
        self.first = ()
        while not self.dropped.is_set():
            if not self.frames:
                self._changed = anyio.Event()
                with anyio.move_on_after(SILENCE_S) as silence:
                    await self._changed.wait()
                if silence.cancelled_caught:
                    yield KEEP_ALIVE
                continue
            piece = bytearray()
            while self.frames and len(piece) < PIECE_BYTES:
                piece += self.frames.popleft()
            self.waiting_bytes -= len(piece)
            yield bytes(piece)
