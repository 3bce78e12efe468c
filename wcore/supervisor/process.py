"""The supervisor itself: a loop that forks holders and workers, and kills what they leave."""

import fcntl
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from wcore.supervisor import frames, kernel, process_tree
from wcore.supervisor.holder import PASS_S, PASS_S_MAX, hold
from wcore.supervisor.waker import Waker, reap

REQUEST_BYTES = 9  # a letter and a number
HOLDER = b"H"
WORKER = b"W"
DROP = b"D"
FIRST_PRIVATE_FD = 3  # 0 to 2 may be closed; what is opened there would be taken for stdio
BURIAL_S_MAX = 1.0  # the engine waits so long for what may not be killed
LAST_S_MAX = 3.0  # what lives so long after the engine cannot be killed by us
COUNT_MAX = 255  # of processes that may not be killed, as one byte

Work = Callable[[socket.socket], None]


def fork(work: Work) -> "tuple[socket.socket, int]":
    """Fork the supervisor; return the engine's end of its socket, and its process id.

    `work` is what a worker does. This process must have one thread.
    """
    ours, theirs = map(_private, socket.socketpair())
    pid = os.fork()
    if pid:
        theirs.close()
        return ours, pid
    try:
        ours.close()
        supervise(theirs, work)
    except BaseException as error:  # noqa: BLE001 - never back into what was forked
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        os._exit(0)


def supervise(link: socket.socket, work: Work) -> None:
    """Be the supervisor: closes what else is open, and returns when the engine and all are gone."""
    gc.disable()  # it would write to every page that we share with the engine
    link = _detached(link)
    os.chdir("/")  # no folder is in use because of us; each program is told its own
    os.setsid()
    kernel.conceal()
    kernel.adopt_orphans()
    kernel.tell_of_parents_death(signal.SIGCONT)
    engine = os.getppid()
    _Supervisor(link, {HOLDER: lambda theirs: hold(theirs, engine), WORKER: work}).run()


class _Supervisor:
    def __init__(self, link: socket.socket, roles: Mapping[bytes, Work]) -> None:
        self._link = link
        self._roles = roles
        self._waker = Waker()
        self._waker.hear(link)
        self._children: dict[int, tuple[bytes, int]] = {}  # by number: letter, process id
        self._burials: list[tuple[int, socket.socket, float]] = []  # of whom, who waits, how long
        self._passes = 0
        self._until: float | None = None  # the engine is gone; we go then at the latest

    def run(self) -> None:
        while self._tend():
            if self._waker.wait(self._wait_s()):
                self._listen()

    def _tend(self) -> bool:
        """Reap the dead, kill what nobody holds; false when there is nothing more to do."""
        ended, is_left = reap()
        for number, (_, pid) in list(self._children.items()):
            if pid in ended:
                del self._children[number]
        if self._until is not None and time.monotonic() >= self._until:
            process_tree.kill_all(process_tree.children_of(os.getpid()), process_tree.QUICK_PASSES)
            return False
        self._bury()
        return is_left or self._until is None

    def _bury(self) -> None:
        """Kill what a holder left behind that was killed itself."""
        known = {pid for _, pid in self._children.values()}
        strays = [pid for pid in process_tree.children_of(os.getpid()) if pid not in known]
        if strays:
            process_tree.kill_all(strays, self._passes)
        self._passes = self._passes + 1 if strays else 0
        now = time.monotonic()
        for burial in list(self._burials):
            number, waiting, until = burial
            is_buried = number not in self._children and not strays
            if is_buried or now >= until:
                self._burials.remove(burial)
                _answer(waiting, min(len(strays), COUNT_MAX))

    def _wait_s(self) -> "float | None":
        ends = [until for _, _, until in self._burials]
        ends += [self._until] if self._until is not None else []
        waits = [until - time.monotonic() for until in ends]
        if self._passes:
            waits.append(min(PASS_S * 2**self._passes, PASS_S_MAX))
        return min(waits, default=None)

    def _listen(self) -> None:
        try:
            data, descriptors = frames.receive(self._link, REQUEST_BYTES)
        except OSError:
            data, descriptors = b"", []
        if len(data) < REQUEST_BYTES or not descriptors:
            self._end()
            return
        letter, number = data[:1], int.from_bytes(data[1:], "big")
        theirs = socket.socket(fileno=descriptors[0])
        if letter == DROP:
            if number in self._children:
                process_tree.signal_all([self._children[number][1]], signal.SIGKILL)
            self._burials.append((number, theirs, time.monotonic() + BURIAL_S_MAX))
        else:
            self._fork(letter, number, theirs)

    def _fork(self, letter: bytes, number: int, theirs: socket.socket) -> None:
        try:
            pid = os.fork()
        except OSError as error:  # too many processes
            if letter == HOLDER:
                theirs.sendall(frames.packed(("failed", error.errno, None)))
        else:
            if pid == 0:
                self._be(letter, theirs)
            self._children[number] = letter, pid
        theirs.close()

    def _be(self, letter: bytes, theirs: socket.socket) -> None:
        """Work as a child of the supervisor; never returns."""
        try:
            self._waker.close()
            self._link.close()
            for _, waiting, _ in self._burials:
                waiting.close()
            self._roles[letter](theirs)
        except BaseException as error:  # noqa: BLE001 - never back into the loop
            sys.excepthook(type(error), error, error.__traceback__)
        finally:
            os._exit(0)

    def _end(self) -> None:
        """The engine is gone, and each holder hears it too; one that was stopped as well."""
        self._waker.ignore(self._link)
        self._until = time.monotonic() + LAST_S_MAX
        for letter, pid in self._children.values():
            process_tree.signal_all([pid], signal.SIGCONT if letter == HOLDER else signal.SIGKILL)


def _answer(waiting: socket.socket, left: int) -> None:
    with suppress(OSError):  # the engine is gone
        waiting.sendall(bytes([left]))
    waiting.close()


def _private(link: socket.socket) -> socket.socket:
    """Return the same socket under a number that is not stdio's."""
    with link:
        return socket.socket(
            fileno=fcntl.fcntl(link.fileno(), fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_FD)
        )


def _detached(link: socket.socket) -> socket.socket:
    """Close everything but `link`, stderr and `/dev/null`: the host must see our engine's ends."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(2):
        os.dup2(null, number)
    try:
        os.fstat(2)
    except OSError:
        os.dup2(null, 2)
    if (number := link.detach()) != FIRST_PRIVATE_FD:
        os.dup2(number, FIRST_PRIVATE_FD, inheritable=False)
    os.closerange(FIRST_PRIVATE_FD + 1, os.sysconf("SC_OPEN_MAX"))
    return socket.socket(fileno=FIRST_PRIVATE_FD)
