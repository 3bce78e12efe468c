"""A server that is a program of ours: JSON lines on its stdin and stdout, all of it bounded.

The SDK has such a transport too. This one bounds what is held of a line, takes no more than half
of the event loop, logs what the server prints instead of passing it on, and ends the whole tree.
"""

import json
import os
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, Self

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, JSONRPCMessage, jsonrpc_message_adapter

from wcore.supervisor.client import Held
from wcore.supervisor.client import Program as Started
from wcore.tools.mcp.environment import McpEnvironment, Stderr, find_program
from wcore.tools.mcp.server_config import OBJECT, OBJECTS_MAX, ServerConfig
from wcore.tools.process.child_environment import child_environment
from wcore.visible import whole

LINE_BYTES_MAX: Final = 8 * 1024 * 1024  # as on our own wire; a 5 MB image is 6.7 MB as base64
READ_BYTES: Final = 64 * 1024  # a pipe's default capacity on Linux
QUEUED_MAX: Final = 64  # messages to a server that does not read; it has been given up by then
WRITE_S_MAX: Final = 10.0  # a server that reads nothing for so long will not read again
RUBBISH_MAX: Final = 100  # lines that are no messages: a banner is borne, a stream is not
POLL_S: Final = 0.02  # while a server does not read
GRACE_S: Final = 0.3  # between SIGTERM and SIGKILL, as for shell calls
SIGNAL_EXIT: Final = 128  # how shells report a death by signal
CLOSED_INPUT: Final = "it closed its input"
LEAVE_S: Final = 0.5  # to end by itself when its stdin is closed; a host waits for us meanwhile

HEAD_BYTES: Final = 256  # of a line: where an answer says to what it is one
_ANSWER: Final = re.compile(rb'^\s*\{[^\[{]*"id"\s*:\s*(\d{1,15})\b')
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_In = MemoryObjectSendStream[SessionMessage | Exception]
_Answers = MemoryObjectSendStream[SessionMessage]
_Out = MemoryObjectReceiveStream[SessionMessage]


class StdioProcess:
    """One run of a server's program. `told` says how it ended, once `ended` is set."""

    def __init__(self, config: ServerConfig, environment: McpEnvironment) -> None:
        self._config = config
        self._environment = environment
        self._stderr = Stderr(config.name, environment.redact)
        self._rubbish = 0
        self.ended = anyio.Event()
        self._why = ""
        self._status: int | None = None

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[tuple[object, object], None]:
        """Start the program; yield what the SDK reads and writes. Leaving ends the whole tree.

        Raises:
            ServerConfigError: there is no such program.
            OSError: it cannot be started.
        """
        environ = {**child_environment(self._environment.environ), **(self._config.env or {})}
        program = find_program(self._config, environ)
        ours, theirs = _pipes()
        with ours:
            with theirs:
                command = (program, *self._config.args)
                held = await self._environment.start(
                    Started(command, self._config.cwd, environ, theirs.numbers, GRACE_S)
                )
            try:
                async with self._served(ours) as streams:
                    yield streams
            finally:
                with anyio.CancelScope(shield=True):
                    await self._end(held, ours)

    @asynccontextmanager
    async def _served(self, ours: "_Ends") -> AsyncGenerator[tuple[object, object], None]:
        inward, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outward = anyio.create_memory_object_stream[SessionMessage](QUEUED_MAX)
        stdin, stdout, stderr = ours.numbers
        async with anyio.create_task_group() as tasks, inward, read, write, outward:
            tasks.start_soon(self._read, stdout, inward, write)
            tasks.start_soon(self._write, stdin, outward, inward)
            tasks.start_soon(self._log, stderr)
            yield read, write
            tasks.cancel_scope.cancel()

    async def _end(self, held: Held, ours: "_Ends") -> None:
        """Close its stdin, wait a little, then end it with everything it has started."""
        ours.close_stdin()
        with anyio.move_on_after(LEAVE_S) as late:
            await held.exited()
        await held.end(GRACE_S)
        held.close()
        if held.status is not None:
            self._status = held.status if held.status >= 0 else SIGNAL_EXIT - held.status
        if self._status and self._why == CLOSED_INPUT and not late.cancelled_caught:
            self._why = ""  # how it ended says more: its input was closed by that

    # --- from the server --------------------------------------------------------------------------

    async def _read(self, pipe: int, inward: _In, answers: _Answers) -> None:
        """Read messages until the end of the output, or of our patience.

        A server that does not read our answers is not listened to meanwhile.
        """
        rest = bytearray()
        try:
            while data := await _next(pipe):
                began = anyio.current_time()
                rest += data
                if b"\n" in data and not await self._pass_on(rest, inward):
                    return
                if len(rest) > LINE_BYTES_MAX:
                    self._why = f"it sent a line longer than {LINE_BYTES_MAX} bytes"
                    return
                # Whoever floods us gets half of the loop, whatever a message costs.
                await anyio.sleep(anyio.current_time() - began)
                while answers.statistics().tasks_waiting_send:  # noqa: ASYNC110 - nothing tells us
                    await anyio.sleep(POLL_S)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # our side has ended
        finally:
            self.ended.set()  # known before anybody hears that no answer will come
            inward.close()

    async def _pass_on(self, rest: bytearray, inward: _In) -> bool:
        """Pass on the whole lines of `rest`; false when no more is wanted."""
        *lines, last = rest.split(b"\n")
        rest[:] = last
        for line in lines:
            if line.strip() and not await self._message(bytes(line), inward):
                return False
        return True

    async def _message(self, line: bytes, inward: _In) -> bool:
        if line.count(OBJECT) > OBJECTS_MAX:
            self._why = f"it sent a message of more than {OBJECTS_MAX} objects"
            return False
        try:
            message = jsonrpc_message_adapter.validate_json(_mended(line), by_name=False)
        except (ValueError, RecursionError):
            self._rubbish += 1
            self._why = "it prints what is no MCP message on its stdout"
            answered = _ANSWER.search(line[:HEAD_BYTES])
            if answered is None or self._rubbish >= RUBBISH_MAX:
                return self._rubbish < RUBBISH_MAX
            # Else its call would wait until it is late.
            message = _unreadable(int(answered[1]), line)
        await inward.send(SessionMessage(message))
        return True

    async def _log(self, stderr: int) -> None:
        """Log what the server prints for people, for as long as it lives."""
        while data := await _next(stderr):
            self._stderr.take(data)
        self._stderr.finish()

    # --- to the server ----------------------------------------------------------------------------

    async def _write(self, pipe: int, outward: _Out, inward: _In) -> None:
        """Write messages; a server that does not read them is given up."""
        try:
            async for each in outward:
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                with anyio.fail_after(WRITE_S_MAX):
                    await _send(pipe, text.encode(errors="replace") + b"\n")
        except TimeoutError:
            self._why = "it does not read its input"
        except OSError:
            self._why = CLOSED_INPUT
        self.ended.set()
        inward.close()  # whoever waits for an answer is told at once

    def told(self) -> str:
        """Return how the program ended, with the last thing it printed."""
        ended = "it ended" if self._status is None else f"it ended with exit code {self._status}"
        why, last = self._why or ended, self._stderr.last
        return f"{why}; it printed last: {last}" if last else why


class _Ends:
    """One end of each of a program's three pipes: stdin, stdout, stderr. Leaving closes them."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = (numbers[0], numbers[1], numbers[2])
        self._open = list(numbers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        while self._open:
            os.close(self._open.pop())

    def close_stdin(self) -> None:
        self._open.remove(self.numbers[0])
        os.close(self.numbers[0])


def _pipes() -> tuple[_Ends, _Ends]:
    """Return our ends, which do not block, and the program's."""
    (stdin, we_write), (we_read, stdout), (we_log, stderr) = os.pipe(), os.pipe(), os.pipe()
    for number in (we_write, we_read, we_log):
        os.set_blocking(number, False)
    return _Ends(we_write, we_read, we_log), _Ends(stdin, stdout, stderr)


def _unreadable(number: int, line: bytes) -> JSONRPCMessage:
    """Return what stands for an answer that cannot be read: why, and what error it tells of."""
    why = "it is no valid MCP"
    try:
        match json.loads(line):
            case {"error": {"message": str(said)} | str(said)}:
                why += f", and tells of an error: {said}"
            case _:
                pass
    except (ValueError, RecursionError):
        why = "it is no valid JSON"
    error = {"code": PARSE_ERROR, "message": whole(f"its answer cannot be read: {why}")}
    return jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", "id": number, "error": error})


def _mended(line: bytes) -> bytes:
    """Return a line without half characters, which some servers cut texts into."""
    if not _HALF.search(line):
        return line
    return whole(json.dumps(json.loads(line), ensure_ascii=False)).encode()


async def _next(pipe: int) -> bytes:
    while True:
        try:
            return os.read(pipe, READ_BYTES)
        except BlockingIOError:
            await anyio.wait_readable(pipe)


async def _send(pipe: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(pipe, rest) :]
        except BlockingIOError:
            await anyio.wait_writable(pipe)
