"""The worker process: it answers in time, or is ended; and it trusts no folder and no variable."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

import wcore
from wcore.analyst import MEMORY_BYTES_MAX, Analyst
from wcore.policy.shell import TEXT_BYTES_MAX, Reason, analyse

pytestmark = pytest.mark.anyio

PATIENT_S = 30.0  # where the limit is not what is tested: the machine may be busy
ROOT = str(Path(wcore.__file__).parents[1])


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def analyst() -> AsyncIterator[Analyst]:
    analyst = Analyst(PATIENT_S)
    with anyio.fail_after(2 * PATIENT_S):
        yield analyst
        await analyst.close()


def is_running(pid: int) -> bool:
    try:
        return "(zombie)" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def wait_until_gone(pid: int) -> None:
    until = time.monotonic() + 5
    while is_running(pid):
        assert time.monotonic() < until, "the worker is still there"
        os.sched_yield()


def worker(analyst: Analyst) -> int:
    assert analyst.pid is not None
    return analyst.pid


@pytest.mark.parametrize(
    "text", ["cargo 'a b' \u00e9 | x <y", "cargo $(x)", "", "a\ud800", "a\0b\n"]
)
async def test_it_answers_what_the_analysis_answers(analyst: Analyst, text: str) -> None:
    assert await analyst.analyse(text) == analyse(text)


async def test_the_worker_is_started_once(analyst: Analyst) -> None:
    assert analyst.pid is None
    await analyst.warm()
    pid = worker(analyst)
    for text in ("a", "b", "c"):
        assert (await analyst.analyse(text)).commands
    assert analyst.pid == pid


async def test_the_worker_has_little_memory_and_nothing_of_our_environment(
    analyst: Analyst, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nonexistent")
    monkeypatch.setenv("SECRET", "x")
    await analyst.warm()
    process = Path(f"/proc/{worker(analyst)}")
    limits = (process / "limits").read_text().splitlines()
    (memory,) = (line for line in limits if line.startswith("Max address space"))
    assert memory.split()[3:5] == [str(MEMORY_BYTES_MAX)] * 2
    names = {entry.split(b"=")[0] for entry in (process / "environ").read_bytes().split(b"\0")}
    assert names <= {b"", b"LD_LIBRARY_PATH"}
    assert (process / "cwd").readlink() == Path("/")


async def test_a_text_that_is_too_long_needs_no_worker(analyst: Analyst) -> None:
    assert (await analyst.analyse("x" * 1_000_000)).reason == Reason.TOO_LONG
    assert analyst.pid is None


async def test_the_longest_text_passes_both_ways(analyst: Analyst) -> None:
    text = "a " * (TEXT_BYTES_MAX // 2)
    analysis = await analyst.analyse(text)
    assert len(analysis.commands[0].words) == TEXT_BYTES_MAX // 2


async def test_a_worker_that_does_not_answer_is_ended_and_replaced() -> None:
    analyst = Analyst()
    with anyio.fail_after(30):
        await analyst.warm()
        pid = worker(analyst)
        os.kill(pid, signal.SIGSTOP)
        assert (await analyst.analyse("cargo")).reason == Reason.TIMEOUT
        assert not is_running(pid)
        await analyst.close()


async def test_the_call_after_a_timeout_is_answered(analyst: Analyst) -> None:
    hasty = Analyst(0)
    assert (await hasty.analyse("cargo")).reason == Reason.TIMEOUT
    assert (await hasty.analyse("cargo")).reason == Reason.TIMEOUT
    await hasty.close()
    await analyst.warm()
    os.kill(worker(analyst), signal.SIGKILL)
    wait_until_gone(worker(analyst))
    assert (await analyst.analyse("cargo")).commands


async def test_a_worker_that_dies_at_work_is_a_failure_not_a_wait(analyst: Analyst) -> None:
    await analyst.warm()
    pid = worker(analyst)
    os.kill(pid, signal.SIGSTOP)
    answers: list[Reason | None] = []

    async def ask() -> None:
        answers.append((await analyst.analyse("cargo")).reason)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        os.kill(pid, signal.SIGKILL)
    assert answers == [Reason.PARSER_FAILED]
    assert (await analyst.analyse("cargo")).commands


async def test_a_cancelled_call_leaves_no_answer_for_the_next(analyst: Analyst) -> None:
    await analyst.warm()
    os.kill(worker(analyst), signal.SIGSTOP)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(analyst.analyse, "cancelled one")
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    analysis = await analyst.analyse("b")
    assert [word.source for word in analysis.commands[0].words] == ["b"]


async def test_calls_at_once_get_their_own_answers_in_turn(analyst: Analyst) -> None:
    order: list[str] = []

    async def ask(text: str) -> None:
        analysis = await analyst.analyse(text)
        order.append(analysis.commands[0].words[0].source)

    texts = [f"c{n}" for n in range(20)]
    async with anyio.create_task_group() as tasks:
        for text in texts:
            tasks.start_soon(ask, text)
            await anyio.wait_all_tasks_blocked()
    assert order == texts


async def test_a_closed_analyst_answers_that_there_is_none(analyst: Analyst) -> None:
    await analyst.warm()
    pid = worker(analyst)
    await analyst.close()
    assert not is_running(pid)
    assert (await analyst.analyse("cargo")).reason == Reason.NO_ANALYST
    await analyst.close()


async def test_closing_ends_a_call_at_work(analyst: Analyst) -> None:
    await analyst.warm()
    os.kill(worker(analyst), signal.SIGSTOP)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(analyst.analyse, "cargo")
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(PATIENT_S / 2):
            await analyst.close()


async def test_a_worker_that_cannot_start_is_told(
    analyst: Analyst, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("/nonexistent/python", "/bin/false"):
        monkeypatch.setattr(sys, "executable", program)
        assert (await analyst.analyse("cargo")).reason == Reason.NO_ANALYST
    monkeypatch.undo()
    assert (await analyst.analyse("cargo")).commands


ENGINE = """
import sys
import anyio
from wcore.analyst import Analyst

async def main():
    analyst = Analyst(5)
    analysis = await analyst.analyse("cargo test")
    second = "bashlex" in sys.modules
    print(analysis.reason, len(analysis.commands), second, analyst.pid, flush=True)
    {then}

anyio.run(main)
"""


def run(folder: Path, then: str, **environ: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-P", "-c", ENGINE.format(then=then)],
        cwd=folder,
        env={"PYTHONPATH": ROOT, "LC_ALL": "C.UTF-8"} | environ,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("name", ["bashlex.py", "wcore.py", "json.py", "sitecustomize.py"])
def test_nothing_in_the_workspace_or_the_environment_is_imported(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(f"open({str(tmp_path / 'evil')!r}, 'w').close()\n")
    search = f"{ROOT}:{tmp_path}" if name in ("bashlex.py", "wcore.py") else ROOT
    engine = run(tmp_path, "await analyst.close()", PYTHONPATH=search)
    out, _ = engine.communicate(timeout=30)
    assert out.split()[:3] == ["None", "1", "False"]
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("stopped", [False, True])
def test_the_worker_ends_with_its_engine(tmp_path: Path, stopped: bool) -> None:
    engine = run(tmp_path, "await anyio.sleep_forever()")
    assert engine.stdout
    pid = int(engine.stdout.readline().split()[3])
    if stopped:
        os.kill(pid, signal.SIGSTOP)
    engine.kill()
    engine.wait()
    engine.stdout.close()
    os.kill(pid, signal.SIGCONT)
    wait_until_gone(pid)


def test_a_worker_at_work_ends_itself_when_nobody_is_left() -> None:
    """Its CPU time is limited while it works: nothing else would end an endless loop."""
    code = (
        "import signal\n"
        "from wcore import analyst\n"
        "from wcore.policy import shell\n"
        "def endless(text):\n"
        "    while True: pass\n"
        "shell.analyse = endless\n"
        "analyst.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ROOT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin
    process.stdin.write(b'"cargo"\n')
    process.stdin.close()
    assert process.wait(30) == -signal.SIGPROF
    assert process.stdout
    process.stdout.close()


def test_the_engine_never_imports_the_second_analysis() -> None:
    code = (
        "import sys, wcore.__main__, wcore.analyst, wcore.session, wcore.engine\n"
        "from wcore.policy import shell\n"
        "shell.lex('a'); shell.suggest('a b'); shell.parse_grant('a'); shell.rough_words('a')\n"
        "assert 'bashlex' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ROOT}, check=True)
