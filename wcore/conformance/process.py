"""One process under judgement: bytes in, lines out, nothing read before somebody asks for it."""

import json
import os
import shutil
import signal
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

import anyio
from anyio.abc import Process

from wcore.conformance.json_object import JsonObject
from wcore.errors import UsageError

LINE_BYTES_MAX: Final = 8 * 1024 * 1024  # the protocol's own, newline included
READ_BYTES: Final = 1024 * 1024  # what one read may take
LOG_BYTES_MAX: Final = 2000  # of stderr in a report


class LineError(Exception):
    """What came is no event; the line itself, if there is one, is in `line`."""

    def __init__(self, message: str, line: bytes = b"") -> None:
        super().__init__(message)
        self.line = line


class Child:
    """A running engine (or host). Use `started`, then `close`."""

    def __init__(self, process: Process, stdout: int, log: Path) -> None:
        self._process = process
        self._stdout = stdout
        self._log = log
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self.at_end = False

    @classmethod
    async def started(
        cls, argv: Sequence[str], cwd: Path, env: Mapping[str, str], log: Path
    ) -> "Child":
        """Start `argv` in a process group of its own.

        Raises:
            OSError: it cannot be started.
        """
        ours, theirs = os.pipe()
        try:
            with log.open("ab") as stderr:
                process = await anyio.open_process(
                    argv, cwd=cwd, env=env, stdout=theirs, stderr=stderr, start_new_session=True
                )
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return cls(process, ours, log)

    @property
    def exit_code(self) -> int | None:
        """How it ended, if it did."""
        return self._process.returncode

    async def send(self, data: bytes) -> None:
        """Write to its stdin.

        Raises:
            anyio.BrokenResourceError: it closed its stdin.
        """
        assert self._process.stdin
        await self._process.stdin.send(data)

    async def close_stdin(self) -> None:
        """End its input."""
        if self._process.stdin:
            await self._process.stdin.aclose()

    def close_stdout(self) -> None:
        """Go away as a reader."""
        if self._stdout >= 0:
            os.close(self._stdout)
            self._stdout = -1

    def signal(self, number: int) -> None:
        """Send a signal to the process alone."""
        if self.exit_code is None:  # not by `send_signal`, which may take the exit status away
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    async def line(self) -> bytes:
        """Return the next line of stdout, without its newline.

        Raises:
            LineError: it is longer than a line may be, or cut off.
            anyio.EndOfStream: there is none.
        """
        while not self._lines:
            if self._stdout < 0:
                raise anyio.EndOfStream
            await anyio.wait_readable(self._stdout)
            data = os.read(self._stdout, READ_BYTES)
            if not data:
                self.at_end = True
                if self._rest:
                    rest, self._rest = self._rest, b""
                    raise LineError("stdout ends in the middle of a line", rest)
                raise anyio.EndOfStream
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._lines.extend(lines)
            if len(self._rest) >= LINE_BYTES_MAX:
                raise LineError("a line of stdout is longer than 8 MiB", self._rest[:200])
        return self._lines.popleft()

    async def event(self) -> JsonObject:
        """Return the next event. Raises what `line` raises, and `LineError` if it is none."""
        line = await self.line()
        if len(line) + 1 > LINE_BYTES_MAX:
            raise LineError("a line of stdout is longer than 8 MiB", line[:200])
        return parsed(line)

    def waiting(self) -> list[bytes]:
        """Return the lines that are read and not looked at."""
        return list(self._lines)

    async def wait(self) -> int:
        """Return its exit code, when it has ended."""
        return await self._process.wait()

    def log_tail(self) -> str:
        """Return the end of what it wrote to stderr."""
        try:
            return self._log.read_bytes()[-LOG_BYTES_MAX:].decode(errors="replace")
        except OSError:
            return ""

    async def close(self) -> None:
        """Kill whatever is left of it and its group."""
        await killed(self._process)
        self.close_stdout()


async def killed(process: Process) -> None:
    """Kill whatever is left of a process that leads its group, and of the group."""
    with anyio.CancelScope(shield=True):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.aclose()


def absolute(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command that can be run from anywhere: words that name a file here are absolute.

    Raises:
        UsageError: there is no such program.
    """
    program = shutil.which(words[0])
    if program is None:
        raise UsageError(f"program not found: {words[0]}")
    rest = (os.path.abspath(word) if os.path.isfile(word) else word for word in words[1:])
    return os.path.abspath(program), *rest


def parsed(line: bytes) -> JsonObject:
    """Return the event in a line.

    Raises:
        LineError: it is none.
    """
    try:
        event = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise LineError(f"a line of stdout is no JSON in UTF-8: {error}", line) from None
    if not isinstance(event, dict) or not isinstance(cast("JsonObject", event).get("type"), str):
        raise LineError("a line of stdout is no object with a string `type`", line)
    return cast("JsonObject", event)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for one case, which goes away with it."""
    return tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True)
