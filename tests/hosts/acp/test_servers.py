"""MCP servers that the editor passes in: real ones, and one that cannot be had."""

import importlib.util
import json
import shlex
import shutil
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
import waiting
from hosts.acp.editor import Editor, Frame, RequestFailedError, choose
from hosts.places import FAKE_ENGINE, PYTHON, Place
from rogue_servers import ROGUE, tool

from hosts.acp import frames

pytestmark = pytest.mark.anyio

ALLOW = choose("allow_once")
EVERYTHING = shutil.which("mcp-server-everything", path=str(frames.NODE_MODULES / ".bin"))
needs_everything = pytest.mark.skipif(
    EVERYTHING is None, reason="no server: npm install --no-save @modelcontextprotocol/server-…"
)
needs_time = pytest.mark.skipif(
    importlib.util.find_spec("mcp_server_time") is None, reason="no pip install mcp-server-time"
)


def program(name: str, command: str, *args: str, **env: str) -> Frame:
    """Return a server as an editor passes it in."""
    named = [{"name": key, "value": value} for key, value in env.items()]
    return {"name": name, "command": command, "args": list(args), "env": named}


TIME = program("time", sys.executable, "-m", "mcp_server_time")
GONE = program("gone", "/no/such/program")
CONVERT = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}


@needs_time
async def test_a_tool_of_a_server_that_the_editor_passes_in_asks_and_works(place: Place) -> None:
    model = place.script([tool("convert_time", "c", "time", **CONVERT)], [{"text": "done"}])
    async with Editor(place, "--model", model, answers=ALLOW) as editor:
        await editor.open()
        await editor.prompt(await editor.session(mcpServers=[TIME]))
        (card,) = editor.cards()
        assert "convert_time" in card["toolCall"]["title"]
        assert card["toolCall"]["_meta"]["wcore"]["category"] == "mcp"
        assert "T21:00:00+09:00" in str(editor.call("c")["content"])
        assert editor.said() == "done"


@needs_everything
async def test_a_server_over_http_works_with_its_headers(place: Place) -> None:
    model = place.script([tool("echo", "c", "web", message="over the wire")], [{"text": "done"}])
    headers = [{"name": "X-Test", "value": "1"}]
    async with everything() as url, Editor(place, "--model", model, answers=ALLOW) as editor:
        await editor.open()
        web = {"type": "http", "name": "web", "url": url, "headers": headers}
        await editor.prompt(await editor.session(mcpServers=[web]))
        assert "over the wire" in str(editor.call("c")["content"])


@pytest.mark.parametrize(
    ("name", "told", "reason"),
    [
        ("gone", "`gone`", "is no program"),
        ("_g`o *ne__\u202e", "``g`o *ne_⟨U+202E⟩``", "is no program"),
        ("\u202e" * 3, f"`{'⟨U+202E⟩' * 3}`", "cannot name a server"),
    ],
)
async def test_a_server_that_cannot_be_had_is_said_and_the_turn_goes_on(
    place: Place, name: str, told: str, reason: str
) -> None:
    model = place.script([tool("echo", "c", "r")], [{"text": "done"}])
    rogue = program("r", sys.executable, str(ROGUE), ROGUE_TRACE=str(place.workspace / "trace"))
    async with Editor(place, "--model", model, answers=ALLOW) as editor:
        await editor.open()
        session_id = await editor.session(mcpServers=[{**GONE, "name": name}, rogue])
        end = await editor.prompt(session_id)
        assert end["stopReason"] == "end_turn"
        assert editor.said().startswith(f"MCP server {told} is not available: ")
        assert editor.said().count(reason) == 1, "told once"
        assert editor.said().endswith("done")
        assert editor.call("c")["status"] == "completed"


async def test_a_server_that_fails_before_the_turn_has_begun_ends_nothing(place: Place) -> None:
    engine = shlex.join((*PYTHON, str(FAKE_ENGINE), "server_fails"))
    async with Editor(place, "--engine", engine) as editor:
        await editor.open()
        session_id = await editor.session(mcpServers=[GONE, {**GONE, "name": "other"}])
        assert (await editor.prompt(session_id))["stopReason"] == "end_turn"
        failed = [f"MCP server `{name}` is not available: `no`\n" for name in ("gone", "other")]
        assert editor.said() == "".join((*failed, "done"))
        with pytest.raises(RequestFailedError, match="not again"):
            await editor.prompt(session_id)


@pytest.mark.parametrize("manner", ["plain", "silent"])
async def test_a_server_that_dies_or_hangs_can_be_cancelled(place: Place, manner: str) -> None:
    model = place.script([tool("hang", "c", "r")], [{"text": "again"}])
    rogue = program("r", sys.executable, str(ROGUE), manner)
    async with Editor(place, "--model", model, answers=ALLOW) as editor:
        await editor.open()
        session_id = await editor.session(mcpServers=[rogue])
        turn = await editor.begin("session/prompt", sessionId=session_id, prompt=[])
        if manner == "plain":
            await editor.until(lambda: editor.call("c").get("status") == "in_progress")
        else:
            await editor.until(lambda: "waiting for MCP servers" in str(editor.updates()))
        await editor.notify("session/cancel", sessionId=session_id)
        assert (await editor.result(turn))["stopReason"] == "cancelled"


@pytest.mark.parametrize("forms", [True, False])
async def test_a_question_of_a_server_is_a_form_of_its_own(place: Place, forms: bool) -> None:
    model = place.script([tool("ask", "c", "r")], [{"text": "done"}])
    rogue = program("r", sys.executable, str(ROGUE))

    def answer(method: str, _params: Frame) -> Frame:
        if method == "elicitation/create":
            return {"action": "accept", "content": {"colour": "teal"}}
        return {"outcome": {"outcome": "selected", "optionId": "allow_once"}}

    able: Frame = {"elicitation": {"form": {}}} if forms else {"terminal": True}
    async with Editor(place, "--model", model, answers=answer) as editor:
        await editor.open(**able)
        await editor.prompt(await editor.session(mcpServers=[rogue]))
        told = json.dumps(editor.call("c")["content"])
        assert ("teal" in told) == forms
        if forms:
            form = next(p for _, m, p in editor.asked if m == "elicitation/create")
            assert form["requestedSchema"]["properties"] == {"colour": {"type": "string"}}
            assert "r asks" in form["message"]
        else:
            assert "decline" in told
            assert "This editor has no forms" in str(editor.cards()[-1])


@asynccontextmanager
async def everything() -> AsyncGenerator[str]:
    """A real server over streamable HTTP; yields its address."""
    assert EVERYTHING
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    node = str(frames.NODE_MODULES / ".bin" / "node")
    env = {"PATH": "/usr/bin:/bin", "PORT": str(port)}
    command = [shutil.which(node) or "node", EVERYTHING, "streamableHttp"]
    async with await anyio.open_process(command, env=env, stdin=None) as server:
        try:
            with waiting.patience():
                assert server.stderr
                said = b""
                while b"listening" not in said.lower():
                    said += await server.stderr.receive()
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.kill()
