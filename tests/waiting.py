"""The one clock that tests wait by, and what they say when it has run out.

Tests wait for events, never for a time: patience only ends what would never end. When it runs
out, the other side, which is every process below the test's own and that one too, is looked at
for one second more. Was it at work, then the machine may be slow: the test fails with `Late`, and
`second_look.py` runs it once more, alone. Was nothing at work, then nothing would have come:
`Hung`, and the test has failed. Both say what was seen so far. A test that waits by no clock at all
is ended after `HANG_S` (`hanging.py`), with the stacks of all threads.

    with patience("the card", seen=lambda: screen.text):
        while not screen.card:
            await screen.changed()
    await until(path.exists, f"{path}")
    done = run([sys.executable, "-m", "wcore", "--version"])
"""

import asyncio
import os
import select
import subprocess
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

import anyio
import processes
import psutil

PATIENCE_S: Final = 120.0  # for one event: fifty times what anything takes on an idle machine
LONG_S: Final = 480.0  # for a whole suite or the type checker: hundreds of events in one
HANG_S: Final = LONG_S + PATIENCE_S  # for a test: the last limit, where no other one ends it
LOOK_S: Final = 1.0  # how long the other side is looked at when patience has run out
POLL_S: Final = 0.02  # between two questions, where nothing tells us
WORK_S_MIN: Final = 0.03  # CPU of another process in one look; a heartbeat takes less
OWN_WORK_S_MIN: Final = 0.5  # what our own process would compute in one look, if it had the CPU
ASKING_S_MAX: Final = 0.06  # CPU of our own process in one look, if it does nothing but ask
SEEN_CHARS_MAX: Final = 10_000  # the end is shown: what the test waited after

RUNNABLE: Final = (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)  # also if it gets no CPU


class OverdueError(AssertionError):
    """What a test waited for has not come within its patience."""


class Late(OverdueError):  # noqa: N818 - one word in a report
    """Something was at work: it might still have come."""


class Hung(OverdueError):  # noqa: N818
    """Nothing was at work: it would never have come."""


class Look:
    """What the processes have computed so far, and a second later what they did meanwhile."""

    def __init__(self, pids: Iterable[int] = ()) -> None:
        """`pids` are those of the other side that are not below this process."""
        self._pids = tuple(pids)
        self._own = time.process_time()
        self._queued = _queued()
        self._before = {process: (used, status) for process, used, status in self._processes()}

    def verdict(self, what: str, seen: object = "") -> OverdueError:
        """Return the error that says who was at work since this look."""
        lines: list[str] = []
        at_work = 0
        for process, used, status in self._processes():
            used_before, status_before = self._before.get(process, (0.0, status))
            worked_s = used - used_before
            waits_for_turn = status in RUNNABLE and status_before in RUNNABLE  # no mere heartbeat
            at_work += (busy := waits_for_turn or worked_s >= WORK_S_MIN)
            words = processes.words(process) or [processes.name(process)]
            said = f"{' '.join(words)[:100]} (pid {process.pid}): {status}, {worked_s:.2f} s of CPU"
            lines.append(f"{'*' if busy else ' '} {said}")
        queued_s = sum(s - self._queued.get(thread, 0.0) for thread, s in _queued().items())
        computed_s = time.process_time() - self._own
        own_s = computed_s + queued_s
        # Who only asks now and then is queued each time, on a machine that is busy.
        at_work += (busy := own_s >= OWN_WORK_S_MIN and computed_s >= ASKING_S_MAX)
        lines.append(f"{'*' if busy else ' '} the test: {own_s:.2f} s of CPU, or ready for one")
        kind = Late if at_work else Hung
        last = "its processes (* at work) in one more second:"
        told = _told(seen)[-SEEN_CHARS_MAX:]
        lines += ["seen so far:", told] if told else []
        return kind(f"no sign of {what}; {last}\n" + "\n".join(lines))

    def _processes(self) -> Generator[tuple[psutil.Process, float, str]]:
        roots = [psutil.Process()]
        for pid in self._pids:
            with suppress(psutil.NoSuchProcess):
                roots.append(psutil.Process(pid))
        for process in {
            *roots[1:],
            *(each for root in roots for each in processes.below(root.pid)),
        }:
            with suppress(psutil.NoSuchProcess), process.oneshot():
                used = process.cpu_times()
                ended = used.children_user + used.children_system
                yield process, used.user + used.system + ended, process.status()


@contextmanager
def patience(
    what: str = "what the test waits for",
    *,
    seen: object = "",
    pids: Iterable[int] = (),
    limit_s: float | None = None,
) -> Generator[None]:
    """Bound the awaits inside: `Late` or `Hung`. `seen` is a text, or a function that tells it."""
    overdue: OverdueError | None = None
    where: BaseException | None = None

    def run_out() -> None:
        nonlocal stop
        look = Look(pids)
        stop = _later(LOOK_S, lambda: give_up(look))

    def give_up(look: Look) -> None:
        nonlocal overdue
        overdue = look.verdict(what, seen)
        scope.cancel()

    stop = _later(PATIENCE_S if limit_s is None else limit_s, run_out)
    with anyio.CancelScope() as scope:
        try:
            yield
        except anyio.get_cancelled_exc_class() as error:
            where = error  # its traceback ends where the test waited
            raise
        finally:
            stop()
    if scope.cancelled_caught and overdue:
        raise overdue from where


def _later(seconds: float, then: Callable[[], None]) -> Callable[[], None]:
    """Call `then` after some seconds, in the loop that runs now; return what prevents it."""
    with suppress(RuntimeError):  # no asyncio: it is trio
        return asyncio.get_running_loop().call_later(seconds, then).cancel
    import trio

    scope = trio.CancelScope()

    async def call() -> None:
        with scope:
            await trio.sleep(seconds)
            then()

    trio.lowlevel.spawn_system_task(call)
    return scope.cancel


async def until(
    holds: Callable[[], object], what: str, *, seen: object = "", pids: Iterable[int] = ()
) -> None:
    """Wait until something holds of which nothing tells us."""
    with patience(what, seen=seen, pids=pids):
        while not holds():  # noqa: ASYNC110 - nothing tells us
            await anyio.sleep(POLL_S)


def wait_until(holds: Callable[[], object], what: str, *, seen: object = "") -> None:
    """Wait as `until` does, where no loop runs."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise overdue(what, seen)
        time.sleep(POLL_S)


def overdue(what: str, seen: object = "") -> OverdueError:
    """Return the error of a wait that has taken `PATIENCE_S`, after one more second."""
    look = Look()
    time.sleep(LOOK_S)
    return look.verdict(what, seen)


async def gone(pid: int) -> None:
    """Wait until a process has ended, whoever is its parent."""
    await until(lambda: not is_living(pid), f"the end of process {pid}", pids=[pid])


def is_living(pid: int) -> bool:
    """Tell whether a process runs: one that is dead and not yet waited for does not.

    A first thread that is dead already holds pipes open until the others are.
    """
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1
    except psutil.NoSuchProcess:
        return False


def line(process: "subprocess.Popen[Any]") -> str:
    """Read a line of what a process writes, and not a byte of the next one.

    `finish` returns the rest: it reads past the buffers that `process.stdout.readline` fills.
    """
    assert process.stdout
    end = time.monotonic() + PATIENCE_S
    read = bytearray()
    while not read.endswith(b"\n"):
        left_s = end - time.monotonic()
        if left_s < 0 or not select.select([process.stdout], [], [], left_s)[0]:
            raise overdue(f"a line of {process.args}", _text(bytes(read)))
        if not (byte := os.read(process.stdout.fileno(), 1)):
            break
        read += byte
    return _text(bytes(read))


def finish(
    process: "subprocess.Popen[Any]", said: Any = None, limit_s: float | None = None
) -> "subprocess.CompletedProcess[str]":
    """Let a process end: `said` on its stdin and the end of file, all that it writes, its code.

    What is overdue is killed, with all below it.
    """
    written: tuple[Any, Any] = (None, None)
    try:
        written = process.communicate(said, PATIENCE_S if limit_s is None else limit_s)
    except subprocess.TimeoutExpired as error:
        written = error.output, error.stderr
        raise overdue(f"the end of {process.args}", "\n".join(map(_text, written))) from None
    finally:
        if process.returncode is None:
            processes.kill(process.pid)
            for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
                pipe.close()
            process.wait()
    return subprocess.CompletedProcess(process.args, process.wait(), *map(_text, written))


def run(
    command: Sequence[str | Path],
    *,
    said: str | bytes = b"",
    stdin: int | IO[str] = subprocess.PIPE,
    user: str | int | None = None,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = False,
    limit_s: float | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a program as `finish` does; `check` expects exit code 0."""
    process = subprocess.Popen(
        command,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        user=user,
        cwd=cwd,
        env=env,
    )
    spoken = said.encode() if isinstance(said, str) else said
    done = finish(process, spoken if stdin == subprocess.PIPE else None, limit_s)
    assert not check or done.returncode == 0, done
    return done


async def run_process(
    command: str | Sequence[str | Path], **options: Any
) -> "subprocess.CompletedProcess[bytes]":
    """Do as `anyio.run_process` does, for as long as there is patience."""
    with patience(f"the end of {command}"):
        return await anyio.run_process(command, **options)


def _told(seen: object) -> str:
    try:
        return str(seen() if callable(seen) else seen)
    except Exception as error:  # noqa: BLE001 - the wait must end all the same
        return f"it cannot be told: {error!r}"


def _queued() -> dict[str, float]:
    """Return how long each thread of ours was runnable without a CPU: others decide about that."""
    queued: dict[str, float] = {}
    for thread in Path("/proc/self/task").glob("*"):  # none where there is no Linux
        with suppress(OSError):
            queued[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e9
    return queued


def _text(written: str | bytes | None) -> str:
    return written.decode(errors="replace") if isinstance(written, bytes) else written or ""
