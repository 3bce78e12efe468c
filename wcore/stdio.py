"""The engine's stdin and stdout: lines in, whole lines out, bounded both ways.

At the start the wire moves to private descriptors; fd 0 becomes `/dev/null` and fd 1 becomes
stderr, so that a stray `print`, a library or a child process can never reach the wire.

No thread is ever parked in a read: pipes, sockets and terminals are waited for on the loop, and
what cannot be waited for (regular files, `/dev/null`) does not block. A ready pipe or socket
takes `PIPE_BUF` bytes without blocking, so those are written on the loop, in pieces; only a
terminal is written from a thread. The descriptors stay in blocking mode, because their open
file descriptions belong to the host as well.
"""

import fcntl
import os
import select
import stat
from collections.abc import Iterable
from typing import Final

import anyio
from anyio import to_thread
from anyio.lowlevel import checkpoint

from wcore.errors import ConfigError, HostGoneError
from wcore.protocol.lines import LineSplitter, Overlong

FIRST_PRIVATE_FD: Final = 3  # never 0 to 2, not even where one of them was closed
READ_BYTES: Final = 64 * 1024  # a pipe's default capacity on Linux
QUEUE_BYTES_MAX: Final = 1024 * 1024  # then whoever sends waits for the host to read
PIECE_BYTES: Final = select.PIPE_BUF  # POSIX: a pipe that polls writable takes this much


def claim() -> tuple[int, int]:
    """Take fd 0 and fd 1 for the wire; return private duplicates of them.

    A closed fd 0 reads as end of file.

    Raises:
        ConfigError: fd 1 is closed, so there is nobody to talk to.
    """
    try:
        out_fd = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_FD)
    except OSError as error:
        raise ConfigError("stdout is closed: events have nowhere to go") from error
    null = os.open(os.devnull, os.O_RDWR)
    try:
        in_fd = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_FD)
    except OSError:
        in_fd = fcntl.fcntl(null, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_FD)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed: a stray print must still not reach anything of ours
        os.dup2(null, 1)
        os.dup2(null, 2)
    if null >= FIRST_PRIVATE_FD:
        os.close(null)
    return in_fd, out_fd


class LineReader:
    """Reads lines from a descriptor of any kind; never blocks the loop for long.

    `first` are lines that come before those of the descriptor.
    """

    def __init__(self, fd: int, first: Iterable[bytes] = ()) -> None:
        self._first: list[bytes | Overlong] = list(first)
        self._fd = fd
        self._waits = _is_stream(fd) or os.isatty(fd)
        self._splitter = LineSplitter()

    async def read(self) -> list[bytes | Overlong] | None:
        """Return the next lines, at least none; `None` once, at end of file.

        An unterminated last line is returned before the end is. Cancelling loses nothing.
        """
        if self._first:
            first, self._first = self._first, []
            return first
        data = await self._read_bytes()
        if data is None:
            return None
        if not data:
            self._fd = -1
            return self._splitter.finish()
        return self._splitter.feed(data)

    async def _read_bytes(self) -> bytes | None:
        if self._fd < 0:
            return None
        if self._waits:
            await anyio.wait_readable(self._fd)
        else:
            await checkpoint()
        try:
            return os.read(self._fd, READ_BYTES)
        except OSError:  # a terminal that hung up: the host is gone
            return b""


class StdoutWriter:
    """The one writer. Lines leave whole and in the order of the `send` calls."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._stream = _is_stream(fd)
        self._terminal = os.isatty(fd)
        self._queue: list[bytes] = []
        self._queued_bytes = 0
        self._wake = anyio.Event()
        self._room = anyio.Event()
        self._gone = False

    def put_nowait(self, line: bytes) -> None:
        """Queue one line without waiting, for lines that must leave as one group.

        Raises:
            HostGoneError: the host has closed our stdout.
        """
        if self._gone:
            raise HostGoneError
        self._queue.append(line)
        self._queued_bytes += len(line)
        self._wake.set()

    async def send(self, line: bytes) -> None:
        """Queue one line, then wait while the host is more than `QUEUE_BYTES_MAX` behind.

        Cancelling never loses or reorders a line. Raises what `put_nowait` raises.
        """
        self.put_nowait(line)
        await self._wait_below(QUEUE_BYTES_MAX)

    async def flush(self) -> None:
        """Wait until everything queued is with the kernel.

        Raises:
            HostGoneError: the host has closed our stdout.
        """
        await self._wait_below(0)

    async def run(self) -> None:
        """Write until cancelled.

        Raises:
            HostGoneError: the host has closed our stdout.
        """
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._notice_close)
                while True:
                    await self._wake.wait()  # lets others go first in any case
                    self._wake = anyio.Event()
                    data = b"".join(self._queue)
                    self._queue.clear()
                    await self._write(data)
                    self._queued_bytes -= len(data)
                    self._room.set()
        except* (OSError, HostGoneError):
            self._gone = True
            self._room.set()
            raise HostGoneError from None

    async def _wait_below(self, bytes_max: int) -> None:
        while self._queued_bytes > bytes_max:
            if self._gone:
                raise HostGoneError
            if self._room.is_set():
                self._room = anyio.Event()
            await self._room.wait()

    async def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            if self._terminal:
                written = await to_thread.run_sync(
                    os.write, self._fd, rest[:PIECE_BYTES], abandon_on_cancel=True
                )
            else:
                if self._stream and not _polls(self._fd, select.POLLOUT):
                    await anyio.wait_writable(self._fd)
                written = os.write(self._fd, rest[:PIECE_BYTES])
            rest = rest[written:]

    async def _notice_close(self) -> None:
        """Raise as soon as the host closes its end, even while nothing is written."""
        if not self._stream:
            return
        await anyio.wait_readable(self._fd)  # epoll reports a closed far end as an event
        if _polls(self._fd, select.POLLERR | select.POLLHUP):
            raise HostGoneError


def _is_stream(fd: int) -> bool:
    kind = os.fstat(fd).st_mode
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)


def _polls(fd: int, events: int) -> bool:
    poll = select.poll()
    poll.register(fd, events)
    return any(got & (events | select.POLLERR) for _, got in poll.poll(0))
