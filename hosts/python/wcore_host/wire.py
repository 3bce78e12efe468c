"""The descriptors between host and engine: sockets, which nobody can open through `/proc`.

A pipe can be opened anew, in either direction, by every program that sees the descriptors of one
of its processes: with it a tool could answer its own card, or tell us what the engine never said.
"""

import json
import socket
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Final, Self

import anyio
from anyio.lowlevel import checkpoint

from wcore_host.errors import EngineStartError

READ_BYTES: Final = 64 * 1024  # as much as a socket usually holds
KEYS_BYTES_MAX: Final = 64 * 1024  # a socket takes this before anybody reads; dozens of keys


class HostEnd:
    """Our end of a connected pair of sockets, used in one direction."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        end.settimeout(0)

    async def send(self, data: bytes) -> None:
        """Write all of `data`.

        Raises:
            anyio.BrokenResourceError: the engine no longer reads.
        """
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._end.send(rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._end)
            except OSError as error:
                raise anyio.BrokenResourceError from error
        await checkpoint()

    async def receive(self) -> bytes:
        """Return the next bytes, none at the end.

        Raises:
            anyio.BrokenResourceError: the connection is gone.
        """
        await checkpoint()
        while True:
            try:
                return self._end.recv(READ_BYTES)
            except BlockingIOError:
                await anyio.wait_readable(self._end)
            except OSError as error:
                raise anyio.BrokenResourceError from error

    def finish(self) -> None:
        """Let the engine read the end; whoever still writes is told."""
        with suppress(OSError):  # it is gone already
            self._end.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close it; nobody may be waiting."""
        self._end.close()


class Ends:
    """Both ends of what connects us with an engine, while it is being started.

    Leaving closes the engine's ends, and ours too unless they were `kept`.
    """

    def __init__(self, keys: Mapping[str, str] | None) -> None:
        self._theirs, self._ours = ExitStack(), ExitStack()
        with ExitStack() as undo:
            undo.callback(self._ours.close)
            undo.callback(self._theirs.close)
            self._to_engine, self.stdin = self._pair()
            self._from_engine, self.stdout = self._pair()
            self.passed = () if keys is None else (self._hand_over(keys),)
            undo.pop_all()

    @property
    def flags(self) -> tuple[str, ...]:
        """What the engine must be told on its command line."""
        return tuple(f"--keys-fd={fd}" for fd in self.passed)

    def kept(self) -> tuple[HostEnd, HostEnd]:
        """Return our ends: to the engine's stdin, and from its stdout."""
        self._ours.pop_all()
        return HostEnd(self._to_engine), HostEnd(self._from_engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._theirs.close()
        self._ours.close()

    def _pair(self) -> tuple[socket.socket, socket.socket]:
        ours, theirs = socket.socketpair()
        return self._ours.enter_context(ours), self._theirs.enter_context(theirs)

    def _hand_over(self, keys: Mapping[str, str]) -> int:
        """Write the keys where only the engine reads them; return the descriptor it gets."""
        ours, theirs = self._pair()
        data = json.dumps(dict(keys)).encode()
        try:
            if len(data) > KEYS_BYTES_MAX:
                raise EngineStartError(f"the keys are longer than {KEYS_BYTES_MAX} bytes")
            ours.settimeout(0)
            while data:
                data = data[ours.send(data) :]
        except BlockingIOError:
            raise EngineStartError("the keys are longer than a socket of this system") from None
        finally:
            ours.close()
        return theirs.fileno()
