"""The engine's side: `start` a program, wait until it has `exited`, `end` all that it started."""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import anyio
from msgspec import Struct

from wcore.errors import ToolError
from wcore.supervisor import frames, holder, kernel, process, process_tree
from wcore.supervisor.waker import reap

START_S_MAX: Final = 10.0  # a fork and an exec, on a machine that is busy or short of memory
NUDGE_S: Final = 1.0  # then the supervisor has been stopped, and is told to go on
HOLDER_S_MAX: Final = 1.0  # a holder that takes longer to kill everything was stopped itself
BURIAL_S_MAX: Final = 1.5  # the supervisor answers after a second, with how many it may not kill
DEATH_S_MAX: Final = 0.1  # from the end of the supervisor's socket to its own
LEAVE_S_MAX: Final = 4.0  # the supervisor gives up after three

GONE: Final = (
    "the process that starts all others has been killed: nothing can be started any more. "
    "End this engine and start it again (with --resume to go on with this session)"
)
SILENT: Final = (
    "the process that starts all others does not answer: the machine is overloaded, or it has been "
    "stopped. Try again; if that does not help, end this engine and start it again"
)


class SupervisorError(ToolError):
    """There is no supervisor any more, or it does not answer."""


class Program(Struct, frozen=True):
    """What to run: absolute paths, the whole environment; `None` in `stdio` is `/dev/null`.

    The descriptors stay the caller's, to close once the program is started. When the engine ends,
    however it ends, everything gets SIGTERM and `grace_s` seconds, then SIGKILL. After `limit_s`
    seconds, and a little more, the holder ends everything by itself: the engine may be stopped.
    `more` are descriptors that the program has as 3, 4, …. One that is the `boundary` of a PID
    namespace is not asked to end itself, only what runs within. `joins` are descriptors of
    namespaces that it is started in, that of the user first; it does not have them itself. `links`
    are mounted for it, each a symbolic link and the file in whose place it is then.
    """

    argv: Sequence[str]
    cwd: str
    environ: Mapping[str, str]
    stdio: tuple[int | None, int | None, int | None]
    grace_s: float = 0.0
    limit_s: float | None = None
    more: Sequence[int] = ()
    boundary: bool = False
    joins: Sequence[int] = ()
    links: Sequence[tuple[str, str]] = ()


class Supervisor:
    """The engine's end of the supervisor's socket. One thread uses it at a time."""

    def __init__(self, link: socket.socket, pid: int | None = None) -> None:
        """Take what `process.fork` returned; `pid` is `None` where it is no child of ours."""
        link.setblocking(False)  # noqa: FBT003 - it takes no name
        self._link = link
        self._pid = pid
        self._number = 0
        self._is_dead = False  # it was our child, and somebody has killed it

    async def start(self, program: Program) -> "Held":
        """Start a program. Cancelling leaves nothing behind.

        Raises:
            OSError: it cannot be started; `filename` says which program or folder.
            SupervisorError: nothing can be started.
        """
        link, number = self._fork(process.HOLDER)
        held = Held(self, link, number)
        try:
            with anyio.fail_after(START_S_MAX):
                await held.begin(program)
        except TimeoutError as error:
            await held.abandon()
            raise SupervisorError(SILENT) from error
        except BaseException:
            await held.abandon()
            raise
        return held

    def worker(self) -> tuple[socket.socket, int]:
        """Fork a shell worker; return the socket to it, and its number.

        Raises:
            SupervisorError: there is no supervisor any more.
        """
        return self._fork(process.WORKER)

    async def drop(self, number: int) -> int:
        """Kill a child of the supervisor and whatever it held; return how many may not be killed.

        It cannot be cancelled; it takes `BURIAL_S_MAX` seconds at most.
        """
        with anyio.CancelScope(shield=True):
            if answer := await self._buried(number):
                return answer[0]
            return await self._inherit()
        raise AssertionError("the scope is never cancelled")

    async def _buried(self, number: int) -> bytes:
        """Let the supervisor kill a child; return its answer, which is empty if it is dead."""
        with suppress(SupervisorError, OSError), anyio.move_on_after(BURIAL_S_MAX):
            link, _ = self._fork(process.DROP, number)
            with link:
                self.nudge()
                await anyio.wait_readable(link)
                return link.recv(1)
        return b""

    def adopt_orphans(self) -> None:
        """Be the next to get what a supervisor leaves that somebody has killed."""
        kernel.adopt_orphans()

    async def _inherit(self) -> int:
        """Without a supervisor, what it held falls to us: kill it; return how many are left."""
        left, passes = self._kill_inherited(0), 0
        until = anyio.current_time() + BURIAL_S_MAX
        while left and anyio.current_time() < until:
            await anyio.sleep(holder.PASS_S)
            passes += 1
            left = self._kill_inherited(passes)
        return left

    def _kill_inherited(self, passes: int) -> int:
        """Kill all below us, if the supervisor was ours and is dead; return how many there are."""
        if self._pid is not None:
            if not _has_ended(self._pid, DEATH_S_MAX):
                return 0
            self._pid, self._is_dead = None, True
        if not self._is_dead:
            return 0
        reap()
        left = process_tree.children_of(os.getpid())
        process_tree.kill_all(left, passes)
        return len(left)

    def nudge(self) -> None:
        """Let the supervisor go on, should somebody have stopped it."""
        if self._pid is not None:
            os.kill(self._pid, signal.SIGCONT)

    def close(self) -> None:
        """End the supervisor and all that it holds. Blocks, `LEAVE_S_MAX` seconds at most."""
        self._link.close()
        pid, self._pid = self._pid, None
        if pid is not None:
            os.kill(pid, signal.SIGCONT)
            self._is_dead = True
            if not _has_ended(pid, LEAVE_S_MAX):
                process_tree.kill_all([pid], process_tree.QUICK_PASSES)
        until = time.monotonic() + BURIAL_S_MAX
        passes = 0
        while self._kill_inherited(passes) and time.monotonic() < until:
            time.sleep(holder.PASS_S)
            passes += 1

    def _fork(self, letter: bytes, number: int = 0) -> tuple[socket.socket, int]:
        if not number:
            self._number = number = self._number + 1
        ours, theirs = socket.socketpair()
        request = letter + number.to_bytes(process.REQUEST_BYTES - 1, "big")
        try:
            with theirs:
                self._link.sendmsg([request], frames.attached([theirs.fileno()]))
        except OSError as error:
            ours.close()
            blocked = isinstance(error, BlockingIOError)
            raise SupervisorError(SILENT if blocked else GONE) from error
        ours.setblocking(False)  # noqa: FBT003
        return ours, number


class Held:
    """One program that runs, with everything it started. One task waits at a time."""

    def __init__(self, supervisor: Supervisor, link: socket.socket, number: int) -> None:
        self._supervisor = supervisor
        self._link = link
        self._number = number
        self._frames = frames.Frames()
        self._is_over = False  # nothing is left, or the holder is dead
        self.pid = 0
        self.left_behind = 0  # processes there were when the program had exited, all ended with it
        self.status: int | None = None  # as `subprocess` gives it; `None`: not known (yet)
        self.was_ended = False  # the program had not exited when its holder began to end it

    async def begin(self, program: Program) -> None:
        """Say what is to be started, and wait until it is."""
        given = [descriptor for descriptor in program.stdio if descriptor is not None]
        request = frames.packed(
            (
                list(program.argv),
                program.cwd,
                dict(program.environ),
                [descriptor is not None for descriptor in program.stdio],
                program.grace_s,
                program.limit_s,
                program.boundary,
                len(program.joins),
                list(program.links),
            )
        )
        try:
            await self._send(request, [*given, *program.more, *program.joins])
        except OSError as error:
            raise SupervisorError(GONE) from error
        message = None
        with anyio.move_on_after(NUDGE_S):
            message = await self._next()
        if message is None and not self._is_over:
            self._supervisor.nudge()
            message = await self._next()
        if message is None:
            raise SupervisorError(GONE)
        if message[0] == "failed":
            _, number, name = message
            raise OSError(number, os.strerror(number), name)
        self.pid = message[1]

    async def exited(self) -> int | None:
        """Wait for the program's end. `None`: its holder was killed, with all that it held."""
        while self.status is None and not self._is_over:
            await self._hear()
        return self.status

    async def end(self, grace_s: float) -> int:
        """End all that is left: SIGTERM, `grace_s` seconds, SIGKILL; wait until it is dead.

        Returns how many could not be killed, as they run as somebody else. May be called again.
        """
        with suppress(OSError):  # it is over
            self._link.send(frames.packed(("end", grace_s)))
        return await self._over(grace_s)

    async def abandon(self) -> None:
        """End all that is left, whatever has been said so far. It cannot be cancelled."""
        with anyio.CancelScope(shield=True):
            with suppress(OSError):
                self._link.shutdown(socket.SHUT_WR)
            await self._over(0)
        self.close()

    def close(self) -> None:
        """Let go of the holder; what is left of the program is ended."""
        self._link.close()

    async def _over(self, grace_s: float) -> int:
        with anyio.move_on_after(grace_s + HOLDER_S_MAX):
            while not self._is_over:
                await self._hear()
        if self._is_over and self.status is not None:
            return 0
        # Stopped, or killed, or it holds what it cannot kill; all of that is now the supervisor's.
        return await self._supervisor.drop(self._number)

    async def _hear(self) -> None:
        message = await self._next()
        if message is not None and message[0] == "exited":
            _, self.status, self.was_ended = message
        elif message is not None and message[0] == "left":
            self.left_behind = message[1]

    async def _next(self) -> "tuple[Any, ...] | None":
        """Return the next message; `None` once, when the holder is over."""
        while (message := self._frames.next()) is None:
            await anyio.wait_readable(self._link)
            try:
                data = self._link.recv(frames.READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if not data:
                self._is_over = True
                return None
            self._frames.feed(data)
        return message

    async def _send(self, data: bytes, descriptors: list[int]) -> None:
        left = memoryview(data)
        while left:
            try:
                sent = self._link.sendmsg([left], frames.attached(descriptors))
            except BlockingIOError:
                await anyio.wait_writable(self._link)
            else:
                left, descriptors = left[sent:], []


def _has_ended(pid: int, seconds: float) -> bool:
    """Wait for the end of a child, and reap it."""
    if hasattr(os, "pidfd_open"):
        handle = os.pidfd_open(pid)
        ended = select.poll()
        ended.register(handle, select.POLLIN)
        ended.poll(seconds * 1000)
        os.close(handle)
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    waiting = threading.Thread(target=os.waitpid, args=(pid, 0), daemon=True)
    waiting.start()
    waiting.join(seconds)
    return not waiting.is_alive()
