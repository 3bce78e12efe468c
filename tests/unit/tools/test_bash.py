import os
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
import waiting
from unit.tools.room import Room

from wcore.errors import HostGoneError, ToolError
from wcore.supervisor.client import Held, Program
from wcore.tools.builtin.bash import Bash
from wcore.tools.process.shell_output import STREAM_BYTES_MAX, STREAM_STOPPED
from wcore.tools.tool import RunContext, ToolEnvironment
from wcore.visible import visible
from wcore.vocabulary import (
    OUTPUT_BYTES_MAX,
    PREVIEW_BYTES_MAX,
    Json,
    Preview,
    Status,
    ToolOutput,
)


async def _bash(room: Room, command: str, **args: Json) -> ToolOutput:
    with waiting.patience():
        return await room.call("Bash", command=command, **args)


def _alive(path: Path) -> list[str]:
    """Return the processes named in a file that still exist, zombies included."""
    found: list[str] = []
    for pid in map(int, path.read_text().split()):
        with suppress(FileNotFoundError, ProcessLookupError):
            status = Path(f"/proc/{pid}/status").read_text()
            found.append(f"{status}, seen by {os.getpid()}")
    return found


async def test_output_of_both_streams_comes_in_order_and_is_streamed(room: Room) -> None:
    done = await _bash(room, "echo one; echo two >&2; echo three")
    assert done == ToolOutput(Status.SUCCESS, "one\ntwo\nthree\n", metadata={"exit_code": 0})
    assert "".join(room.chunks) == "one\ntwo\nthree\n"


async def test_a_failure_is_an_error_that_names_the_exit_code(room: Room) -> None:
    done = await _bash(room, "printf x; exit 3")
    assert done == ToolOutput(Status.ERROR, "x\n[exit code 3]", metadata={"exit_code": 3})


async def test_silence_is_said(room: Room) -> None:
    assert (await _bash(room, "true")).output == "[no output]"


async def test_a_death_by_signal_is_named(room: Room) -> None:
    done = await _bash(room, "kill -SEGV $$")
    assert done.output == "[ended by SIGSEGV]"
    assert done.metadata == {"exit_code": 139, "signal": "SIGSEGV"}


@pytest.mark.clock
async def test_a_command_that_takes_too_long_is_ended_and_keeps_its_output(room: Room) -> None:
    done = await _bash(room, "echo before; sleep 1000; echo after", timeout_s=1)
    assert done.output.startswith("before\n[timed out after 1 s")
    assert done.status is Status.ERROR
    assert done.metadata["timed_out"] is True


async def test_an_engine_that_looks_only_when_all_is_over_says_what_ended_it(room: Room) -> None:
    """As one does that was stopped: its own clock begins when it goes on."""

    class Stopped(ToolEnvironment, frozen=True):
        async def start(self, program: Program) -> Held:
            held = await super().start(program)
            await waiting.until(lambda: not room.supervisor.programs(), "its end")
            return held

    given = room.environment
    room.tools["Bash"] = Bash.at(
        Stopped(given.workspace, given.home, given.environ, bool, supervisor=room.supervisor)
    )
    late = await _bash(room, "echo before; sleep 1000", timeout_s=1)
    assert late.output.startswith("before\n[timed out after 1 s")
    assert late.metadata == {"exit_code": 137, "signal": "SIGKILL", "timed_out": True}
    killed = await _bash(room, "kill -KILL $$")
    assert killed.output == "[ended by SIGKILL]"
    assert killed.metadata == {"exit_code": 137, "signal": "SIGKILL"}
    assert (await _bash(room, "exit 3")).metadata == {"exit_code": 3}


@pytest.mark.clock
@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("sleep 1000 & echo one", 1),
        ("sleep 1000 >/dev/null 2>&1 & (setsid -f sleep 1000 >/dev/null 2>&1); echo two", 2),
        ("(trap '' TERM; exec sleep 1000 >/dev/null 2>&1) & echo deaf", 1),
    ],
)
async def test_processes_that_are_ended_with_their_command_are_told(
    room: Room, command: str, count: int
) -> None:
    done = await _bash(room, command)
    word = command.rpartition(" ")[2]
    what = "1 process that was" if count == 1 else f"{count} processes that were"
    assert done.status is Status.SUCCESS
    assert done.output == f"{word}\n[{what} still running when the command ended: ended too]"


async def test_what_is_ended_is_asked_first_and_given_its_time(room: Room) -> None:
    """Here as much as it takes: it is killed only if it does not listen."""
    listens = "trap 'echo asked >asked; exit' TERM; echo >up; while :; do sleep 0.01; done"
    argv = (_shell(room), "-c", f"({listens}) & exec sleep 0")
    environ = {"PATH": os.defpath}
    program = Program(argv, str(room.folder), environ, (None, None, None))
    with waiting.patience():
        held = await room.environment.start(program)
        await held.exited()
        await waiting.until((room.folder / "up").exists, "its start")
        assert await held.end(waiting.PATIENCE_S) == 0
    held.close()
    assert (room.folder / "asked").read_text() == "asked\n"


@pytest.mark.parametrize(
    "command", ["echo x", "echo x | tee >(cat >copy)", "sleep 0.01 & echo x", "sleep 0 & disown"]
)
async def test_what_is_about_to_exit_is_not_told(room: Room, command: str) -> None:
    assert "still running" not in (await _bash(room, command)).output


async def test_the_text_runs_as_it_is_in_a_fresh_shell_in_the_workspace(room: Room) -> None:
    (room.home / ".bashrc").write_text("echo rc\n")
    await _bash(room, "cd /; X=1; alias ls=false")
    done = await _bash(room, 'pwd; echo "${X-unset}"; shopt login_shell; cat; echo "$0 $#"')
    assert done.output == f"{room.folder}\nunset\nlogin_shell    \toff\n{_shell(room)} 0\n"


def _shell(room: Room) -> str:
    tool = room.tools["Bash"]
    assert isinstance(tool, Bash)
    assert tool.program is not None
    return tool.program


async def test_the_environment_is_what_the_analysis_assumes(room: Room, tmp_path: Path) -> None:
    hook = tmp_path / "hook"
    hook.write_text("echo hooked\n")
    environ = {
        "PATH": "::.:relative:/usr/bin:/bin:",
        "KEPT": "yes",
        "BASH_ENV": str(hook),
        "ENV": str(hook),
        "BASH_FUNC_ls%%": "() { echo hijacked; }",
        "POSIXLY_CORRECT": "1",
        "SHELLOPTS": "xtrace",
        "IFS": "x",
        "CDPATH": "/",
        "LANG": "zh_CN.GBK",
        "LC_CTYPE": "zh_CN.GBK",
    }
    environment = ToolEnvironment(
        room.environment.workspace, room.environment.home, environ, bool, supervisor=room.supervisor
    )
    room.tools["Bash"] = Bash.at(environment)
    done = await _bash(room, "echo $PATH $KEPT; env | grep -E '^(BASH|ENV|LC|LANG|POSIX)'; ls")
    assert done.output == "/usr/bin:/bin yes\nLC_ALL=C.UTF-8\n"


async def test_bytes_that_are_no_text_become_marks_also_across_reads(room: Room) -> None:
    done = await _bash(room, r"printf '\xe2\x98'; sleep 0.05; printf '\x83 \xff \xe2'")
    assert done.output == "☃ � �"
    assert "".join(room.chunks) == "☃ � �"


async def test_a_flood_is_kept_at_both_ends_and_streamed_up_to_a_limit(room: Room) -> None:
    done = await _bash(room, "echo first; yes | head -c 50000000; echo last")
    assert done.output.startswith("first\ny\n")
    assert done.output.endswith("y\nlast\n")
    assert "bytes left out …]" in done.output
    assert len(done.output.encode()) <= OUTPUT_BYTES_MAX
    assert done.metadata["truncated"] is True
    streamed = "".join(room.chunks)
    assert streamed.endswith(STREAM_STOPPED)
    assert STREAM_BYTES_MAX <= len(streamed) < STREAM_BYTES_MAX + 100_000


async def test_the_loop_goes_on_while_output_floods(room: Room) -> None:
    turns = 0
    async with anyio.create_task_group() as tasks:

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await anyio.lowlevel.checkpoint()

        tasks.start_soon(count)
        await _bash(room, "yes | head -c 20000000")
        tasks.cancel_scope.cancel()
    assert turns > 100


ESCAPES = {
    "background": "sleep 1000 & echo $! >pids",
    "nohup": "nohup sleep 1000 >/dev/null 2>&1 & echo $! >pids",
    "disown": "sleep 1000 >/dev/null 2>&1 & echo $! >pids; disown",
    "own session": "setsid sh -c 'echo $$ >pids; exec sleep 1000' >/dev/null 2>&1 &"
    " until [ -s pids ]; do :; done",
    "orphan": "(setsid sh -c 'sh -c \"echo \\$\\$ >pids; exec sleep 1000\" & exit'"
    " >/dev/null 2>&1 &); until [ -s pids ]; do :; done",
    "bare environment": "env -i setsid sh -c 'echo $$ >pids; exec sleep 1000' &"
    " until [ -s pids ]; do :; done",
    "bare and silent": "env -i sh -c 'echo $$ >pids; exec sleep 1000' >/dev/null 2>&1 &"
    " until [ -s pids ]; do :; done",
    "hidden pipe": "env -i setsid sh -c 'exec 9>&1 >/dev/null 2>&1; echo $$ >pids;"
    " exec sleep 1000' & until [ -s pids ]; do :; done",
    "deaf to TERM": "(trap '' TERM; echo $BASHPID >pids; while :; do sleep 1; done) &"
    " until [ -s pids ]; do :; done",
    "stopped": "sleep 1000 & echo $! >pids; kill -STOP $!",
}


@pytest.mark.parametrize("name", ESCAPES)
async def test_a_calls_processes_end_with_the_call(room: Room, name: str) -> None:
    done = await _bash(room, ESCAPES[name])
    assert done.status is Status.SUCCESS
    assert (room.folder / "pids").read_text().strip()
    assert _alive(room.folder / "pids") == []


@pytest.mark.parametrize("name", ESCAPES)
async def test_all_are_dead_before_a_cancellation_leaves(room: Room, name: str) -> None:
    prepared = await room.prepare("Bash", command=f"{ESCAPES[name]}; echo ready; sleep 1000")
    ready = anyio.Event()

    async def chunk(text: str) -> None:
        if "ready" in text:
            ready.set()

    with waiting.patience():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(room.tools["Bash"].run, prepared, RunContext("c1", chunk))
            await ready.wait()
            tasks.cancel_scope.cancel()
    assert _alive(room.folder / "pids") == []
    assert room.supervisor.programs() == []


async def test_cancelled_while_it_starts_nothing_is_left(room: Room) -> None:
    prepared = await room.prepare("Bash", command="sleep 1000")
    for steps in range(12):
        with waiting.patience():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(room.run, prepared)
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
        assert room.supervisor.programs() == []


async def test_what_it_wrote_before_its_start_was_heard_of_is_not_lost(room: Room) -> None:
    class Slow(ToolEnvironment, frozen=True):
        async def start(self, program: Program) -> Held:
            held = await super().start(program)
            try:
                await waiting.until((room.folder / "begun").exists, "its output")
                tasks.cancel_scope.cancel()
                await anyio.sleep_forever()
            finally:
                await held.abandon()
            raise AssertionError

    async def chunk(_: str) -> None:
        raise AssertionError

    given, left = room.environment, list[str]()
    bash = Bash.at(
        Slow(given.workspace, given.home, given.environ, bool, supervisor=room.supervisor)
    )
    prepared = await room.prepare("Bash", command="printf half; touch begun; sleep 1000")
    with waiting.patience():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bash.run, prepared, RunContext("c1", chunk, leave=left.append))
    assert left == ["half\n"]
    assert room.supervisor.programs() == []


async def test_calls_side_by_side_leave_each_other_alone(room: Room) -> None:
    os.mkfifo(room.folder / "gate")
    ready = anyio.Event()
    results: list[ToolOutput] = []

    async def chunk(_: str) -> None:
        ready.set()

    command = "setsid sleep 1000 & echo ready; read line <gate; kill -0 $! && echo $line"
    prepared = await room.prepare("Bash", command=command)

    async def first() -> None:
        results.append(await room.tools["Bash"].run(prepared, RunContext("c1", chunk)))

    with waiting.patience():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await ready.wait()
            await _bash(room, "setsid sleep 1000 & true")
            await _bash(room, "echo alive >gate")
    assert results[0].output.startswith("ready\nalive\n[1 process that was still running")


async def test_a_process_of_another_room_survives_the_sweep(room: Room) -> None:
    async with await anyio.open_process(["sleep", "1000"], start_new_session=True) as other:
        await _bash(room, "setsid sleep 1000 & true")
        assert other.returncode is None
        other.kill()


async def test_a_slow_host_loses_nothing(room: Room) -> None:
    release = anyio.Event()
    seen: list[str] = []

    async def chunk(text: str) -> None:
        seen.append(text)
        await release.wait()

    results: list[ToolOutput] = []
    prepared = await room.prepare("Bash", command="printf a; sleep 0.1; printf b; exit 4")

    async def run() -> None:
        results.append(await room.tools["Bash"].run(prepared, RunContext("c1", chunk)))

    with waiting.patience():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await waiting.until(
                lambda: seen and not room.supervisor.programs(),
                "the shell's end, its output unread",
            )
            release.set()
    assert results[0].output == "ab\n[exit code 4]"
    assert "".join(seen) == "ab"


async def test_a_host_that_is_gone_ends_the_call_with_its_own_error(room: Room) -> None:
    async def chunk(text: str) -> None:
        raise HostGoneError(text)

    prepared = await room.prepare("Bash", command="echo x; sleep 1000")
    with waiting.patience(), pytest.raises(HostGoneError):
        await room.tools["Bash"].run(prepared, RunContext("c1", chunk))
    assert room.supervisor.programs() == []


@pytest.mark.parametrize("command", [" \n\t", "a\0b", "x" * 200_000])
async def test_a_text_that_cannot_run_is_refused(room: Room, command: str) -> None:
    with pytest.raises(ToolError):
        await room.prepare("Bash", command=command)


async def test_the_card_shows_the_text_with_nothing_invisible(room: Room) -> None:
    prepared = await room.prepare("Bash", command="echo a\necho \u202e\x1b[2K b")
    assert prepared.command == "echo a\necho \u202e\x1b[2K b"
    assert prepared.accesses == ()
    assert prepared.description == "Execute: echo a⏎echo ⟨U+202E⟩⟨U+001B⟩[2K b"
    assert prepared.preview is not None
    assert prepared.preview.kind == "command"
    assert prepared.preview.text == "echo a\necho ⟨U+202E⟩⟨U+001B⟩[2K b"


async def test_a_missing_bash_or_workspace_is_an_error_in_words(room: Room) -> None:
    missing = Bash(room.environment, None)
    with pytest.raises(ToolError, match="bash was not found"):
        await missing.prepare({"command": "true"})
    prepared = await room.prepare("Bash", command="true")
    room.folder.rmdir()
    with pytest.raises(ToolError, match=r"could not be started.*No such file"):
        await room.run(prepared)


async def test_no_descriptor_is_left_open(room: Room) -> None:
    await _bash(room, "true")
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        await _bash(room, "sleep 1000 & echo x")
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize("char", ["x", "é", "\u202e", "\n", "\x01", "🙂"])
@pytest.mark.parametrize("over", [-1, 0, 1])
async def test_what_a_card_cannot_show_whole_is_no_call(room: Room, char: str, over: int) -> None:
    """A command is as long as it looks: what is invisible is shown as a marker."""
    fitting = PREVIEW_BYTES_MAX // len(visible(char).encode())
    command = "echo " + char * (fitting - 5 + over)
    tool = room.tools["Bash"]
    if len(visible(command).encode()) <= PREVIEW_BYTES_MAX:
        preview = (await tool.prepare({"command": command})).preview
        assert preview == Preview("command", visible(command))
        return
    with pytest.raises(ToolError, match=f"{PREVIEW_BYTES_MAX} bytes .*; write a script"):
        await tool.prepare({"command": command})
