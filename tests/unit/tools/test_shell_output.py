import os
from collections.abc import Iterator

import anyio
import pytest
import waiting

from wcore.tools.process.shell_output import LAST_BYTES_MAX, PIPE_BYTES, ShellOutput
from wcore.tools.tool import RunContext


async def _nobody(_: str) -> None:
    return


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe whose writing end stays open, as if held by a process nobody can find."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    yield reading, writing
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("last_words", ["", "last words"])
async def test_closing_ends_the_reading_of_a_pipe_that_somebody_holds(
    pipe: tuple[int, int], last_words: str
) -> None:
    output = ShellOutput(pipe[0], RunContext("c1", _nobody))
    with waiting.patience():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(output.pump)
            await anyio.wait_all_tasks_blocked()
            os.write(pipe[1], last_words.encode())
            output.close()
    assert output.text() == (last_words, False)


async def test_closed_it_reads_only_so_much_and_lets_others_run() -> None:
    endless = os.open("/dev/zero", os.O_RDONLY)
    output = ShellOutput(endless, RunContext("c1", _nobody))
    output.close()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while not output.ended.is_set():
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        await output.pump()
    os.close(endless)
    assert turns >= LAST_BYTES_MAX // PIPE_BYTES // 2
    assert len(output.text()[0]) < LAST_BYTES_MAX
