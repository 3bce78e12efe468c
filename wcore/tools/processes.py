"""The processes of one shell call or one server: started together, and all dead when it is over.

Three things tell that a process belongs to the call: it is in the shell's session, it inherited
the call's marker in its environment, or it still holds the call's output pipe. Its descendants
belong too. On Linux the engine adopts orphans, so that none is out of sight.
"""

import os
import secrets
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

import anyio

from wcore.tools.deaths import POLL_S, Deaths
from wcore.tools.descendants import children, descendants

if TYPE_CHECKING:
    import psutil

GRACE_S: Final = 0.3  # between SIGTERM and SIGKILL
DEATH_S_MAX: Final = 2.0  # a host expects `stop` to be over within this
EXEC_S: Final = 0.005  # a process that just starts a program has no environment for a moment
EXEC_LOOKS: Final = 10
BARE_MAX: Final = 256  # many more than there ever are; then all are looked at again
MARKER: Final = "WCORE_CALL"
STALE_S: Final = 2.0  # nobody who means to wait for a child waits that long
_SET_CHILD_SUBREAPER: Final = 36  # linux/prctl.h
_GONE: Final = (ProcessLookupError, PermissionError)
_bare: set["psutil.Process"] = set()  # what has no environment, and not for a moment only
_zombies: dict[tuple[int, float], float] = {}  # when each dead orphan was first seen


def warm() -> None:
    """Load what looks at processes, in any thread: 25 ms that the first call need not pay.

    Where that fails, the first call does, and says why.
    """
    with suppress(Exception):
        import_module("psutil")


@cache
def adopt_orphans() -> bool:
    """Make this process the parent of orphaned descendants (Linux); once is enough."""
    if sys.platform != "linux":
        return False
    import ctypes  # noqa: PLC0415 - not before the first call

    return ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


class CallTree:
    """One shell and everything that it started."""

    def __init__(
        self,
        argv: Sequence[str],
        cwd: str,
        environ: Mapping[str, str],
        *,
        talks: bool = False,
        inherited_fd: int | None = None,
    ) -> None:
        """Start `argv` in its own session. Blocks until exec.

        stdout and stderr are one pipe and there is no input; one that `talks` has three pipes.
        """
        adopt_orphans()
        self._marker = secrets.token_hex(16)
        self._shell = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**environ, MARKER: self._marker},
            stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if talks else subprocess.STDOUT,
            start_new_session=True,
            pass_fds=() if inherited_fd is None else (inherited_fd,),
            bufsize=0,
        )
        assert self._shell.stdout is not None
        self.pipe = self._shell.stdout.fileno()
        self.stdin, self.stderr = self._shell.stdin, self._shell.stderr
        for pipe in filter(None, (self._shell.stdout, self.stdin, self.stderr)):
            os.set_blocking(pipe.fileno(), False)
        self._pipe_inode = os.fstat(self.pipe).st_ino

    async def exited(self) -> None:
        """Wait until the shell has ended; it is not reaped, so its process id stays ours."""
        try:
            handle = os.pidfd_open(self._shell.pid)
        except (AttributeError, OSError):  # not Linux, or an old kernel
            while self._shell.poll() is None:  # noqa: ASYNC110 - nothing tells us there
                await anyio.sleep(POLL_S)
            return
        try:
            await anyio.wait_readable(handle)
        finally:
            os.close(handle)

    def kill_now(self) -> None:
        """Kill the shell's process group without waiting for anything."""
        if self._shell.returncode is None:
            with suppress(*_GONE):
                os.killpg(self._shell.pid, signal.SIGKILL)

    def end(self, grace_s: float) -> None:
        """End every process of the call: SIGTERM, `grace_s` seconds, SIGKILL. Blocks."""
        left = self._living()
        if left and grace_s:
            _signal(left, signal.SIGTERM)
            self._wait_for(left, grace_s)
        ended = left
        until = time.monotonic() + DEATH_S_MAX
        while (left := self._living()) and time.monotonic() < until:
            ended += left
            _signal(left, signal.SIGKILL)
            self._wait_for(left, GRACE_S)
        for process in ended:  # ours by now, also what died before its own parent did
            self._is_dead(process)
        self._reap_orphans()

    def reap(self) -> int:
        """Close the pipes and return the shell's exit status as `subprocess` gives it."""
        for pipe in filter(None, (self._shell.stdout, self.stdin, self.stderr)):
            pipe.close()
        try:
            return self._shell.wait(DEATH_S_MAX)
        except subprocess.TimeoutExpired:  # stuck in the kernel
            return -signal.SIGKILL

    def _living(self) -> "list[psutil.Process]":
        """Return the living processes of the call."""
        import psutil  # noqa: PLC0415 - 25 ms, not before the first call

        adopted = adopt_orphans()
        seen = descendants() if adopted else psutil.process_iter()
        parents: dict[int, int] = {}
        living: dict[int, psutil.Process] = {}
        for process in seen:
            with suppress(psutil.Error):
                parents[process.pid] = process.ppid()
                if process.status() != psutil.STATUS_ZOMBIE:
                    living[process.pid] = process
        own = {pid for pid, process in living.items() if self._is_ours(process)}
        return [process for pid, process in living.items() if _descends(pid, own, parents)]

    def _is_ours(self, process: "psutil.Process") -> bool:
        import psutil  # noqa: PLC0415

        with suppress(OSError):
            if os.getsid(process.pid) == self._shell.pid:
                return True
        if self._holds_pipe(process.pid):
            return True
        with suppress(psutil.Error, OSError):
            environ = process.environ()
            looks = 0 if process in _bare else EXEC_LOOKS
            while not environ and looks:
                time.sleep(EXEC_S / EXEC_LOOKS)
                environ, looks = process.environ(), looks - 1
            if not environ:
                _note_bare(process)
            return environ.get(MARKER) == self._marker
        return False

    def _holds_pipe(self, pid: int) -> bool:
        """Look for our pipe among the files that a process can write to (Linux).

        Another call's shell that was forked and has not begun yet holds the ends we read from.
        """
        pipe = f"pipe:[{self._pipe_inode}]"
        with suppress(OSError):
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    path = f"/proc/{pid}/fd/{descriptor}"
                    if os.readlink(path) == pipe and os.lstat(path).st_mode & stat.S_IWUSR:
                        return True
        return False

    def _wait_for(self, processes: "list[psutil.Process]", seconds: float) -> None:
        until = time.monotonic() + seconds
        with Deaths(process.pid for process in processes) as deaths:
            while processes := [each for each in processes if not self._is_dead(each)]:
                left_s = until - time.monotonic()
                if left_s <= 0:
                    return
                deaths.wait(left_s)

    def _reap_orphans(self) -> None:
        """Reap what the shell left us dead.

        A zombie outside the session may be another room's child, just about to be waited for;
        one that nobody has waited for since an earlier call is an orphan.
        """
        import psutil  # noqa: PLC0415

        for process in children() if adopt_orphans() else ():
            with suppress(psutil.Error, OSError):
                if process.pid == self._shell.pid or process.status() != psutil.STATUS_ZOMBIE:
                    continue
                known = (process.pid, process.create_time())
                first_s = _zombies.setdefault(known, time.monotonic())
                stale = time.monotonic() - first_s > STALE_S
                if stale or os.getsid(process.pid) == self._shell.pid:
                    del _zombies[known]
                    os.waitpid(process.pid, os.WNOHANG)

    def _is_dead(self, process: "psutil.Process") -> bool:
        import psutil  # noqa: PLC0415

        try:
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                return False
        except psutil.NoSuchProcess:
            return True
        if process.pid != self._shell.pid:  # the shell is reaped by `reap`, which needs its status
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
        return True


def _signal(processes: "Iterable[psutil.Process]", number: int) -> None:
    import psutil  # noqa: PLC0415

    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)


def _note_bare(process: "psutil.Process") -> None:
    if len(_bare) >= BARE_MAX:
        _bare.clear()
    _bare.add(process)


def _descends(pid: int, own: set[int], parents: Mapping[int, int]) -> bool:
    seen: set[int] = set()
    while pid in parents and pid not in own and pid not in seen:
        seen.add(pid)
        pid = parents[pid]
    return pid in own
