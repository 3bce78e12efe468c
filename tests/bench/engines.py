"""An engine process, or another, as a bench drives it: blocking, lean, every wait bounded.

`tests/talking.py` judges every line it hears, which would cost more than what is measured here.
"""

import json
import os
import select
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psutil

WAIT_S: Final = 120.0  # no step takes as long on any machine that is worth measuring
QUIET_S: Final = 0.5  # so long without work, and whatever follows a start is over
SETTLE_S_MAX: Final = 15.0  # on a busy machine too
FOREIGN: Final = ("XDG_", "WCORE_", "PYTHONDONTWRITEBYTECODE")  # settings; compiling at each start
READ_BYTES: Final = 1024 * 1024  # what a pipe can hold at most without privileges

Event = dict[str, Any]


def write_script(folder: Path, *replies: list[object], times: int = 1) -> str:
    """Write a script of these replies, all of them so many times; return it as a model name."""
    path = folder / f"script-{len(list(folder.iterdir()))}.jsonl"
    lines = "".join(json.dumps({"say": reply}) + "\n" for reply in replies)
    path.write_text(lines * times)
    return f"script:{path}"


def cpu_ms(pid: int) -> float:
    """Return the CPU time of a process and of all its threads, without its children."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e6  # the kernel's number of that clock


def memory_mib(pid: int) -> float:
    """Return the process's share of memory (PSS); where that is not to be read, its RSS."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except PermissionError:  # the engine hides its memory from others of the same user
        return psutil.Process(pid).memory_info().rss / 2**20
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


class Child:
    """A process that is talked to in lines, over pipes."""

    def __init__(self, *command: str, cwd: Path | None = None) -> None:
        env = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
        if cwd:
            env["HOME"] = str(cwd.parent)
        pipe = subprocess.PIPE
        self.began = time.perf_counter()
        self._child = subprocess.Popen(command, cwd=cwd, env=env, stdin=pipe, stdout=pipe)
        assert self._child.stdin
        assert self._child.stdout
        self._to = self._child.stdin.fileno()
        self.stdout = self._child.stdout.fileno()
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self.pid = self._child.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if kind:
            self._child.kill()
        with self._child:  # closes stdin, which ends all that are driven here
            pass

    def write(self, data: bytes) -> None:
        os.write(self._to, data)

    @property
    def has_more(self) -> bool:
        """Whether a line has been read that nobody has asked for."""
        return bool(self._lines)

    def kill(self) -> None:
        self._child.kill()

    def line(self) -> bytes:
        """Return the next line.

        Raises:
            TimeoutError: none came for `WAIT_S`.
            EOFError: the process has ended.
        """
        while not self._lines:
            if not select.select([self.stdout], [], [], WAIT_S)[0]:
                raise TimeoutError("the process says nothing")
            if not (data := os.read(self.stdout, READ_BYTES)):
                raise EOFError("the process has ended")
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._lines.extend(lines)
        return self._lines.popleft()

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.pid).children(recursive=True)

    def tree_ms(self) -> float:
        """Return the CPU time of the process and of the children that it has now."""
        used = cpu_ms(self.pid)
        for child in self.children():
            with suppress(OSError):  # it has ended since it was listed
                used += cpu_ms(child.pid)
        return used

    def settle(self) -> None:
        """Wait until the process and its children have nothing to do any more."""
        end, used = time.monotonic() + SETTLE_S_MAX, -1.0
        while time.monotonic() < end and (now := self.tree_ms()) - used > 1:
            used = now
            time.sleep(QUIET_S)


class Engine(Child):
    """An engine in a workspace of its own; `ready_ms` is what it took from spawn to `ready`."""

    def __init__(self, place: Path, *flags: str) -> None:
        self.workspace = place / "workspace"
        self.workspace.mkdir(exist_ok=True)
        command = (sys.executable, "-m", "wcore", "--max-turns", "1000000", *flags)
        super().__init__(*command, cwd=self.workspace)
        assert self.next()["type"] == "ready"
        self.ready_ms = (time.perf_counter() - self.began) * 1000

    def say(self, **command: object) -> float:
        """Send a command; return when, in seconds."""
        line = json.dumps(command).encode() + b"\n"
        now = time.perf_counter()
        self.write(line)
        return now

    def message(self, msg_id: str = "m") -> float:
        return self.say(type="message", msg_id=msg_id, content="go")

    def approve(self, event: Event) -> float:
        return self.say(type="tool_approve", call_id=event["call_id"])

    def deny(self, event: Event) -> float:
        return self.say(type="tool_deny", call_id=event["call_id"])

    def next(self) -> Event:
        event: Event = json.loads(self.line())
        return event

    def hear(self, kind: str) -> Event:
        """Return the next event of this type; others are passed over."""
        while (event := self.next())["type"] != kind:
            assert event["type"] != "stream_end", f"the turn ended before {kind}"
        return event

    def pass_over(self) -> int:
        """Read to the end of the turn without looking closely; return how many lines came."""
        count = 1
        while not self.line().startswith(b'{"type":"stream_end"'):
            count += 1
        return count
