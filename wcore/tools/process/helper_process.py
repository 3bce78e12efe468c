"""Helper programs of our own (ripgrep, the search worker): bounded, and dead when we are done."""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import anyio
from msgspec import Struct

from wcore.supervisor.client import Held, Program
from wcore.tools.search import grep_worker
from wcore.tools.tool import ToolEnvironment
from wcore.vocabulary import Json

PIPE_BYTES: Final = 256 * 1024  # one read a wake-up even for a busy search
STDERR_BYTES_MAX: Final = 1024 * 1024  # a line for each of 10,000 files that cannot be read


class Helper(Struct, frozen=True):
    """One program to run; `stdin` is given to it as a file, so nobody waits for anybody."""

    argv: Sequence[str]
    cwd: str
    environ: Mapping[str, str]
    stdin: bytes = b""


def search_worker(
    root: str, names: Sequence[str], environ: Mapping[str, str], **settings: Json
) -> Helper:
    """Return the program that opens the files `names` below `root`, see `grep_worker`."""
    stdin = json.dumps(settings).encode() + b"\n" + b"\0".join(map(os.fsencode, (root, *names)))
    return Helper((sys.executable, "-I", "-S", grep_worker.__file__), root, environ, stdin)


async def run_helper(
    environment: ToolEnvironment, helper: Helper, take: Callable[[bytes], bool]
) -> tuple[int | None, str]:
    """Run `helper`, handing its output to `take` until that says false.

    Returns the exit code, `None` if it was stopped early, and the start of its stderr. The
    process is dead when this returns, raises, or is cancelled.

    Raises:
        OSError: it cannot be started.
        SupervisorError: nothing can be started.
    """
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as stdin:
        stdin.write(helper.stdin)
        stdin.seek(0)
        pipe, output = os.pipe()
        os.set_blocking(pipe, False)
        try:
            try:
                stdio = (stdin.fileno(), output, errors.fileno())
                program = Program(helper.argv, helper.cwd, helper.environ, stdio)
                held = await environment.start(program)
            finally:
                os.close(output)
            code = await _attended(held, pipe, take)
        finally:
            os.close(pipe)
        errors.seek(0)
        return code, errors.read(STDERR_BYTES_MAX).decode(errors="replace")


async def _attended(held: Held, pipe: int, take: Callable[[bytes], bool]) -> int | None:
    try:
        return await held.exited() if await _pump(pipe, take) else None
    finally:
        await held.abandon()


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
