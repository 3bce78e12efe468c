"""What lets a process of ours wait for sockets, deaths and the time, all at once."""

import os
import select
import signal
import socket

#: What a program may send us, and the terminal too: we end when our work is done.
IGNORED = (
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF),
    *(signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
)
#: What a program that we start gets back as it is by default.
CHANGED = (*IGNORED, signal.SIGCHLD, signal.SIGCONT, signal.SIGXFSZ)
WAKE_BYTES = 4096  # more signals than wait at once


class Waker:
    """Waits. SIGCHLD ends a wait, and SIGCONT, which also tells of a parent's death."""

    def __init__(self) -> None:
        """Take over the signals. A process just forked must make one of its own."""
        self._wake, self._woken = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._woken, False)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGCONT):
            signal.signal(number, _noticed)
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)

    def close(self) -> None:
        """Hear of nothing any more: for a process just forked."""
        signal.set_wakeup_fd(-1)
        os.close(self._wake)
        os.close(self._woken)

    def hear(self, link: socket.socket) -> None:
        self._poll.register(link, select.POLLIN)

    def ignore(self, link: socket.socket) -> None:
        self._poll.unregister(link)

    def wait(self, seconds: "float | None") -> "set[int]":
        """Return which sockets can be read, after `seconds` at most; perhaps none."""
        ready = self._poll.poll(None if seconds is None else max(0, seconds) * 1000)
        found = {descriptor for descriptor, _ in ready}
        if self._wake in found:
            os.read(self._wake, WAKE_BYTES)
        return found - {self._wake}


def reap() -> "tuple[dict[int, int], bool]":
    """Wait for all children that have ended: exit code by process id, and whether any is left."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, True
        ended[pid] = os.waitstatus_to_exitcode(status)


def _noticed(number: int, frame: object) -> None:
    """Let the wake-up pipe hear of it; a signal without a handler is not told there."""
