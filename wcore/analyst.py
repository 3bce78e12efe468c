"""Reads shell text in a process of its own, which can be ended: no text may hold up the engine.

The engine's side is `Analyst`. The other side is `main`: it answers one line for each line that it
reads, and ends when its input ends, so it never outlives the engine. Only there is the second
analysis, bashlex, imported. It is imported from where the interpreter has its packages, never from
the workspace or from what the environment says.
"""

import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Final, cast

import anyio
from anyio import to_thread

import wcore
from wcore.policy import shell
from wcore.policy.shell import Analysis, Reason

DEADLINE_S: Final = 0.25  # a typical text takes 1 ms; who waits longer would rather be asked
START_S_MAX: Final = 5.0  # starting python and importing bashlex: 0.4 s on an idle machine
WORK_S_MAX: Final = 1.0  # of CPU; then the worker ends itself, should nobody be left to end it
DEATH_S_MAX: Final = 1.0  # from SIGKILL to gone
MEMORY_BYTES_MAX: Final = 512 * 1024 * 1024  # bashlex needs a tenth of it for the longest text
ANSWER_BYTES_MAX: Final = 4 * 1024 * 1024  # a word takes 30 bytes; a text has at most 8,192 words
READ_BYTES: Final = 64 * 1024  # a pipe's default capacity on Linux

_READY: Final = b"ready\n"
_BOOT: Final = "import sys; sys.path.append(sys.argv.pop()); from wcore.analyst import main; main()"


class Analyst:
    """Analyses shell texts, one at a time, in the order of the calls."""

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        self._deadline_s = deadline_s
        self._lock = anyio.Lock()
        self._worker: _Worker | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The worker's process id, while there is one."""
        return self._worker.pid if self._worker else None

    async def warm(self) -> None:
        """Start the worker now rather than on the first text."""
        async with self._lock:
            await self._ready()

    async def analyse(self, text: str) -> Analysis:
        """Return what `shell.analyse` returns, or a reason why there is no answer.

        Waits for earlier calls, then `deadline_s` at most, or `START_S_MAX` if a worker must be
        started first. A worker that does not answer, or whose call is cancelled, is ended.
        """
        if len(text) > shell.TEXT_BYTES_MAX:
            return Analysis(text, reason=Reason.TOO_LONG)
        async with self._lock:
            worker = await self._ready()
            if worker is None:
                return Analysis(text, reason=Reason.NO_ANALYST)
            return await self._asked(worker, text)

    async def close(self) -> None:
        """End the worker. Later calls get the reason `no_analyst`."""
        self._closed = True
        if self._worker:
            self._worker.kill()
        with anyio.CancelScope(shield=True):
            async with self._lock:
                self._discard()

    async def _ready(self) -> "_Worker | None":
        """Return a worker that waits for a text, or `None` where there can be none."""
        if self._worker and self._worker.is_alive and not self._closed:
            return self._worker
        self._discard()
        if self._closed:
            return None
        greeting = None
        try:
            # In a thread that is waited for: no cancellation can lose a process just started.
            self._worker = await to_thread.run_sync(_Worker)
            with anyio.move_on_after(START_S_MAX):
                greeting = await self._worker.line()
        except OSError:  # no process, or it ended at once
            pass
        finally:
            if greeting != _READY:
                self._discard()
        return self._worker

    async def _asked(self, worker: "_Worker", text: str) -> Analysis:
        answer, reason = None, Reason.PARSER_FAILED
        try:
            with anyio.move_on_after(self._deadline_s) as late:
                answer = await worker.answer(text)
            if late.cancelled_caught:
                reason = Reason.TIMEOUT
        except (OSError, ValueError):  # it has ended, or talks nonsense
            pass
        finally:
            if answer is None:
                self._discard()  # its answer, should it come, would be taken for the next one
        return answer or Analysis(text, reason=reason)

    def _discard(self) -> None:
        if self._worker:
            self._worker.end()
        self._worker = None


class _Worker:
    """One worker process as the engine sees it."""

    def __init__(self) -> None:
        """Start it. Blocks until the program runs."""
        root = os.path.dirname(os.path.dirname(os.path.abspath(wcore.__file__)))
        library_path = os.environ.get("LD_LIBRARY_PATH")
        self._process = subprocess.Popen(
            (sys.executable, "-I", "-c", _BOOT, root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"LD_LIBRARY_PATH": library_path} if library_path else {},
            start_new_session=True,  # a Ctrl-C in the terminal is not for it
            bufsize=0,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    async def answer(self, text: str) -> Analysis:
        """Send a text and wait for its analysis.

        Raises:
            OSError: the worker has ended.
            ValueError: the answer is none.
        """
        left = memoryview(json.dumps(text).encode() + b"\n")
        while left:
            with suppress(BlockingIOError):
                left = left[os.write(self._to, left) :]
                continue
            await anyio.wait_writable(self._to)
        return Analysis.from_plain(text, json.loads(await self.line()))

    async def line(self) -> bytes:
        """Read one line.

        Raises:
            OSError: the worker has ended.
            ValueError: the line is too long.
        """
        received = bytearray()
        while not received.endswith(b"\n"):
            await anyio.wait_readable(self._from)
            part = os.read(self._from, READ_BYTES)
            if not part:
                raise BrokenPipeError(self.pid)
            received += part
            if len(received) > ANSWER_BYTES_MAX:
                raise ValueError("the answer is too long")
        return bytes(received)

    def kill(self) -> None:
        """End the process; whoever waits for its answer is told."""
        self._process.kill()

    def end(self) -> None:
        """End the process and forget it; nobody may be waiting for it."""
        self.kill()
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        with suppress(subprocess.TimeoutExpired):  # stuck in the kernel
            self._process.wait(DEATH_S_MAX)


def main() -> None:
    """Answer each line on stdin, a JSON string, with one line on stdout, until stdin ends."""
    with suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    with os.fdopen(os.dup(1), "wb") as out, suppress(BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a stray print is no answer
        shell.warm()
        out.write(_READY)
        out.flush()
        for line in sys.stdin.buffer:
            signal.setitimer(signal.ITIMER_PROF, WORK_S_MAX)  # SIGPROF ends the process
            analysis = shell.analyse(cast("str", json.loads(line)))
            signal.setitimer(signal.ITIMER_PROF, 0)
            out.write(json.dumps(analysis.to_plain()).encode() + b"\n")
            out.flush()
