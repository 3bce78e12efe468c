"""A provider on loopback that says what a test scripts, and remembers what it was asked.

It writes HTTP by hand, so that a test decides every chunk border, every stall and every break.
"""

import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio
import waiting
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream

HEAD_BYTES_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer that streams; `breaks` ends it by closing the socket, `stalls` by silence."""

    chunks: Sequence[bytes]
    breaks: bool = False
    stalls: bool = False
    content_type: str = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer in one piece, as errors are."""

    status: int
    body: object
    headers: dict[str, str] = field(default_factory=dict[str, str])


class Hangup:
    """No answer: the connection is closed."""


Answer: TypeAlias = Streamed | Whole | Hangup


class Provider:
    """The scripted server."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.asked: list[Asked] = []
        self.connections = 0
        self.stalled = anyio.Event()
        self.closed = anyio.Event()  # a client went away while we were stalling
        self.decide: Callable[[Asked], Answer] | None = None  # what to say, in place of a script
        self._answers: deque[Answer] = deque()

    def will_say(self, *answers: Answer) -> None:
        """Script the next answers; when there is none left, the connection is closed."""
        self._answers.extend(answers)

    async def serve(self, stream: ByteStream) -> None:
        self.connections += 1
        async with stream:
            reader = BufferedByteReceiveStream(stream)
            try:
                while True:
                    self.asked.append(await _request(reader))
                    if not await self._answer(stream, reader, self._next()):
                        return
            except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError):
                return

    def _next(self) -> Answer:
        if self.decide is not None:
            return self.decide(self.asked[-1])
        return self._answers.popleft() if self._answers else Hangup()

    async def _answer(
        self, stream: ByteStream, reader: BufferedByteReceiveStream, answer: Answer
    ) -> bool:
        """Send the answer; tell whether the connection stays open."""
        match answer:
            case Hangup():
                return False
            case Whole(status, body, headers):
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                await stream.send(_head(status, {"content-length": str(len(data)), **headers}))
                await stream.send(data)
                return True
            case Streamed():
                kind = {"content-type": answer.content_type, "transfer-encoding": "chunked"}
                await stream.send(_head(200, kind))
                for chunk in answer.chunks:
                    await stream.send(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                if answer.stalls:
                    self.stalled.set()
                    await _gone(reader)
                    self.closed.set()
                    return False
                if answer.breaks:
                    return False
                await stream.send(b"0\r\n\r\n")
                return True


@asynccontextmanager
async def serving() -> AsyncGenerator[Provider, None]:
    """Serve on a free port while inside."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    provider = Provider(listener.extra(SocketAttribute.local_port))
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, provider.serve)
        yield provider
        tasks.cancel_scope.cancel()


async def _request(reader: BufferedByteReceiveStream) -> Asked:
    head = (await reader.receive_until(b"\r\n\r\n", HEAD_BYTES_MAX)).decode("latin-1")
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    body = await reader.receive_exactly(int(headers["content-length"]))
    return Asked(first.split()[1], headers, body)


async def _gone(reader: BufferedByteReceiveStream) -> None:
    """Wait until the client closes."""
    with waiting.patience("the client's leave"):
        try:
            while True:
                await reader.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
