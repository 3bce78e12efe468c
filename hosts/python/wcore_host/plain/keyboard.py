"""The terminal's input: keys one at a time, or lines where there is no terminal."""

import os
import signal
import termios
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import anyio

from wcore_host.plain.keys import Key, KeyDecoder, Press

READ_BYTES: Final = 64 * 1024  # more than anybody types or pastes at once
ESCAPE_S: Final = 0.05  # a terminal sends the rest of a key well within this
PASTE_ON: Final = "\x1b[?2004h"
PASTE_OFF: Final = "\x1b[?2004l"


class Keyboard:
    """A terminal that hands over every key at once and leaves signals to us."""

    def __init__(self, fd: int, out_fd: int) -> None:
        self._fd = fd
        self._out_fd = out_fd
        self._decoder = KeyDecoder()
        self._before = termios.tcgetattr(fd)

    @contextmanager
    def taken(self) -> Generator[None]:
        """Take the terminal, and give it back as it was."""
        self._take()
        try:
            yield
        finally:
            self._give_back()

    async def read(self) -> list[Press]:
        """Return the next keys; the end of the terminal reads as `Key.EOF`."""
        if self._decoder.is_waiting:
            with anyio.move_on_after(ESCAPE_S) as patience:
                await anyio.wait_readable(self._fd)
            if patience.cancelled_caught:
                return self._decoder.flush()
        else:
            await anyio.wait_readable(self._fd)
        try:
            data = os.read(self._fd, READ_BYTES)
        except OSError:  # the terminal is gone
            data = b""
        return self._decoder.feed(data) if data else [Key.EOF]

    def drop_typed(self) -> None:
        """Forget what was typed and not read yet."""
        termios.tcflush(self._fd, termios.TCIFLUSH)
        self._decoder.reset()

    def suspend(self) -> None:
        """Give the terminal back and stop this process, as Ctrl-Z promises."""
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take()

    def _take(self) -> None:
        mode = termios.tcgetattr(self._fd)
        mode[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSADRAIN, mode)
        os.write(self._out_fd, PASTE_ON.encode())

    def _give_back(self) -> None:
        os.write(self._out_fd, PASTE_OFF.encode())
        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)


class LineReader:
    """Lines of a pipe or a file, one when asked for."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._buffer = bytearray()
        self._ended = False

    async def read(self) -> str | None:
        """Return the next line without its end, or `None` after the last."""
        while (end := self._buffer.find(b"\n")) < 0 and not self._ended:
            data = await self._more()
            self._buffer += data
            self._ended = not data
        if end < 0 and not self._buffer:
            return None
        end = len(self._buffer) if end < 0 else end
        line = self._buffer[:end].decode(errors="replace").rstrip("\r")
        del self._buffer[: end + 1]
        return line

    def drop_typed(self) -> None:
        """Forget what was typed and not read yet; a pipe has no such thing."""
        if os.isatty(self._fd):
            termios.tcflush(self._fd, termios.TCIFLUSH)
            self._buffer.clear()

    async def _more(self) -> bytes:
        try:
            await anyio.wait_readable(self._fd)
        except PermissionError:  # a regular file cannot be waited for and never blocks
            await anyio.lowlevel.checkpoint()
        try:
            return os.read(self._fd, READ_BYTES)
        except OSError:
            return b""
