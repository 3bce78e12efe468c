"""The output of a running command: streamed at first, and kept at both ends, however long."""

import codecs
import os
from typing import Final

import anyio
from anyio import lowlevel

from wcore.tools.tool import RunContext
from wcore.tools.truncate import HeadTail
from wcore.vocabulary import OUTPUT_BYTES_MAX

PIPE_BYTES: Final = 64 * 1024  # a pipe's default capacity on Linux
STREAM_BYTES_MAX: Final = 1024 * 1024  # nobody reads more while it scrolls by
KEPT_BYTES_MAX: Final = OUTPUT_BYTES_MAX - 1024  # room for the marker and the exit code
LAST_BYTES_MAX: Final = 1024 * 1024  # what a pipe can still hold when all writers are dead
STREAM_STOPPED: Final = "\n[… the output goes on; it is not streamed beyond 1 MiB …]\n"


class ShellOutput:
    """Reads the pipe of one call until all writers have closed it, or `close` is called."""

    def __init__(self, pipe: int, live: RunContext) -> None:
        self._pipe = pipe
        self._live = live
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = HeadTail(KEPT_BYTES_MAX)
        self._to_stream = STREAM_BYTES_MAX
        self._closing = False
        self._last = LAST_BYTES_MAX
        self._waiting = anyio.CancelScope()
        self.ended = anyio.Event()

    async def pump(self) -> None:
        """Read everything. The loop stays responsive at any speed."""
        try:
            while await self._step():
                await lowlevel.checkpoint()
            await self._take(self._decoder.decode(b"", final=True))
        finally:
            self.ended.set()

    async def _step(self) -> bool:
        try:
            data = os.read(self._pipe, PIPE_BYTES)
        except BlockingIOError:
            if self._closing:
                return False
            with anyio.CancelScope() as self._waiting:
                await anyio.wait_readable(self._pipe)
            return True
        await self._take(self._decoder.decode(data))
        if self._closing:  # somebody may have escaped and write for ever
            self._last -= len(data)
        return bool(data) and self._last > 0

    def close(self) -> None:
        """Stop as soon as the pipe is empty."""
        self._closing = True
        self._waiting.cancel()

    async def rest(self) -> None:
        """Keep what the pipe still holds. Nothing is streamed: nobody may wait for a host then."""
        self._to_stream = 0
        self.close()
        await self.pump()

    async def _take(self, text: str) -> None:
        self._kept.add(text)
        if not text or self._to_stream <= 0:
            return
        self._to_stream -= len(text.encode())
        await self._live.chunk(text)
        if self._to_stream <= 0:
            await self._live.chunk(STREAM_STOPPED)

    def text(self) -> tuple[str, bool]:
        """Return what was kept, and whether something is left out."""
        return self._kept.text()
