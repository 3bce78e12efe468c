"""Holds one program: starts it, tells how it ends, and ends whatever it has started.

A holder is over when nothing is left below it: the kernel gives it every orphan from below, so
`waitpid` knows, whatever the program did to hide.
"""

import errno
import fcntl
import os
import resource
import signal
import socket
import time
from contextlib import suppress

from wcore.supervisor import frames, kernel, process_tree
from wcore.supervisor.waker import CHANGED, Waker, reap

TYPE_CHECKING = False  # `typing` itself costs 0.6 MB
if TYPE_CHECKING:
    from typing import Any

PASS_S = 0.005  # between two rounds of killing, at first; most need one
PASS_S_MAX = 0.25  # a process that cannot be killed must not cost CPU time
OVERDUE_S = 1.0  # the engine ends a call that is over its time; later than that, it cannot
LEAVING_S = 0.05  # for what is about to exit when the program has: that is not ended by us
CORE_BYTES = 0  # soft limit: a dump would lie in the workspace, with secrets; `ulimit -c` lifts it


def hold(link: socket.socket, engine: int) -> None:
    """Do what the process `engine` asks over `link`, until nothing is left of the program."""
    parent = os.getppid()
    kernel.adopt_orphans()
    kernel.tell_of_parents_death(signal.SIGCONT)
    waker = Waker()
    received = _request(link)
    if received is None:
        return  # the engine changed its mind, or is gone
    (argv, cwd, environ, stdio, grace_s, limit_s, boundary, joins, links), descriptors = received
    its_own = len(descriptors) - joins
    try:
        for namespace in descriptors[its_own:]:
            kernel.join(namespace)
        kernel.mount_links(links)
        program = _started(argv, cwd, environ, _dealt(stdio, descriptors[:its_own]))
    except (OSError, ValueError) as error:  # a ValueError: what no program can be given
        number = error.errno if isinstance(error, OSError) else errno.EINVAL
        filename = error.filename if isinstance(error, OSError) else argv[0]
        _tell(link, ("failed", number, filename))
        return
    for descriptor in descriptors:
        os.close(descriptor)
    _tell(link, ("started", program))
    held = _Holder(link, waker, program, grace_s, parent, boundary=boundary)
    if limit_s is not None:
        held.limit(limit_s, engine)
    held.run()
    held.leave()


class _Holder:
    def __init__(
        self,
        link: socket.socket,
        waker: Waker,
        program: int,
        grace_s: float,
        parent: int,
        *,
        boundary: bool,
    ) -> None:
        self._link = link
        self._waker = waker
        self._program = program
        self._grace_s = grace_s
        self._parent = parent
        self._boundary = boundary
        self._frames = frames.Frames()
        self._kill_at: float | None = None  # when everything is killed; `None`: not yet asked for
        self._ask_at: float | None = None  # when everything is asked to end
        self._has_exited = False  # the program
        self._has_begun = False  # to end what is left: what exits from now on may do so by our hand
        self._passes = 0
        self._is_lost = False  # the supervisor was killed: the program's end is not its own
        self._overdue_at: float | None = None  # when the engine must have ended it
        self._is_overdue = False
        self._engine = 0
        self._is_alone = False  # the engine has let go of us, or is gone
        waker.hear(link)

    def limit(self, limit_s: float, engine: int) -> None:
        """End everything when it is over its time, and let the engine go on if it was stopped."""
        self._overdue_at = time.monotonic() + limit_s + OVERDUE_S
        self._engine = engine

    def run(self) -> None:
        while self._reap():
            if os.getppid() != self._parent:
                self._is_lost = True
                self._end(self._grace_s)
            now = time.monotonic()
            if self._overdue_at is not None and now >= self._overdue_at:
                self._overdue_at, self._is_overdue = None, True
                self._end(0)
            if self._ask_at is not None and now >= self._ask_at:
                self._ask()
            if self._kill_at is not None and now >= self._kill_at:
                self._kill()
                pause_s = min(PASS_S * 2**self._passes, PASS_S_MAX)
                self._passes += 1
                self._kill_at = time.monotonic() + pause_s
            ends = self._ask_at, self._kill_at, self._overdue_at
            times = [at for at in ends if at is not None]
            if self._waker.wait(min(times) - time.monotonic() if times else None):
                self._listen()

    def leave(self) -> None:
        """Tell that nothing is left. Only an engine that was stopped does not let go of us then."""
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_WR)
        until = self._overdue_at or 0  # it has been over its time
        while self._engine and not self._is_alone:
            left_s = until - time.monotonic()
            if left_s <= 0:
                process_tree.signal_all([self._engine], signal.SIGCONT)
                return
            if self._waker.wait(left_s):
                self._listen()

    def _reap(self) -> bool:
        """Reap what has died; false when nothing is left."""
        ended, is_left = reap()
        if self._program in ended and not self._is_lost:
            self._has_exited = True
            _tell(self._link, ("exited", ended[self._program], self._has_begun))
        return is_left

    def _listen(self) -> None:
        try:
            data = self._link.recv(frames.READ_BYTES)
        except OSError:
            data = b""
        if not data:
            self._is_alone = True
            self._waker.ignore(self._link)
            self._end(self._grace_s)
        self._frames.feed(data)
        while message := self._frames.next():  # "end", and nothing else
            self._end(message[1])

    def _end(self, grace_s: float) -> None:
        """Ask everything to end, and see to it after `grace_s` seconds."""
        now = time.monotonic()
        if self._kill_at is None and grace_s > 0:
            self._ask_at = now + LEAVING_S if self._has_exited else now
        until = max(now, self._ask_at or now) + grace_s
        self._kill_at = until if self._kill_at is None else min(until, self._kill_at)

    def _ask(self) -> None:
        """Ask what is left to end."""
        self._ask_at = None
        below = self._below()
        self._begin(below)
        asked = [pid for pid in below if pid != self._program] if self._boundary else below
        process_tree.signal_all(asked, signal.SIGTERM)

    def _begin(self, below: "list[int]") -> None:
        """Tell how many are going to be ended, if the program left them behind."""
        left = len(below) - self._boundary  # the first process of a PID namespace reaps the others
        if self._has_exited and left > 0 and not self._has_begun:
            _tell(self._link, ("left", left))
        self._has_begun = True

    def _kill(self) -> None:
        if not self._has_begun:  # what forks is not looked at first
            self._begin(self._below() if self._has_exited else [])
        if not kernel.ADOPTS:  # what has lost its parent is seen no more, but may be in the group
            with suppress(OSError):
                os.killpg(self._program, signal.SIGKILL)
        process_tree.kill_all(process_tree.children_of(os.getpid()), self._passes)
        if self._is_overdue:  # now that nothing is left to stop it again
            process_tree.signal_all([self._engine], signal.SIGCONT)

    def _below(self) -> "list[int]":
        return process_tree.with_all_below(process_tree.children_of(os.getpid()))


def _request(link: socket.socket) -> "tuple[tuple[Any, ...], list[int]] | None":
    found = frames.Frames()
    descriptors: list[int] = []
    while (request := found.next()) is None:
        try:
            data, more = frames.receive(link, frames.READ_BYTES)
        except OSError:
            return None
        if not data:
            return None
        descriptors += more
        found.feed(data)
    return request, descriptors


def _dealt(stdio: "list[bool]", descriptors: "list[int]") -> "list[int]":
    """Return what becomes descriptor 0, 1, 2 and, as far as there are more, those behind."""
    given = iter(descriptors)
    first = [next(given) if is_given else 0 for is_given in stdio]  # our own 0 is `/dev/null`
    return [*first, *given]


def _started(argv: "list[str]", cwd: str, environ: "dict[str, str]", stdio: "list[int]") -> int:
    os.chdir(cwd)
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (CORE_BYTES, hard))
    # None of them may be overwritten before it has been put in its place.
    apart = [fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, len(stdio)) for given in stdio]
    actions = [(os.POSIX_SPAWN_DUP2, given, number) for number, given in enumerate(apart)]
    try:
        return os.posix_spawn(
            argv[0],
            [_encoded(word) for word in argv],
            environ,
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=CHANGED,
        )
    finally:
        for descriptor in apart:
            os.close(descriptor)


def _encoded(word: str) -> bytes:
    """Return a word as the system has it; what its file names cannot spell goes as UTF-8."""
    try:
        return os.fsencode(word)
    except UnicodeEncodeError:
        return word.encode("utf-8", "surrogateescape")


def _tell(link: socket.socket, message: "tuple[Any, ...]") -> None:
    with suppress(OSError):  # the engine is gone, which `_listen` hears
        link.sendall(frames.packed(message))
