"""A server that is reached over HTTP, with what it sends bounded; `throttle` bounds how often."""

import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST

from wcore import network
from wcore.tools.mcp.server_config import OBJECT, OBJECTS_MAX, SSE, ServerConfig
from wcore.tools.mcp.throttle import CountingSender, StreamLimiter, ThrottledReceiver

EVENT_BYTES_MAX: Final = 8 * 1024 * 1024  # of one answer or event, as of a line of a program
CONNECT_S_MAX: Final = 10.0  # to a server that is there
ERROR_S_MAX: Final = 5.0  # for the words of an error, which follow its code at once
ERROR_BYTES_MAX: Final = 64 * 1024  # of them; the first ones are enough
READ_S_MAX: Final = 300.0  # between two pieces of a stream, as in the SDK; or as a call may take

#: Marks our own word for HTTP 404 for a session; no server can say it.
SESSION_GONE: Final = secrets.token_hex()


class TooMuchError(httpx2.TransportError):
    """The server sent more than anybody wants to hold."""


class UnauthorizedError(httpx2.TransportError):
    """The server does not let us in."""


@asynccontextmanager
async def open_http(config: ServerConfig, ended: Callable[[], None]) -> AsyncGenerator[Any, None]:
    """Yield the streams of the SDK for a server behind an address; `ended`: it says no more."""
    async with _streams(config) as (read, write):
        writing = CountingSender(write)
        yield ThrottledReceiver(read, writing, ended), writing


def _streams(config: ServerConfig) -> AbstractAsyncContextManager[Any]:
    if config.transport == SSE:
        return sse_client(
            config.url,
            dict(config.headers or {}),
            sse_read_timeout=_read_s(config),
            httpx_client_factory=partial(_made, config.url),
        )
    return _streamable(config)


@asynccontextmanager
async def _streamable(config: ServerConfig) -> AsyncGenerator[Any, None]:
    async with (
        _made(
            config.url,
            dict(config.headers or {}),
            httpx2.Timeout(CONNECT_S_MAX, read=_read_s(config)),
        ) as client,
        streamable_http_client(
            config.url, http_client=client, max_sse_event_size=EVENT_BYTES_MAX
        ) as streams,
    ):
        yield streams


def _read_s(config: ServerConfig) -> float:
    return max(READ_S_MAX, config.call_timeout_s)


def _made(
    url: str,
    headers: dict[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    # Compressed answers could be a thousand times larger than they look.
    given = {**(headers or {}), "Accept-Encoding": "identity"}
    return network.client(
        url,
        headers=given,
        timeout=timeout or httpx2.Timeout(CONNECT_S_MAX, read=READ_S_MAX),
        auth=auth,
        event_hooks={"request": [StreamLimiter()], "response": [_bound]},
    )


async def _bound(response: httpx2.Response) -> None:
    request = response.request
    if response.status_code == HTTPStatus.NOT_FOUND and "mcp-session-id" in request.headers:
        # Whatever it says: the server has not looked at the request, which can be sent once more.
        await _answer(response, INVALID_REQUEST, "no such session", SESSION_GONE)
        return
    if response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        text = f"it answers HTTP {response.status_code}: give `headers` that it accepts"
        raise UnauthorizedError(text)
    if response.headers.get("content-encoding", "identity") != "identity":
        raise TooMuchError("it compresses its answers, which was not asked for")
    stream = response.stream
    is_error = response.is_error and response.status_code != HTTPStatus.NOT_FOUND
    if is_error and request.method == "POST":  # the SDK tells neither its code nor its words
        body = await _head_of(response)
        if b'"jsonrpc"' in body:
            response.stream = httpx2.ByteStream(body)
            return
        words = " ".join(body.decode(errors="replace").split())
        text = f"it answers HTTP {response.status_code}{': ' if words else ''}{words}"
        await _answer(response, INTERNAL_ERROR, text)
    elif isinstance(stream, httpx2.AsyncByteStream):
        is_events = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = _Bounded(stream, is_events=is_events)


async def _answer(
    response: httpx2.Response, code: int, message: str, data: str | None = None
) -> None:
    """Put an error of the protocol in place of what the server sent."""
    error = {"code": code, "message": message, "data": data}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    if isinstance(response.stream, httpx2.AsyncByteStream):
        await response.stream.aclose()
    response.headers["content-type"] = "application/json"
    response.stream = httpx2.ByteStream(body)


async def _head_of(response: httpx2.Response) -> bytes:
    body = b""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        with anyio.move_on_after(ERROR_S_MAX):
            async for piece in response.stream:
                body += piece
                if len(body) >= ERROR_BYTES_MAX:
                    break
        await response.stream.aclose()
    return body[:ERROR_BYTES_MAX]


class _Bounded(httpx2.AsyncByteStream):
    """Ends a response that grows too large; a stream of events may go on for ever."""

    def __init__(self, inner: httpx2.AsyncByteStream, *, is_events: bool) -> None:
        self._inner = inner
        self._is_events = is_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held, objects = 0, 0
        async for piece in self._inner:
            ends = max(piece.rfind(b"\n\n"), piece.rfind(b"\n\r\n")) if self._is_events else -1
            held = len(piece) - ends if ends >= 0 else held + len(piece)
            if held > EVENT_BYTES_MAX:
                raise TooMuchError(f"it sent more than {EVENT_BYTES_MAX} bytes at once")
            objects = piece.count(OBJECT, max(ends, 0)) + (objects if ends < 0 else 0)
            if objects > OBJECTS_MAX:
                raise TooMuchError(f"it sent more than {OBJECTS_MAX} objects at once")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
