"""Helper programs of our own (ripgrep, the search worker): bounded, and dead when we are done."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import anyio
from anyio import to_thread
from msgspec import Struct

PIPE_BYTES: Final = 256 * 1024  # one read a wake-up even for a busy search
STDERR_BYTES_MAX: Final = 4096  # enough for one message
DEATH_S_MAX: Final = 1.0  # between SIGKILL and the end, unless the kernel itself is stuck


class Helper(Struct, frozen=True):
    """One program to run; `stdin` is given to it as a file, so nobody waits for anybody."""

    argv: Sequence[str]
    cwd: str
    environ: Mapping[str, str]
    stdin: bytes = b""


async def run_helper(helper: Helper, take: Callable[[bytes], bool]) -> tuple[int | None, str]:
    """Run `helper`, handing its output to `take` until that says false.

    Returns the exit code, `None` if it was stopped early, and the start of its stderr. The
    process is dead when this returns, raises, or is cancelled.
    """
    with tempfile.TemporaryFile() as errors:
        # In a thread that is waited for: no cancellation can lose a process just started.
        process = await to_thread.run_sync(_start, helper, errors.fileno())
        try:
            assert process.stdout is not None
            finished = await _pump(process.stdout.fileno(), take)
            code = await _ended(process) if finished else None
        finally:
            _kill(process)
        errors.seek(0)
        return code, errors.read(STDERR_BYTES_MAX).decode(errors="replace")


def _start(helper: Helper, stderr: int) -> subprocess.Popen[bytes]:
    with tempfile.TemporaryFile() as stdin:
        stdin.write(helper.stdin)
        stdin.seek(0)
        process = subprocess.Popen(
            helper.argv,
            cwd=helper.cwd,
            env=dict(helper.environ),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    return process


async def _pump(pipe: int, take: Callable[[bytes], bool]) -> bool:
    """Read to the end; false if `take` had enough before."""
    while True:
        await anyio.wait_readable(pipe)
        with suppress(BlockingIOError):
            chunk = os.read(pipe, PIPE_BYTES)
            if not chunk:
                return True
            if not take(chunk):
                return False


async def _ended(process: subprocess.Popen[bytes]) -> int:
    return await to_thread.run_sync(process.wait, abandon_on_cancel=True)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(DEATH_S_MAX)
    if process.stdout is not None:
        process.stdout.close()
