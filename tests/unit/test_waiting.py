"""What a wait says that took too long: what was seen, who was at work, late or hung."""

import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import anyio
import processes
import pytest
import waiting

pytestmark = [pytest.mark.anyio, pytest.mark.clock]  # patience of a fifth of a second

IDLE = "exec sleep 1000"  # nothing of it stays behind when it is killed
BUSY = "while :; do :; done"
BUSY_BELOW = "while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; sleep 0.1; done"
WRITES_AND = "echo begun; echo so far >&2; "


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE_S", 0.2)


@contextmanager
def other_side(does: str, *, text: bool = False) -> Generator["subprocess.Popen[Any]"]:
    pipe = subprocess.PIPE
    with subprocess.Popen(["sh", "-c", does], stdin=pipe, stdout=pipe, text=text) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("does", "kind"), [(IDLE, waiting.Hung), (BUSY, waiting.Late), (BUSY_BELOW, waiting.Late)]
)
async def test_what_is_overdue_is_late_if_the_other_side_is_at_work(
    does: str, kind: type[waiting.OverdueError]
) -> None:
    with other_side(does) as process, pytest.raises(kind) as failed:
        await waiting.until(lambda: False, "a card", seen=lambda: "a prompt")
    assert "no sign of a card" in str(failed.value)
    assert "seen so far:\na prompt" in str(failed.value)
    assert f"(pid {process.pid})" in str(failed.value)


@pytest.mark.parametrize(("does", "kind"), [(IDLE, waiting.Hung), (BUSY, waiting.Late)])
def test_so_it_is_where_no_loop_runs(does: str, kind: type[waiting.OverdueError]) -> None:
    with other_side(does), pytest.raises(kind, match="no sign of a file"):
        waiting.wait_until(lambda: False, "a file")


@pytest.mark.parametrize(("does", "kind"), [(IDLE, waiting.Hung), (BUSY, waiting.Late)])
def test_a_program_that_does_not_end_is_killed_with_all_below_it(
    does: str, kind: type[waiting.OverdueError]
) -> None:
    before = set(processes.below(os.getpid()))
    with pytest.raises(kind, match=r"(?s)the end of .*begun.*so far"):
        waiting.run(["sh", "-c", f"{WRITES_AND}({does}) & wait"])
    assert set(processes.below(os.getpid())) <= before


async def test_what_our_own_process_computes_is_work_too() -> None:
    over = threading.Event()

    def compute() -> None:
        while not over.is_set():
            pass

    threading.Thread(target=compute).start()
    try:
        with pytest.raises(waiting.Late, match=r"\* the test: "):
            await waiting.until(lambda: False, "the end of a thread")
    finally:
        over.set()


async def test_asking_again_and_again_is_no_work() -> None:
    with pytest.raises(waiting.Hung):
        await waiting.until(lambda: False, "nothing")


async def test_what_cannot_be_told_ends_the_wait_all_the_same() -> None:
    with pytest.raises(waiting.Hung, match="it cannot be told: ZeroDivisionError"):
        await waiting.until(lambda: False, "a card", seen=lambda: 1 / 0)


async def test_where_it_waited_is_shown() -> None:
    with pytest.raises(waiting.Hung) as failed, waiting.patience("an event"):
        await anyio.Event().wait()
    assert "await anyio.Event().wait()" in "".join(traceback.format_exception(failed.value))


@pytest.mark.parametrize("ends", ["value", "error", "late event"])
async def test_what_comes_in_time_is_as_without_patience(ends: str) -> None:
    async def body() -> str:
        with waiting.patience():
            if ends == "error":
                raise KeyError(ends)
            if ends == "late event":  # while the other side is being looked at
                await anyio.sleep(waiting.PATIENCE_S + waiting.LOOK_S / 2)
            return ends

    if ends == "error":
        with pytest.raises(KeyError):
            await body()
    else:
        assert await body() == ends


async def test_a_cancellation_from_outside_is_no_lateness() -> None:
    with anyio.CancelScope() as outer, waiting.patience():
        outer.cancel()
        await anyio.sleep_forever()
    assert outer.cancelled_caught


def test_a_program_is_heard_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    done = waiting.run(["sh", "-c", "cat; echo no >&2; exit 3"], said="yes\n")
    assert (done.returncode, done.stdout, done.stderr) == (3, "yes\n", "no\n")
    with pytest.raises(AssertionError):
        waiting.run(["false"], check=True)


def test_a_line_is_read_and_the_rest_left_to_who_waits_for_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    says = "printf '1\\n2\\n'; read go; printf '3\\n4'"
    with other_side(says, text=True) as process:
        assert waiting.line(process) == "1\n"
        assert waiting.finish(process, "\n").stdout == "2\n3\n4"
    with other_side("printf 1") as process:
        assert (waiting.line(process), waiting.line(process)) == ("1", "")


def test_a_line_that_does_not_end_is_given_up() -> None:
    with other_side(IDLE) as process, pytest.raises(waiting.Hung, match="no sign of a line"):
        waiting.line(process)
    with other_side("exec yes | tr -d '\\n'") as process, pytest.raises(waiting.OverdueError):
        waiting.line(process)


async def test_a_process_of_others_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    code = "import subprocess; print(subprocess.Popen(['sleep', '0.3'], stdout=-3, stderr=-3).pid)"
    pid = int(waiting.run([sys.executable, "-c", code]).stdout)
    assert waiting.is_living(pid)
    await waiting.gone(pid)
    assert not waiting.is_living(pid)


def test_the_last_limit_is_longer_than_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert waiting.HANG_S > waiting.LONG_S > waiting.PATIENCE_S > waiting.LOOK_S
