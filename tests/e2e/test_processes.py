"""Nothing that a call starts outlives it: every way to hide, and every way in which a call can end.

Each conversation is run as we are and, where we are root, as an ordinary user too: the kernel
decides who may signal and read what.
"""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import anyio
import pytest
import waiting
from supervising import SUPERVISOR
from talking import Conversation, call, write_script

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has orphans adopted"),
]

NOBODY: Final = 65534
#: May look into every folder, as the interpreter may lie in root's own, and nothing else.
BECOME: Final = (
    f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups --inh-caps +dac_read_search"
    " --ambient-caps +dac_read_search --"
).split()
SLEEPS: Final = "echo $$ >>pids; exec sleep 1000"
HIDING: Final = {
    "behind": f"sh -c '{SLEEPS}' &",
    "own session": f"setsid -f sh -c '{SLEEPS}' </dev/null >/dev/null 2>&1",
    "bare": f"env -i setsid -f sh -c '{SLEEPS}' </dev/null >/dev/null 2>&1",
    "holds the output": f"env -i setsid -f sh -c '{SLEEPS}'",
    "orphan of orphans": "(env -i setsid sh -c '(setsid sh -c \"exec sh deep\" &)' &) >/dev/null",
    "deaf": f"setsid -f sh -c 'trap \"\" TERM HUP INT; {SLEEPS}' >/dev/null 2>&1",
    "stopped": "setsid -f sh -c 'echo $$ >>pids; kill -STOP $$' >/dev/null 2>&1",
    "forgets its shell": f"unset WCORE_CALL; nohup sh -c '{SLEEPS}' >/dev/null 2>&1 & disown",
}
ALL: Final = "\n".join(HIDING.values())
HIDDEN: Final = (
    f"echo '{SLEEPS}' >deep; echo $$ >>pids\n{ALL}\n"
    f"until [ $(wc -l <pids) -gt {len(HIDING)} ]; do sleep 0.01; done; echo hidden\n"
)
Start = Callable[..., Conversation]


@pytest.fixture(params=["as we are", "as an ordinary user"])
def start(request: pytest.FixtureRequest) -> Iterator[Start]:
    """Start an engine that runs everything unasked, in a folder that its user can read."""
    is_other = request.param == "as an ordinary user"
    if is_other and os.geteuid() != 0:
        pytest.skip("we are one already")
    if is_other and shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        folders = place / "workspace", place / "home", place / "scripts"
        for folder in folders:
            folder.mkdir()
            if is_other:
                os.chown(folder, NOBODY, NOBODY)

        def begin(*replies: list[object], flags: tuple[str, ...] = ("--force",)) -> Conversation:
            script = write_script(place / "scripts", replies)
            become = (
                f"import os, sys; os.execvp('setpriv', {BECOME} + [sys.executable, '-m', 'wcore'"
            )
            program = ("-c", f"{become}, *sys.argv[1:]])") if is_other else ("-m", "wcore")
            chosen = ["--model", f"script:{script}", *flags]
            return Conversation(folders[0], chosen, {}, home=folders[1], program=program)

        yield begin


def bash(command: str, **more: object) -> list[object]:
    return [call("Bash", "c1", command=command, **more)]


def alive(host: Conversation) -> list[int]:
    """Return which of the processes that said their number are there, zombies too."""
    found = [int(pid) for pid in (host.workspace / "pids").read_text().split()]
    assert len(found) == len(HIDING) + 1
    return [pid for pid in found if Path(f"/proc/{pid}").exists()]


async def all_gone(host: Conversation) -> None:
    """Wait until nothing is left, when nobody is there to say so."""
    await waiting.until(lambda: not alive(host), "the end of all it hid")


@asynccontextmanager
async def hidden(start: Start, then: str, **more: object) -> AsyncGenerator[Conversation]:
    """Run a call that hides in every way, and then does this."""
    async with start(bash(HIDDEN + then, **more), [{"text": "done"}]) as host:
        await host.ready()
        await host.message()
        yield host


async def heard_hidden(host: Conversation) -> None:
    assert "hidden" in (await host.hear("tool_chunk"))["chunk"]


async def test_a_call_that_ends_leaves_nothing(start: Start) -> None:
    async with hidden(start, "true") as host:
        assert (await host.hear("tool_result"))["status"] == "success"
        assert alive(host) == []
        await host.hear("stream_end")


@pytest.mark.clock
async def test_a_call_that_takes_too_long_leaves_nothing(start: Start) -> None:
    async with hidden(start, "sleep 1000", timeout_s=2) as host:
        assert (await host.hear("tool_result"))["metadata"]["timed_out"] is True
        assert alive(host) == []
        await host.hear("stream_end")


async def test_stop_leaves_nothing(start: Start) -> None:
    async with hidden(start, "sleep 1000") as host:
        await heard_hidden(host)
        await host.say(type="stop")
        await host.hear("tool_cancelled")
        assert alive(host) == []
        await host.hear("stream_end")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_leaves_nothing(start: Start, number: signal.Signals) -> None:
    async with hidden(start, "sleep 1000") as host:
        await heard_hidden(host)
        host.signal(number)
        assert await host.ended() == 128 + number
        assert alive(host) == []


async def test_a_host_that_is_gone_leaves_nothing(start: Start) -> None:
    async with hidden(start, "while :; do echo x; sleep 0.05; done") as host:
        await heard_hidden(host)
        host.close_stdout()
        with host.patience("its end"):
            host.exit_code = await host.process.wait()
        assert host.exit_code == 141
        assert alive(host) == []
        host.killed = True  # nobody heard the end of the turn


async def test_sigkill_of_the_engine_leaves_nothing(start: Start) -> None:
    async with hidden(start, "sleep 1000") as host:
        await heard_hidden(host)
        await host.kill()
        await all_gone(host)


async def test_sigkill_of_the_engine_leaves_nothing_though_its_supervisor_was_stopped(
    start: Start,
) -> None:
    async with hidden(start, f"kill -STOP $PPID {SUPERVISOR}; sleep 1000") as host:
        await heard_hidden(host)
        supervisor = int(read_parents(host)[-1])
        await until_stopped(supervisor)
        await host.kill()
        await all_gone(host)


async def test_a_call_whose_holder_is_stopped_ends_with_stop(start: Start) -> None:
    async with hidden(start, "kill -STOP $PPID; sleep 1000") as host:
        await heard_hidden(host)
        await until_stopped(int(read_parents(host)[0]))
        await host.say(type="stop")
        await host.hear("tool_cancelled")
        assert alive(host) == []
        await host.hear("stream_end")


async def test_a_call_that_kills_its_holder_is_an_error_and_leaves_nothing(start: Start) -> None:
    async with hidden(start, "kill -9 $PPID; sleep 1000") as host:
        result = await host.hear("tool_result")
        assert result["status"] == "error"
        assert "killed from outside" in result["output"]
        assert result["output"].startswith("hidden\n")
        assert alive(host) == []
        await host.hear("stream_end")


async def test_without_a_supervisor_nothing_is_started_any_more(start: Start) -> None:
    replies = [[call("Bash", "c2", command="echo x >new")], [call("Grep", "c3", pattern="x")]]
    killing = bash(f"{HIDDEN}kill -9 {SUPERVISOR}; sleep 1000")
    async with start(killing, *replies, [{"text": "done"}]) as host:
        await host.ready()
        await host.message()
        assert (await host.hear("tool_result", call_id="c1"))["status"] == "error"
        assert alive(host) == []
        for call_id in ("c2", "c3"):
            result = await host.hear("tool_result", call_id=call_id)
            assert result["status"] == "error"
            assert "nothing can be started any more" in result["output"]
        assert not (host.workspace / "new").exists()
        await host.hear("stream_end")


async def test_the_supervisor_and_the_holder_killed_at_once_leave_nothing(start: Start) -> None:
    """What they held falls to the engine."""
    async with hidden(start, f"kill -9 {SUPERVISOR} $PPID; sleep 1000") as host:
        assert (await host.hear("tool_result"))["status"] == "error"
        assert alive(host) == []
        await host.hear("stream_end")


@pytest.mark.clock
async def test_a_fork_bomb_ends_with_stop(start: Start) -> None:
    bomb = "bomb() { (sleep 0.01; [ -e over ] || { bomb & bomb; }) & wait; }; ulimit -u 400 2>&1"
    command = f"{bomb}; echo $$ >>pids; echo bombing; bomb; sleep 1000"
    async with start(bash(command), [{"text": "done"}]) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_chunk")
        with anyio.move_on_after(0.3):  # it grows meanwhile
            await host.hear("never")
        await host.say(type="stop")
        await host.hear("tool_cancelled")
        await host.hear("stream_end")
        assert below(host) == []


async def test_a_call_inherits_nothing_but_its_output(start: Start) -> None:
    async with start(bash("sh -c 'ls /proc/$$/fd; true'"), [{"text": "done"}]) as host:
        await host.ready()
        await host.message()
        assert (await host.hear("tool_result"))["output"] == "0\n1\n2\n"
        await host.hear("stream_end")


FORGE: Final = """
import os
parents, pid = [], os.getpid()
while pid:
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
    if pid and open(f"/proc/{pid}/comm").read().strip() == "wcore-supervise":
        parents.append(pid)
below = open(f"/proc/{parents[-1]}/task/{parents[-1]}/children").read().split()
print("looked at", len({*parents, *map(int, below)}))
for pid in {*parents, *map(int, below)}:
    try:
        for number in os.listdir(f"/proc/{pid}/fd"):
            kind = os.readlink(f"/proc/{pid}/fd/{number}").partition(":")[0]
            try:
                os.close(os.open(f"/proc/{pid}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK))
                print("opened", kind)
            except OSError:
                pass
        print("environment", open(f"/proc/{pid}/environ", "rb").read().strip(bytes(1)))
    except OSError as error:
        print("refused", error.errno)
"""


async def test_nobody_can_talk_to_the_supervisor_and_its_children(start: Start) -> None:
    """A socket has no name that opens it; and an ordinary user is not even shown it."""
    command = f"{sys.executable} -c '{FORGE}' | sort -u"
    async with start(bash(command), [{"text": "done"}]) as host:
        await host.ready()
        await host.message()
        said = set((await host.hear("tool_result"))["output"].splitlines())
        assert said & {"looked at 2", "looked at 3"}  # the worker may not be there yet
        said -= {"looked at 2", "looked at 3"}
        is_root = os.geteuid() == 0 and host.workspace.stat().st_uid == 0
        harmless = {"opened /dev/null", "opened pipe", "environment b''"}
        harmless.add(f"opened {os.readlink('/proc/self/fd/2').partition(':')[0]}")
        assert said <= (harmless if is_root else {"refused 13"})
        await host.hear("stream_end")


async def test_dead_orphans_are_buried_at_once(start: Start) -> None:
    orphans = "for i in $(seq 50); do (true &); done"
    count = "ps -o stat= --ppid $PPID | grep -c Z"
    command = f"{orphans}; for i in $(seq 500); do [ $({count}) = 0 ] && break; done; {count}"
    async with start(bash(command), [{"text": "done"}]) as host:
        await host.ready()
        await host.message()
        assert (await host.hear("tool_result"))["output"].startswith("0\n")
        await host.hear("stream_end")


async def test_many_calls_at_once_all_run_and_leave_nothing(start: Start) -> None:
    calls = 200
    item = {"call": {"name": "Bash", "args": {"command": "echo {n}; setsid -f sleep 1000"}}}
    async with start([{**item, "repeat": calls}], [{"text": "done"}], flags=()) as host:
        await host.ready()
        await host.message()
        asked = [await host.hear("tool_request") for _ in range(calls)]
        for each in asked:
            await host.approve(each["call_id"])
        results = [await host.hear("tool_result") for _ in range(calls)]
        assert {each["status"] for each in results} == {"success"}
        await host.hear("stream_end")
        assert below(host) == []


def below(host: Conversation) -> list[str]:
    """Return what runs below the engine but its own processes."""
    found: list[str] = []
    left = [host.process.pid]
    while left:
        for listing in Path(f"/proc/{left.pop()}/task").glob("*/children"):
            for child in listing.read_text().split():
                left.append(int(child))
                with suppress(FileNotFoundError):  # our own processes end by themselves meanwhile
                    name = Path(f"/proc/{child}/comm").read_text().strip()
                    if name != "wcore-supervise":
                        found.append(name)
    return found


def read_parents(host: Conversation) -> list[str]:
    """Return the holder and the supervisor of the call's shell."""
    shell = (host.workspace / "pids").read_text().split()[0]
    parents: list[str] = []
    for _ in range(2):
        shell = Path(f"/proc/{shell}/stat").read_text().rpartition(")")[2].split()[1]
        parents.append(shell)
    return parents


async def until_stopped(pid: int) -> None:
    await waiting.until(lambda: is_stopped(pid), f"process {pid} stopped")


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
