"""Clients that nobody here wrote: acpx, and the official SDKs of TypeScript and Python."""

import json
import os
import shutil
import subprocess
import sys
from typing import Any

import anyio
import pytest
import waiting
from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, RequestPermissionResponse
from hosts.acp.editor import BRIDGE
from hosts.places import Place
from talking import ROOT, call

from hosts.acp import frames

BIN = frames.NODE_MODULES / ".bin"
needs_acpx = pytest.mark.skipif(
    not (BIN / "acpx").exists() or not (BIN / "node").exists(),
    reason="no acpx: npm install --no-save node@24 acpx, or WCORE_NODE_MODULES",
)
needs_sdk = pytest.mark.skipif(
    not frames.is_there() or not shutil.which("node"),
    reason="no TypeScript SDK: npm install --no-save @agentclientprotocol/sdk",
)

WRITE = call("Write", "w", file_path="new.txt", content="x")
DONE: list[object] = [{"text": "done"}]


def command(place: Place, model: str, *words: str) -> tuple[list[str], dict[str, str]]:
    """Return how acpx is called with this agent, and its environment."""
    agent = " ".join((*BRIDGE, "--model", model))
    env = {**place.env, "PATH": f"{BIN}{os.pathsep}{place.env['PATH']}"}
    return [str(BIN / "acpx"), "--agent", agent, "--cwd", str(place.workspace), *words], env


def acpx(place: Place, model: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Let acpx send one prompt."""
    called, env = command(place, model, *flags, "exec", "go")
    return waiting.run(called, env=env, cwd=place.workspace)


async def spoken(place: Place, model: str, *words: str) -> str:
    """Let acpx do something with its session; return what it printed."""
    called, env = command(place, model, *words)
    done = await waiting.run_process(called, env=env, cwd=place.workspace)
    return done.stdout.decode()


@needs_acpx
def test_acpx_approves(place: Place) -> None:
    done = acpx(place, place.script([WRITE], DONE), "--approve-all")
    assert done.returncode == 0, done.stderr
    assert "done" in done.stdout
    assert place.file("new.txt").read_text() == "x"


@needs_acpx
@pytest.mark.parametrize(
    "flags",
    [
        ("--deny-all",),
        ("--permission-policy", '{"autoDeny":["edit"],"defaultAction":"deny"}'),
        ("--approve-reads",),
    ],
)
def test_acpx_denies(place: Place, flags: tuple[str, ...]) -> None:
    done = acpx(place, place.script([WRITE], DONE), *flags, "--non-interactive-permissions", "deny")
    assert done.returncode == 5, done.stdout + done.stderr
    assert not place.file("new.txt").exists()


@needs_acpx
def test_the_trace_of_acpx_holds_to_the_schema(place: Place) -> None:
    model = place.script([WRITE, call("Bash", "b", command="echo hi")], DONE)
    done = acpx(place, model, "--approve-all", "--format", "json", "--json-strict")
    assert done.returncode == 0, done.stderr
    trace = [json.loads(line) for line in done.stdout.splitlines()]
    exchanged = frames.directed(trace)
    assert {"session/request_permission", "session/update"} <= {f.get("method") for f in trace}
    for direction, frame in exchanged:
        frames.check(direction, frame)
    frames.check_answers(exchanged)


@needs_acpx
@pytest.mark.anyio
async def test_acpx_cancels(place: Place) -> None:
    runs = call("Bash", "b", command="echo $$ > started; exec sleep 600")
    model = place.script([runs], DONE)
    await spoken(place, model, "--ttl", "5", "sessions", "new")
    said: list[str] = []

    async def prompt() -> None:
        said.append(await spoken(place, model, "--ttl", "5", "--approve-all", "prompt", "go"))

    started = place.file("started")
    with waiting.patience():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(prompt)
            await waiting.until(lambda: started.exists() and started.read_text().strip(), "a start")
            assert "cancel requested" in await spoken(place, model, "cancel")
    assert "[done] cancelled" in said[0]
    assert not waiting.is_living(int(started.read_text()))
    await spoken(place, model, "sessions", "close")


@needs_sdk
@pytest.mark.parametrize(
    ("choice", "stop_reason", "status", "written"),
    [
        ("allow_once", "end_turn", "completed", True),
        ("reject_once", "end_turn", "failed", False),
        ("cancel", "cancelled", "failed", False),
    ],
)
def test_the_typescript_sdk(
    place: Place, *, choice: str, stop_reason: str, status: str, written: bool
) -> None:
    script = place.workspace.parent / "official_client.mjs"
    shutil.copy(ROOT / "tests/hosts/acp/official_client.mjs", script)
    (place.workspace.parent / "node_modules").symlink_to(frames.NODE_MODULES)
    bridge = (*BRIDGE, "--model", place.script([WRITE], DONE))
    done = waiting.run(
        ["node", str(script), *bridge, "--", choice], env=place.env, cwd=place.workspace
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    assert seen["stopReasons"] == [stop_reason]
    assert seen["exitCode"] == 0
    assert [u["status"] for u in seen["updates"] if u.get("toolCallId") == "w"][-1] == status
    assert place.file("new.txt").exists() == written


@pytest.mark.anyio
async def test_the_python_sdk(place: Place) -> None:
    class Client:
        def __init__(self) -> None:
            self.said = ""

        async def request_permission(self, **_asked: object) -> RequestPermissionResponse:
            outcome = AllowedOutcome(outcome="selected", option_id="allow_once")
            return RequestPermissionResponse(outcome=outcome)

        async def session_update(self, update: Any, **_rest: object) -> None:
            if update.session_update == "agent_message_chunk":
                self.said += update.content.text

    client: Any = Client()
    flags = ("--model", place.script([WRITE], DONE))
    command = (sys.executable, *BRIDGE[1:], *flags)
    async with spawn_agent_process(client, *command, env=place.env) as (connection, _):
        await connection.initialize(protocol_version=PROTOCOL_VERSION)
        opened = await connection.new_session(cwd=str(place.workspace), mcp_servers=[])
        end = await connection.prompt(session_id=opened.session_id, prompt=[text_block("go")])
    assert (end.stop_reason, client.said) == ("end_turn", "done")
    assert place.file("new.txt").read_text() == "x"
