"""Stands between the engine and one server: when the engine is gone, so is all the server started.

Run as a program of its own: `warden.py LIFE_FD PROGRAM ARGUMENT…`. The engine holds the other end
of the pipe `LIFE_FD`; its end of file means that the engine has closed it or has died, by whatever
signal. Descendants cannot slip away: on Linux orphans are handed to us, and we look for them by
their parents. Only the standard library's smallest modules are used: one of us runs per server.
"""

import os
import select
import signal
import sys
import time
from contextlib import suppress

GRACE_S = 0.3  # between SIGTERM and SIGKILL, as for shell calls
DEATH_S_MAX = 2.0  # from SIGKILL to gone, unless the kernel itself is stuck
POLL_S = 0.01  # nothing tells us of the death of what is not our child
NOT_STARTED = 127  # how shells report a program that cannot be run
SIGNAL_EXIT = 128  # how shells report a death by signal
_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_FORWARD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD)


def main() -> int:
    """Run the server until it or the engine ends; return an exit code."""
    life, argv = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(life, False)  # noqa: FBT003 - it takes no name
    _adopt_orphans()
    for number in _FORWARD[:3]:
        signal.signal(number, signal.SIG_IGN)  # we go last, and by our own will
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, _noticed)
    try:
        server = os.posix_spawn(argv[0], argv, os.environ, setsigdef=_FORWARD)
    except OSError as error:
        os.write(2, f"{argv[0]} cannot be started: {error.strerror}\n".encode())
        return NOT_STARTED
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):  # the pipes are the server's alone: their end must be its end
        os.dup2(null, descriptor)
    status = _watch(server, life, wake)
    _end_all()
    return status


def _noticed(number: int, frame: object) -> None:
    """Let the wake-up pipe hear of it; a signal without a handler is not told there."""


def _watch(server: int, life: int, wake: int) -> int:
    while True:
        ready, _, _ = select.select([life, wake], [], [])
        if wake in ready:
            os.read(wake, 512)
        status = _reap(server)
        if status is not None:
            return status
        if life in ready:
            return 0


def _reap(server: int) -> int | None:
    """Reap what has died; return the server's exit code if it is among them."""
    found: int | None = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == server:
                code = os.waitstatus_to_exitcode(status)
                found = code if code >= 0 else SIGNAL_EXIT - code
    return found


def _end_all() -> None:
    if sys.platform != "linux":
        os.killpg(0, signal.SIGKILL)  # ourselves included
    _signal(_descendants(), signal.SIGTERM)
    _wait(GRACE_S)
    until = time.monotonic() + DEATH_S_MAX
    while (left := _descendants()) and time.monotonic() < until:
        _signal(left, signal.SIGKILL)
        _wait(POLL_S)


def _wait(seconds: float) -> None:
    until = time.monotonic() + seconds
    while _descendants() and time.monotonic() < until:
        time.sleep(POLL_S)


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _descendants() -> list[int]:
    """Return the living processes below us."""
    _reap(0)
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with (
                suppress(OSError, ValueError, IndexError),
                open(f"/proc/{name}/stat", "rb") as file,
            ):
                parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    return [pid for pid in parents if _is_below_us(pid, parents)]


def _is_below_us(pid: int, parents: dict[int, int]) -> bool:
    own, seen = os.getpid(), set[int]()
    while pid in parents and pid not in seen:
        seen.add(pid)
        pid = parents[pid]
        if pid == own:
            return True
    return False


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - there is no other way to it

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


if __name__ == "__main__":
    os._exit(main())
