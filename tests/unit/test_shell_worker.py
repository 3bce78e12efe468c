"""The worker process: it answers in time, or is ended; and it trusts no folder and no variable."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import anyio
import pytest
import waiting
from hypothesis import given, settings
from hypothesis import strategies as st
from supervising import Supervised, supervised

import wcore
from wcore.policy.shell import Analysis, Reason, analyse, lex
from wcore.policy.shell.analysis import TEXT_BYTES_MAX
from wcore.shell_worker import MEMORY_BYTES_MAX, WORK_S_MAX, ShellWorker
from wcore.supervisor.client import Supervisor

pytestmark = pytest.mark.anyio

NEVER_S = 2 * waiting.PATIENCE_S  # the limit of a reader, where a test fails before it comes
ROOT = str(Path(wcore.__file__).parents[1])


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def supervisor() -> Iterator[Supervised]:
    with supervised() as found:
        yield found


@pytest.fixture
async def reader(supervisor: Supervised) -> AsyncIterator[ShellWorker]:
    reader = ShellWorker(supervisor, NEVER_S)
    with waiting.patience():
        yield reader
        await reader.close()


async def read(reader: ShellWorker, text: str) -> Analysis:
    return await reader.confirm(lex(text))


async def warmed(reader: ShellWorker) -> int:
    """Have a worker that has answered once; return its process id."""
    assert (await read(reader, ":")).commands
    return worker(reader)


def worker(reader: ShellWorker) -> int:
    assert reader.pid is not None
    return reader.pid


@pytest.mark.parametrize(
    "text",
    [
        *("cargo 'a b' \u00e9 | x <y", "cargo $(x)", "", "a\ud800", "a\0b\n"),
        *("echo ${X", "echo '${'", "a '' \"\" b\\\n c"),
    ],
)
async def test_it_answers_what_the_analysis_answers(reader: ShellWorker, text: str) -> None:
    assert await read(reader, text) == analyse(text)


async def test_the_worker_is_started_once(reader: ShellWorker) -> None:
    assert reader.pid is None
    pid = await warmed(reader)
    for text in ("a", "b", "c"):
        assert (await read(reader, text)).commands
    assert reader.pid == pid


async def test_the_worker_has_little_memory_and_nothing_of_our_environment() -> None:
    with supervised(PYTHONPATH=f"/nonexistent:{ROOT}", SECRET="x") as supervisor:
        reader = ShellWorker(supervisor, NEVER_S)
        await warmed(reader)
        process = Path(f"/proc/{worker(reader)}")
        limits = (process / "limits").read_text().splitlines()
        (memory,) = (line for line in limits if line.startswith("Max address space"))
        assert memory.split()[3:5] == [str(MEMORY_BYTES_MAX)] * 2
        assert not (process / "environ").read_bytes().strip(b"\0")
        assert (process / "cwd").readlink() == Path("/")
        await reader.close()


@pytest.mark.parametrize("text", ["x" * 1_000_000, "a $(b)", "a > b"])
async def test_a_text_that_our_own_lexer_refuses_needs_no_worker(
    reader: ShellWorker, text: str
) -> None:
    assert (await read(reader, text)) == lex(text)
    assert reader.pid is None


def resident_kib(pid: int) -> int:
    (line,) = re.findall(r"VmRSS:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(line)


async def test_a_worker_does_not_grow_with_what_it_has_read(reader: ShellWorker) -> None:
    async def size_after(count: int) -> int:
        for number in range(count):
            await read(reader, f"a=1 git status -- {number}")
        return resident_kib(worker(reader))

    before = await size_after(200)
    grown = await size_after(2_000) - before
    assert grown < 1_000, f"{grown} KiB more after 2,000 texts"


@asynccontextmanager
async def asked_while_stopped(
    reader: ShellWorker,
) -> AsyncGenerator[tuple[int, list[Reason | None]], None]:
    """Stop the worker and ask it; at the end there is an answer. Yields its id and the answers."""
    pid = await warmed(reader)
    os.kill(pid, signal.SIGSTOP)
    answers: list[Reason | None] = []

    async def ask() -> None:
        answers.append((await read(reader, "cargo")).reason)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        yield pid, answers


async def test_a_text_that_takes_too_much_work_is_a_timeout(reader: ShellWorker) -> None:
    async with asked_while_stopped(reader) as (pid, answers):
        await anyio.sleep(WORK_S_MAX)
        os.kill(pid, signal.SIGPROF)  # as its own timer does
        os.kill(pid, signal.SIGCONT)
    assert answers == [Reason.TIMEOUT]


async def test_the_longest_text_passes(reader: ShellWorker) -> None:
    text = "a " * (TEXT_BYTES_MAX // 2)
    analysis = await read(reader, text)
    assert len(analysis.commands[0].words) == TEXT_BYTES_MAX // 2


async def test_a_worker_that_does_not_answer_is_ended_and_replaced(
    supervisor: Supervised,
) -> None:
    reader = ShellWorker(supervisor)
    with waiting.patience():
        pid = await warmed(reader)
        os.kill(pid, signal.SIGSTOP)
        assert (await read(reader, "cargo")).reason == Reason.TIMEOUT
        assert not waiting.is_living(pid)
        await reader.close()


async def test_the_call_after_a_timeout_is_answered(
    supervisor: Supervised, reader: ShellWorker
) -> None:
    hasty = ShellWorker(supervisor, 0)
    assert (await read(hasty, "cargo")).reason == Reason.TIMEOUT
    assert (await read(hasty, "cargo")).reason == Reason.TIMEOUT
    await hasty.close()
    await warmed(reader)
    os.kill(worker(reader), signal.SIGKILL)
    waiting.wait_until(lambda: not waiting.is_living(worker(reader)), "its end")
    assert (await read(reader, "cargo")).commands


async def test_a_worker_that_dies_at_work_is_a_failure_not_a_wait(reader: ShellWorker) -> None:
    async with asked_while_stopped(reader) as (pid, answers):
        await anyio.wait_all_tasks_blocked()
        os.kill(pid, signal.SIGKILL)
    assert answers == [Reason.PARSER_FAILED]
    assert (await read(reader, "cargo")).commands


async def test_a_cancelled_call_leaves_no_answer_for_the_next(reader: ShellWorker) -> None:
    await warmed(reader)
    os.kill(worker(reader), signal.SIGSTOP)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read, reader, "cancelled one")
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    analysis = await read(reader, "b")
    assert [word.source for word in analysis.commands[0].words] == ["b"]


async def test_calls_at_once_get_their_own_answers_in_turn(reader: ShellWorker) -> None:
    order: list[str] = []

    async def ask(text: str) -> None:
        analysis = await read(reader, text)
        order.append(analysis.commands[0].words[0].source)

    texts = [f"c{n}" for n in range(20)]
    async with anyio.create_task_group() as tasks:
        for text in texts:
            tasks.start_soon(ask, text)
            await anyio.wait_all_tasks_blocked()
    assert order == texts


async def test_a_closed_reader_answers_that_there_is_none(reader: ShellWorker) -> None:
    pid = await warmed(reader)
    await reader.close()
    assert not waiting.is_living(pid)
    assert (await read(reader, "cargo")).reason == Reason.NO_ANALYST
    await reader.close()


async def test_closing_ends_a_call_at_work(reader: ShellWorker) -> None:
    await warmed(reader)
    os.kill(worker(reader), signal.SIGSTOP)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read, reader, "cargo")
        await anyio.wait_all_tasks_blocked()
        with waiting.patience():
            await reader.close()


async def test_without_a_supervisor_there_is_no_answer(
    supervisor: Supervised, reader: ShellWorker
) -> None:
    await warmed(reader)
    supervisor.process.kill()
    supervisor.process.wait()
    assert (await read(reader, "cargo")).reason in (None, Reason.NO_ANALYST)
    await reader.close()
    assert (await read(ShellWorker(supervisor), "cargo")).reason == Reason.NO_ANALYST


@pytest.mark.parametrize("name", ["bashlex.py", "wcore.py", "json.py", "sitecustomize.py"])
async def test_nothing_in_the_workspace_or_the_environment_is_imported(
    tmp_path: Path, name: str
) -> None:
    """The worker of an engine in a folder of traps reads a text, and none of them is sprung."""
    (tmp_path / name).write_text(f"open({str(tmp_path / 'evil')!r}, 'w').close()\n")
    search = f"{ROOT}:{tmp_path}" if name in ("bashlex.py", "wcore.py") else ROOT
    with supervised(tmp_path, PYTHONPATH=search) as supervisor, waiting.patience():
        reader = ShellWorker(supervisor, NEVER_S)
        assert (await read(reader, "cargo test")).commands
        await reader.close()
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("stopped", [False, True])
async def test_the_worker_ends_with_its_engine(stopped: bool) -> None:
    with supervised() as supervisor:
        reader = ShellWorker(supervisor, NEVER_S)
        pid = await warmed(reader)
        if stopped:
            os.kill(pid, signal.SIGSTOP)
    await waiting.gone(pid)
    await reader.close()


def test_a_worker_at_work_ends_itself_when_nobody_is_left() -> None:
    """Its CPU time is limited while it works: nothing else would end an endless loop."""
    code = (
        "import socket, sys\n"
        "from wcore import shell_worker\n"
        "from wcore.policy import shell\n"
        "def endless(text):\n"
        "    while True: pass\n"
        "shell.analyse = endless\n"
        "shell_worker.serve(socket.socket(fileno=int(sys.argv[1])))\n"
    )
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(theirs.fileno())],
            env={"PYTHONPATH": ROOT},
            pass_fds=[theirs.fileno()],
        )
        ours.sendall(b'["n", "cargo"]\n')
        assert waiting.finish(process).returncode == -signal.SIGPROF


class Forger(Supervisor):
    """Forks workers that answer what the test wants: `forge` makes lines of a question."""

    def __init__(self, forge: Callable[[str, str], Sequence[object]]) -> None:
        self._forge = forge
        self._tasks: list[threading.Thread] = []
        self.dropped = 0

    def worker(self) -> tuple[socket.socket, int]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        thread = threading.Thread(target=self._answer, args=(theirs,), daemon=True)
        self._tasks.append(thread)
        thread.start()
        return ours, 1

    def _answer(self, link: socket.socket) -> None:
        with link, link.makefile("rb") as questions, suppress(OSError):
            link.sendall(b'["ready", 1]\n')
            for line in questions:
                nonce, text = json.loads(line)
                for answer in self._forge(nonce, text):
                    link.sendall(json.dumps(answer).encode() + b"\n")

    async def drop(self, number: int) -> int:
        self.dropped += 1
        return 0


SHAPES: Final = "nonce first,bare,swapped,longer,shifted,no reason,no place".split(",")
WRONG: Final = st.one_of(
    st.text(max_size=40), st.none(), st.integers(), st.lists(st.text(max_size=3), max_size=3)
)


@settings(max_examples=40)
@given(wrong=WRONG, shape=st.sampled_from(SHAPES))
def test_an_answer_to_another_question_is_none(wrong: object, shape: str) -> None:
    """What does not repeat the nonce covers nothing, and whoever sent it is never asked again."""

    def forge(nonce: str, text: str) -> list[object]:
        shapes: dict[str, list[object]] = {
            "nonce first": [[wrong, None]],
            "bare": [None],
            "swapped": [[None, nonce]],
            "longer": [[nonce, None, wrong]],
            "shifted": [[wrong, None], [nonce, None]],
            "no reason": [[nonce, "nonsense", None]],
            "no place": [[nonce, "parser_failed", [0, text]]],
        }
        return shapes[shape]

    async def ask() -> None:
        forger = Forger(forge)
        reader = ShellWorker(forger, NEVER_S)
        analysis = await read(reader, "make; id")
        assert analysis.reason == Reason.PARSER_FAILED
        assert not analysis.commands
        assert reader.pid is None
        assert forger.dropped == 1
        await reader.close()

    anyio.run(ask)


async def test_what_is_sent_unasked_ends_the_worker() -> None:
    """A yes in stock for the next question is none, also where the first answer was right."""

    def forge(nonce: str, text: str) -> list[object]:
        return [[nonce, "parser_disagrees", None], [nonce, None]]

    forger = Forger(forge)
    reader = ShellWorker(forger, NEVER_S)
    with waiting.patience():
        for text in ("ls", "id; ls", "make; id"):
            assert not (await read(reader, text)).commands
        await reader.close()


def test_the_engine_never_imports_the_second_analysis() -> None:
    code = (
        "import sys, wcore.__main__, wcore.shell_worker, wcore.session, wcore.engine\n"
        "from wcore.policy import shell\n"
        "shell.lex('a'); shell.suggest('a b'); shell.parse_grant('a'); shell.rough_words('a')\n"
        "assert 'bashlex' not in sys.modules"
    )
    waiting.run([sys.executable, "-c", code], env={"PYTHONPATH": ROOT}, check=True)
