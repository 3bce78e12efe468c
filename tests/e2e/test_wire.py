"""The wire: what is malformed, what is bounded, and whose stdout it is."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
import waiting
from talking import Conversation, call

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

LINE_BYTES_MAX = 8 * 1024 * 1024
BASE_CAPABILITIES = {
    "tool_approval", "thinking", "effort", "effort_levels", "modes", "current_mode", "mcp",
}  # fmt: skip

MALFORMED = [
    b"{",
    b"[]",
    b'"x"',
    b"nonsense",
    b"{}",
    b'{"type":1}',
    b'{"type":null}',
    b'{"type":"no_such_command"}',
    b'{"type":"message","content":"x"}',
    b'{"type":"message","msg_id":7,"content":"x"}',
    b'{"type":"message","msg_id":"a\\u0000b","content":"x"}',
    b'{"type":"message","msg_id":"","content":"x"}',
    b'{"type":"message","msg_id":"m","content":"raw\x00nul"}',
    b'{"type":"message","msg_id":"m","content":"bad \xff utf-8"}',
    b'\xff\xfe{"type":"ping"}',
    b'{"type":"message","msg_id":"\\ud800","content":"x"}',
    b'{"type":"ping","x":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    b'{"type":"set_config","thinking_budget":4294967296}',
    b'{"type":"set_config","thinking_budget":1e999}',
    b'{"type":"set_config","thinking_budget":-1}',
    b'{"type":"set_mode","mode":"wild"}',
    b'{"type":"ping"} {"type":"ping"}',
    b'{"type":"approval_resume","resume_token":"x"}',
]


PLUGIN = """
import os, pathlib

pathlib.Path(os.environ["LOADED"]).touch()
"""


async def run_to_end(
    workspace: Path, *flags: str, stdin: int = subprocess.DEVNULL, data: bytes = b""
) -> tuple[int, list[dict[str, object]], bytes]:
    """Run an engine with this stdin; return exit code, events and stderr."""
    done = await waiting.run_process(
        [sys.executable, "-m", "wcore", *flags],
        cwd=workspace,
        env={**os.environ, "HOME": str(workspace.parent / "home")},
        check=False,
        **({"input": data} if data else {"stdin": stdin}),  # pyright: ignore[reportArgumentType]
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


async def test_ready_is_the_first_line_and_complete(talk: Talk) -> None:
    async with talk(flags=("--session-id", "s-1")) as host:
        ready = await host.ready()
        assert ready["version"]
        assert ready["session_id"] == "s-1"
        assert set(ready["capabilities"]) >= BASE_CAPABILITIES
        assert ready["capabilities"]["current_mode"] in ready["capabilities"]["modes"]
        assert "contract" not in ready
        assert await host.quiet() == []


@pytest.mark.parametrize("line", MALFORMED, ids=range(len(MALFORMED)))
async def test_a_malformed_line_is_one_error_and_the_next_line_works(
    talk: Talk, line: bytes
) -> None:
    async with talk() as host:
        await host.ready()
        await host.say_raw(line + b"\n")
        (error,) = await host.quiet()
        assert error["type"] == "error"
        assert "msg_id" not in error
        assert error["error"]["code"] == "protocol_error"
        assert error["error"]["retryable"] is False
        assert len(error["error"]["message"].encode()) <= 330


async def test_a_line_of_exactly_the_cap_is_read_and_a_longer_one_is_one_error(talk: Talk) -> None:
    async with talk() as host:
        await host.ready()
        body = b'{"type":"ping","pad":"' + b"x" * (LINE_BYTES_MAX - 25) + b'"}\n'
        assert len(body) == LINE_BYTES_MAX
        await host.say_raw(body)
        assert (await host.next())["type"] == "pong"
        await host.say_raw(body.replace(b'"}', b'x"}'))
        error = await host.next()
        assert error["error"]["code"] == "protocol_error"
        assert len(error["error"]["message"]) < 200
        assert await host.quiet() == []


async def test_crlf_blank_lines_and_unknown_fields_and_nulls_are_fine(talk: Talk) -> None:
    async with talk([], [], []) as host:
        await host.ready()
        await host.say_raw(b'\r\n\n  \n{"type":"ping","extra":{"a":[1]}}\r\n')
        assert (await host.next())["type"] == "pong"
        await host.say(type="message", msg_id="m1", content="x", files=None, extra=1)
        await host.hear("stream_end")


async def test_a_last_line_without_newline_is_obeyed(workspace: Path) -> None:
    code, events, _ = await run_to_end(workspace, data=b'{"type":"ping"}')
    assert code == 0
    assert [event["type"] for event in events] == ["ready", "pong"]


async def test_dev_null_and_regular_files_serve_as_stdin(workspace: Path, tmp_path: Path) -> None:
    code, events, _ = await run_to_end(workspace)
    assert (code, [event["type"] for event in events]) == (0, ["ready"])
    path = tmp_path / "commands"
    path.write_bytes(b'{"type":"ping"}\n' * 5000)
    with path.open("rb") as file:
        code, events, _ = await run_to_end(workspace, stdin=file.fileno())
    assert code == 0
    assert len(events) == 5001


async def test_a_terminal_serves_as_stdin_and_its_hang_up_as_the_end(workspace: Path) -> None:
    ours, theirs = pty.openpty()
    process = await anyio.open_process(
        [sys.executable, "-m", "wcore"], cwd=workspace, stdin=theirs, start_new_session=True
    )
    os.close(theirs)
    async with process:
        assert process.stdout
        with waiting.patience():
            assert b'"ready"' in await process.stdout.receive()
            os.write(ours, b'{"type":"ping"}\n')
            assert b'"pong"' in await process.stdout.receive()
            os.close(ours)
            assert await process.wait() == 0


async def test_a_closed_stdin_is_an_end_of_file_and_a_closed_stdout_a_refusal(
    workspace: Path,
) -> None:
    shell = f"{sys.executable} -m wcore <&-; {sys.executable} -m wcore </dev/null >&-; echo $?"
    done = await waiting.run_process(["bash", "-c", shell], cwd=workspace, check=False)
    first, last = done.stdout.splitlines()
    assert json.loads(first)["type"] == "ready"
    assert last == b"1"
    assert b"stdout is closed" in done.stderr
    assert b"Traceback" not in done.stderr


async def test_what_anything_else_prints_never_reaches_the_wire(talk: Talk, tmp_path: Path) -> None:
    noisy = tmp_path / "site"
    noisy.mkdir()
    (noisy / "psutil.py").write_text(
        "import os, sys\nprint('STRAY', flush=True)\nos.write(1, b'STRAY')\n"
        "assert sys.stdin.read() == ''\nraise ImportError('noisy')\n"
    )
    path = os.pathsep.join([str(noisy), os.environ.get("PYTHONPATH", "")])
    run = [call("Bash", "c1", command="echo out; echo STRAY > /proc/$PPID/fd/1")]
    async with talk(run, [], flags=("--force",), env={"PYTHONPATH": path}) as host:
        await host.ready()
        await host.message()
        await host.hear("stream_end")
        assert len(host.of("tool_result")) == 1


async def test_a_host_that_does_not_read_loses_nothing(talk: Talk) -> None:
    deltas = [{"repeat": 30_000, "text": "{n} "}]
    async with talk(deltas) as host:
        await host.ready()
        await host.message()
        await host.say(type="ping")
        with waiting.patience():  # wait until it has filled the pipe and stopped
            before = -1
            while before != (now := _cpu_ticks(host.process.pid)) or now < 5:
                before = now
                await anyio.sleep(0.1)
        assert _rss_kib(host.process.pid) < 120_000, "a stalled host must not cost memory"
        await host.hear("stream_end")
        text = "".join(event["text"] for event in host.of("text_delta"))
        assert text.split() == [str(n) for n in range(1, 30_001)]
        assert len(host.of("text_delta")) == 30_000


def _rss_kib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0])


def _cpu_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11])


async def test_a_closed_stdout_ends_the_engine_and_its_children(talk: Talk) -> None:
    run = [call("Bash", "c1", command="echo $$; exec sleep 60")]
    host = talk(run, flags=("--force",))
    async with host:
        await host.ready()
        await host.message()
        pid = int((await host.hear("tool_chunk"))["chunk"])
        host.close_stdout()
        with host.patience("its end"):
            host.exit_code = await host.process.wait()
        assert host.exit_code == 141
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        host.heard.clear()  # this conversation was cut off


async def test_a_parked_call_does_not_run_when_stdout_closes(talk: Talk) -> None:
    host = talk([call("Bash", "c1", command="echo x > ran")])
    async with host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        host.close_stdout()
        with host.patience("its end"):
            host.exit_code = await host.process.wait()
        assert not (host.workspace / "ran").exists()
        host.heard.clear()


async def test_odd_characters_of_tools_are_valid_json(talk: Talk) -> None:
    run = [call("Bash", "c1", command=r"printf 'a\0b\033[31mc\377\355\240\200d\342\200\250e'")]
    async with talk(run, [], flags=("--force",)) as host:
        await host.ready()
        await host.message()
        output = (await host.hear("tool_result"))["output"]
        assert output.startswith("a\0b\x1b[31mc�")
        assert output.endswith("d\u2028e")
        await host.hear("stream_end")


async def test_ten_megabytes_of_output_are_cut_and_the_session_goes_on(talk: Talk) -> None:
    run = [call("Bash", "c1", command="head -c 10485760 /dev/zero | tr '\\0' x; echo end")]
    async with talk(run, [], flags=("--force",)) as host:
        await host.ready()
        await host.message()
        result = await host.hear("tool_result")
        assert len(result["output"].encode()) <= 256 * 1024
        assert "end" in result["output"][-20:]
        assert result["metadata"]["truncated"] is True
        await host.hear("stream_end")
        streamed = sum(len(event["chunk"]) for event in host.of("tool_chunk"))
        assert streamed < 2 * 1024 * 1024


# --- the command line -------------------------------------------------------------------------


async def test_the_version_is_one_line(workspace: Path) -> None:
    done = await waiting.run_process([sys.executable, "-m", "wcore", "--version"], cwd=workspace)
    assert done.stdout.startswith(b"wcore ")
    assert done.stdout.count(b"\n") == 1


async def test_the_help_teaches(workspace: Path) -> None:
    done = await waiting.run_process([sys.executable, "-m", "wcore", "--help"], cwd=workspace)
    for word in (b"wcore-chat", b"--prompts", b"script:FILE", b"exit codes"):
        assert word in done.stdout


@pytest.mark.parametrize(
    ("flags", "exit_code", "says"),
    [
        (["--no-such-flag"], 2, "--no-such-flag"),
        (["--mode", "wild"], 2, "read_only"),
        (["--force", "--max-mode", "read_only"], 2, "ceiling"),
        (["--resume", "a", "--session-id", "b"], 2, "exclude"),
        (["--cwd", "no/such/folder"], 2, "no such folder"),
        (["--approval-ttl", "never"], 2, "never"),
        (["--max-turns", "-1"], 2, "above 0"),
        (["--resume", "missing"], 1, "missing"),
    ],
)
async def test_what_cannot_start_says_so_once_and_exits(
    workspace: Path, flags: list[str], exit_code: int, says: str
) -> None:
    code, events, stderr = await run_to_end(workspace, *flags)
    assert code == exit_code
    (event,) = events
    assert event["type"] == "error"
    assert event["error"]["code"] == "init_failed"  # pyright: ignore
    assert says in event["error"]["message"]  # pyright: ignore
    assert b"Traceback" not in stderr


async def test_half_a_character_and_a_mark_at_the_beginning_cost_no_command(talk: Talk) -> None:
    async with talk([]) as host:
        await host.ready()
        await host.say_raw(b'\xef\xbb\xbf{"type":"init_history","text":"cut \\ud83d"}\n')
        await host.say_raw(b'{"type":"message","msg_id":"m1","content":"cut \xed\xa0\xbd"}\n')
        await host.hear("stream_end")
        await host.say(type="get_history")
        said = (await host.hear("command_result"))["messages"]
        assert [each["text"] for each in said[:2]] == ["cut \ufffd", "cut \ufffd"]
        assert host.of("error") == []
        await host.say_raw(b'\xef\xbb\xbf{"type":"ping"}\n')
        assert (await host.next())["type"] == "error", "a mark is one at the very beginning only"


async def test_what_is_approved_is_never_mended(talk: Talk) -> None:
    async with talk([call("Write", "w", file_path="a.txt", content="x")], []) as host:
        await host.ready()
        await host.message()
        digest = (await host.hear("tool_request"))["digest"]
        args = {"file_path": "a\ud83d.txt", "content": "x"}
        for changed in (args, {"file_path": "a.txt", "content": "\ud83d"}):
            line = {"type": "tool_approve", "call_id": "w", "digest": digest, "args": changed}
            await host.say_raw(json.dumps(line).encode() + b"\n")
            assert (await host.next())["error"]["code"] == "protocol_error"
        await host.deny("w", reason="no \ud83d")
        assert (await host.hear("tool_cancelled"))["reason"] == "no \ufffd"
        await host.hear("stream_end")
        assert list(host.workspace.iterdir()) == []


async def test_flags_of_existing_hosts_are_understood(talk: Talk) -> None:
    flags = (
        "--json-stream", "--max-tokens", "100", "--max-turns", "5", "--system-prompt", "be kind",
        "--base-url", "http://127.0.0.1:1", "--auto-approve", "--session-id", "x",
        "--dangerously-skip-permissions", "--no-hitl-suspend", "--reap-interval", "1",
    )  # fmt: skip
    async with talk([], flags=flags) as host:
        ready = await host.ready()
        assert ready["capabilities"]["current_mode"] == "force"
        assert "hitl_suspend" not in ready["capabilities"]


async def test_wcore_and_python_m_wcore_are_the_same_program(workspace: Path) -> None:
    script = Path(sys.executable).parent / "wcore"
    done = await waiting.run_process([str(script), "--version"], cwd=workspace)
    assert done.stdout.startswith(b"wcore ")


async def test_what_is_installed_beside_the_engine_does_not_see_the_wire(
    talk: Talk, tmp_path: Path
) -> None:
    beside, loaded = tmp_path / "beside", tmp_path / "loaded"
    about = beside / "nosy-1.0.dist-info"
    about.mkdir(parents=True)
    (beside / "nosy.py").write_text(PLUGIN)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: nosy\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[pydantic]\nnosy = nosy:PLUGIN\n")
    env = {"PYTHONPATH": str(beside), "LOADED": str(loaded)}
    says = [call("Bash", "b", command="env")]
    async with talk(says, [], env=env) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.approve("b")
        output = (await host.hear("tool_result"))["output"]
        await host.hear("stream_end")
    assert f"LOADED={loaded}" in output  # the engine had it in its environment
    assert "PYDANTIC_DISABLE_PLUGINS" not in output
    assert not loaded.exists()
