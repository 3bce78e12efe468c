"""The engine as a process: lines in both directions, its log drained, an end in bounded time."""

import os
import signal
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, Process

from wcore_host import decode
from wcore_host.errors import EngineStartError
from wcore_host.wire import Ends, HostEnd

STDERR_LINES_KEPT: Final = 50
STDERR_LINE_CHARS_KEPT: Final = 4000  # a traceback as one JSON line
EOF_GRACE_S: Final = 3.0  # an idle engine ends within milliseconds, a turn may need a moment
TERM_GRACE_S: Final = 3.0  # the protocol promises two seconds
KILL_GRACE_S: Final = 2.0  # an engine ends within two seconds of SIGTERM
DRAIN_GRACE_S: Final = 1.0  # a grandchild may hold stderr open for ever

Raw = tuple[bytes, str]  # a line and "", or the beginning of an overlong one and the problem


@dataclass(frozen=True)
class Start:
    """How an engine is started. `keys`, of providers and by name, go through a descriptor."""

    command: tuple[str, ...]
    cwd: str | None = None
    env: Mapping[str, str] | None = field(default=None, repr=False)  # the whole of it; None: ours
    keys: Mapping[str, str] | None = field(default=None, repr=False)


class EngineProcess:
    """A running engine. Its own session: a Ctrl-C in the host's terminal is the host's to give."""

    def __init__(self, process: Process, stdin: HostEnd, stdout: HostEnd) -> None:
        assert process.stderr is not None
        self._process = process
        self._stdin = stdin
        self._stdout = stdout
        self._stderr: ByteReceiveStream = process.stderr
        self._log: deque[str] = deque(maxlen=STDERR_LINES_KEPT)
        self.log_drained = anyio.Event()

    @classmethod
    async def spawn(cls, start: Start) -> "EngineProcess":
        """Start an engine.

        Raises:
            EngineStartError: there is no such program or folder, or it may not be run.
        """
        with Ends(start.keys) as ends:
            try:
                process = await anyio.open_process(
                    [*start.command, *ends.flags],
                    stdin=ends.stdin.fileno(),
                    stdout=ends.stdout.fileno(),
                    stderr=subprocess.PIPE,
                    cwd=start.cwd,
                    env=start.env,
                    start_new_session=True,
                    pass_fds=ends.passed,
                )
            except OSError as error:
                raise EngineStartError(_problem(error, start.command[0], start.cwd)) from error
            return cls(process, *ends.kept())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr_tail(self) -> list[str]:
        """The last lines of the engine's log."""
        return list(self._log)

    async def write(self, data: bytes) -> None:
        """Write all of `data`; raises what anyio raises when the engine no longer reads."""
        await self._stdin.send(data)

    async def close_input(self) -> None:
        """Let the engine see the end of its input."""
        self._stdin.finish()

    async def lines(self) -> AsyncIterator[Raw]:
        """Yield stdout line by line until it ends; blank lines are skipped."""
        buffer = bytearray()
        skipping = False
        searched = 0
        while data := await self._stdout.receive():
            buffer += data
            while (end := buffer.find(b"\n", searched)) >= 0:
                line, skipped = bytes(buffer[:end]).strip(), skipping
                del buffer[: end + 1]
                searched, skipping = 0, False
                if line and not skipped:
                    yield line, ""
            searched = len(buffer)
            if searched >= decode.LINE_BYTES_MAX:
                if not skipping:
                    yield bytes(buffer[: decode.GARBLED_CHARS_SHOWN]), "a line over 8 MiB"
                buffer.clear()
                searched, skipping = 0, True
        if buffer.strip() and not skipping:
            yield bytes(buffer), "an unfinished last line"

    async def drain_log(self) -> None:
        """Read stderr until it ends, keeping the last lines."""
        rest = b""
        try:
            async for data in self._stderr:
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._keep(line)
                rest = rest[-STDERR_LINE_CHARS_KEPT:]
            self._keep(rest)
        finally:
            self.log_drained.set()

    async def wait(self, limit_s: float) -> int | None:
        """Return the exit code (negative: a signal), or `None` if it is still running."""
        with anyio.move_on_after(limit_s):
            code = await self._process.wait()
            with anyio.move_on_after(DRAIN_GRACE_S):
                await self.log_drained.wait()
            return code
        return self._process.returncode

    async def end(self) -> None:
        """End the process: end of input, then TERM, then KILL, each with its own patience."""
        await self.close_input()
        if await self.wait(EOF_GRACE_S) is not None:
            return
        self._signal(signal.SIGTERM)
        if await self.wait(TERM_GRACE_S) is not None:
            return
        self._signal(signal.SIGKILL)
        await self.wait(KILL_GRACE_S)

    async def release(self) -> None:
        """Close our ends of everything."""
        self._stdin.close()
        self._stdout.close()
        await self._process.aclose()

    def _signal(self, number: signal.Signals) -> None:
        try:
            if number is signal.SIGKILL:
                os.killpg(self.pid, number)  # it leads its own session, and so its own group
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            pass  # it ended in the meantime

    def _keep(self, line: bytes) -> None:
        text = line[:STDERR_LINE_CHARS_KEPT].decode(errors="replace").rstrip()
        if text:
            self._log.append(text)


def _problem(error: OSError, program: str, cwd: str | None) -> str:
    """Return what kept `program` from being started, as a person understands it."""
    if cwd is not None and error.filename == cwd:
        return f"cannot work in the folder {cwd}: {error.strerror}"
    if isinstance(error, FileNotFoundError):
        return f"program not found: {program}"
    return f"cannot start {program}: {error.strerror or error}"
