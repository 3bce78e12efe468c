"""The second analysis of shell text, in a process that can be ended: none may hold up the engine.

The engine's side is `ShellWorker`, which is asked only before a text runs without a question: an
engine that grants nothing never starts the other side, `serve`. That answers one line for each line
that it reads, and ends when its input ends, so it never outlives the engine. Only there is bashlex
imported.

A question is a line `[nonce, text]`; its answer `[nonce, null]` confirms what our lexer saw, and
`[nonce, "parser_disagrees", [0, 5]]` does not. The socket between the two has no name that could be
opened, and the worker cannot be traced; and what does not repeat the random nonce of the question
at hand answers nothing: the worker is ended, and the text counts as unread.
"""

import gc
import json
import os
import resource
import secrets
import signal
import socket
from contextlib import suppress
from typing import Final

import anyio

from wcore.policy import shell
from wcore.policy.shell import Analysis, Reason
from wcore.supervisor.client import Supervisor, SupervisorError

WORK_S_MAX: Final = 0.5  # of CPU: a typical text takes 1 ms, the longest 0.2 s; it ends itself
DEADLINE_S: Final = 1.0  # however busy the machine is: who waits longer would rather be asked
START_S_MAX: Final = 10.0  # importing bashlex: 0.2 s on an idle machine, seconds on a busy one
MEMORY_BYTES_MAX: Final = 512 * 1024 * 1024  # bashlex needs a tenth of it for the longest text
ANSWER_BYTES_MAX: Final = 1024  # a nonce, a word, two numbers
READ_BYTES: Final = 64 * 1024  # what is often read at once
NONCE_BYTES: Final = 16  # more than anybody guesses

_READY: Final = "ready"


class ShellWorker:
    """Analyses shell texts, one at a time, in the order of the calls."""

    def __init__(self, supervisor: Supervisor, deadline_s: float = DEADLINE_S) -> None:
        self._supervisor = supervisor
        self._deadline_s = deadline_s
        self._lock = anyio.Lock()
        self._worker: _WorkerProcess | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The worker's process id, while there is one."""
        return self._worker.pid if self._worker else None

    async def confirm(self, analysis: Analysis) -> Analysis:
        """Return what our lexer saw in a text, or the reason why that is not confirmed.

        Waits for earlier calls, then `deadline_s` at most, or `START_S_MAX` if a worker must be
        started first. A worker that does not answer, or whose call is cancelled, is ended.
        """
        if analysis.reason is not None:
            return analysis
        async with self._lock:
            worker = await self._ready()
            if worker is None:
                return Analysis(analysis.text, reason=Reason.NO_ANALYST)
            return await self._asked(worker, analysis)

    async def close(self) -> None:
        """End the worker. Later calls get the reason `no_analyst`."""
        self._closed = True
        if self._worker:
            self._worker.hang_up()
        with anyio.CancelScope(shield=True):
            async with self._lock:
                await self._discard()

    async def _ready(self) -> "_WorkerProcess | None":
        """Return a worker that waits for a text, or `None` where there can be none."""
        if self._worker and self._worker.is_alive() and not self._closed:
            return self._worker
        await self._discard()
        if self._closed:
            return None
        is_ready = False
        try:
            self._worker = _WorkerProcess(*self._supervisor.worker())
            with anyio.move_on_after(START_S_MAX):
                is_ready = await self._worker.is_ready()
        except (SupervisorError, OSError, ValueError):  # no process, or it ended at once
            pass
        finally:
            if not is_ready:
                await self._discard()
        return self._worker

    async def _asked(self, worker: "_WorkerProcess", analysis: Analysis) -> Analysis:
        answer, reason = None, Reason.PARSER_FAILED
        asked_at = anyio.current_time()
        try:
            with anyio.move_on_after(self._deadline_s) as late:
                answer = await worker.answer(analysis)
            if late.cancelled_caught:
                reason = Reason.TIMEOUT
        except (OSError, ValueError):  # it has ended, or talks nonsense
            if anyio.current_time() - asked_at >= WORK_S_MAX:
                reason = Reason.TIMEOUT
        finally:
            if answer is None:
                await self._discard()
        return answer or Analysis(analysis.text, reason=reason)

    async def _discard(self) -> None:
        """End the worker and forget it; nobody may be waiting for it. It cannot be cancelled."""
        worker, self._worker = self._worker, None
        if worker:
            worker.hang_up()
            await self._supervisor.drop(worker.number)
            worker.close()


class _WorkerProcess:
    """One worker process as the engine sees it."""

    def __init__(self, link: socket.socket, number: int) -> None:
        self._link = link
        self.number = number
        self.pid = 0

    async def is_ready(self) -> bool:
        """Wait for its greeting.

        Raises:
            OSError, ValueError: as for `answer`.
        """
        word, self.pid = json.loads(await self._line())
        return word == _READY

    def is_alive(self) -> bool:
        """Tell whether it still listens; between two questions it has nothing to say."""
        try:
            self._link.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    async def answer(self, analysis: Analysis) -> Analysis:
        """Ask about a text and wait for the answer.

        Raises:
            OSError: the worker has ended.
            ValueError: the answer is none, or none to this question.
        """
        nonce = secrets.token_hex(NONCE_BYTES)
        left = memoryview(json.dumps([nonce, analysis.text]).encode() + b"\n")
        while left:
            try:
                left = left[self._link.send(left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._link)
        return _checked(nonce, analysis, await self._line())

    async def _line(self) -> bytes:
        received = bytearray()
        while not received.endswith(b"\n"):
            await anyio.wait_readable(self._link)
            with suppress(BlockingIOError):
                part = self._link.recv(READ_BYTES)
                if not part:
                    raise BrokenPipeError(self.pid)
                received += part
            if len(received) > ANSWER_BYTES_MAX:
                raise ValueError("the answer is too long")
        return bytes(received)

    def hang_up(self) -> None:
        """Let whoever waits for an answer know that there will be none."""
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._link.close()


def _checked(nonce: str, analysis: Analysis, line: bytes) -> Analysis:
    """Return `analysis` if `line` answers this one question with yes, else the reason it gives.

    Raises:
        ValueError: it is no answer to it.
    """
    match json.loads(line):
        case [str(repeated), *answer] if secrets.compare_digest(
            repeated.encode(errors="replace"), nonce.encode()
        ):
            pass
        case _:
            raise ValueError("the answer is to another question")
    match answer:
        case [None]:
            return analysis
        case [str(reason), None]:
            return Analysis(analysis.text, reason=Reason(reason))
        case [str(reason), [int(start), int(end)]]:
            return Analysis(analysis.text, reason=Reason(reason), span=(start, end))
        case _:
            raise ValueError("the answer is none")


def serve(link: socket.socket) -> None:
    """Answer each line with one line, until the engine ends."""
    with suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    os.chdir("/")
    shell.warm()
    gc.freeze()  # what we share with the engine is not looked through, and so not copied
    gc.enable()  # our parent has switched it off
    with suppress(BrokenPipeError, ConnectionResetError), link.makefile("rb") as questions:
        link.sendall(json.dumps([_READY, os.getpid()]).encode() + b"\n")
        for line in questions:
            signal.setitimer(signal.ITIMER_PROF, WORK_S_MAX)  # SIGPROF ends the process
            nonce, text = json.loads(line)
            analysis = shell.analyse(text)
            signal.setitimer(signal.ITIMER_PROF, 0)
            doubt = (None,) if analysis.reason is None else (analysis.reason, analysis.span)
            link.sendall(json.dumps([nonce, *doubt]).encode() + b"\n")
