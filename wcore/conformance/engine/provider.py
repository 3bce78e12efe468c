"""A provider on loopback that says what a case scripts and remembers what it was asked.

One server a case, on a port of its own, so that a foreign engine needs nothing but a base URL.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final, cast

import anyio
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream

from wcore.conformance.engine import dialects
from wcore.conformance.json_object import JsonObject
from wcore.conformance.script import Call, Pause, Reply, Text, reply_of

HEAD_BYTES_MAX: Final = 64 * 1024  # of a request: a few headers
BODY_BYTES_MAX: Final = 64 * 1024 * 1024  # a conversation with some long tool results
LAST_WORDS: Final = "(done)"  # what the model says when the script is over: no case need write it


class Provider:
    """The scripted server. `asked` are the bodies of the requests for a reply, oldest first."""

    def __init__(self, port: int, script: Sequence[tuple[JsonObject, ...]]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.asked: list[JsonObject] = []
        self._script = list(script)
        self._calls = 0
        self._failed: tuple[list[str], Reply] | None = None

    async def serve(self, stream: ByteStream) -> None:
        """Answer one connection until it ends."""
        async with stream:
            reader = BufferedByteReceiveStream(stream)
            try:
                while True:
                    await self._answer(stream, reader, *(await _request(reader)))
            except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError):
                return
            except (anyio.DelimiterNotFound, anyio.ClosedResourceError, ValueError, RecursionError):
                return

    async def _answer(
        self, stream: ByteStream, reader: BufferedByteReceiveStream, path: str, raw: bytes
    ) -> None:
        chat = path.endswith(dialects.CHAT_PATH)
        if not chat and not path.endswith(dialects.MESSAGES_PATH):
            models = {"object": "list", "data": [{"id": "conformance", "object": "model"}]}
            await _send_whole(stream, *((200, models) if path.endswith("/models") else (404, {})))
            return
        body = cast("JsonObject", json.loads(raw))
        reply, model = self._reply(body), str(body.get("model", ""))
        if reply.failure:
            answer = dialects.failure_body(reply.failure)
            await _send_whole(stream, reply.failure.status, answer)
        elif chat and not body.get("stream"):
            await _send_whole(stream, 200, dialects.chat_whole(reply, model))
        else:
            speak = dialects.chat_chunks if chat else dialects.messages_chunks
            await _send_head(stream, "text/event-stream")
            for chunk in speak(reply, model):
                if not isinstance(chunk, Pause):
                    await stream.send(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                elif chunk.for_s is not None:
                    await anyio.sleep(chunk.for_s)
                else:
                    await reader.receive()  # until the engine goes away
                    raise anyio.EndOfStream
            await stream.send(b"0\r\n\r\n")

    def _reply(self, body: JsonObject) -> Reply:
        """Return the next reply; a failure stays the answer to the very same conversation."""
        self.asked.append(body)
        parts = dialects.given(body)
        if self._failed and self._failed[0] == parts:
            return self._failed[1]
        self._failed = None
        if not self._script:
            return Reply([Text(LAST_WORDS)])
        reply = reply_of(self._script.pop(0), self._calls)
        self._calls += sum(isinstance(piece, Call) for piece in reply.pieces)
        if reply.failure:
            self._failed = (parts, reply)
        return reply


@asynccontextmanager
async def serving(script: Sequence[tuple[JsonObject, ...]]) -> AsyncGenerator[Provider, None]:
    """Serve `script` on a free port while inside."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    provider = Provider(listener.extra(SocketAttribute.local_port), script)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, provider.serve)
        yield provider
        tasks.cancel_scope.cancel()


async def _request(reader: BufferedByteReceiveStream) -> tuple[str, bytes]:
    head = (await reader.receive_until(b"\r\n\r\n", HEAD_BYTES_MAX)).decode("latin-1")
    first, *lines = head.split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
    }
    size = int(headers.get("content-length", "0"))
    if not 0 <= size <= BODY_BYTES_MAX:
        raise ValueError("the body is too long")
    return first.split(" ")[1].split("?")[0], await reader.receive_exactly(size)


async def _send_whole(stream: ByteStream, status: int, body: JsonObject) -> None:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(data)}"
    await stream.send(head.encode() + b"\r\n\r\n" + data)


async def _send_head(stream: ByteStream, kind: str) -> None:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n"
    await stream.send(head.encode())
