"""Servers that nobody here wrote: those of the protocol's own people.

`mcp-server-time` and `mcp-server-git` come with the extra `dev`. The others are from npm, found in
`node_modules` or below `WCORE_MCP_SERVERS`, a folder with programs.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
import waiting
from rogue_servers import approved, asked, connect, ended, free_port, listening, tool
from talking import ROOT, Conversation

Talk = Callable[..., Conversation]
pytestmark = [
    pytest.mark.anyio,
]

FOLDERS = f"{os.environ.get('WCORE_MCP_SERVERS', '')}:{ROOT / 'node_modules' / '.bin'}"


def of_npm(name: str) -> str:
    """Return the path of a server from npm, or skip the test."""
    found = shutil.which(name, path=FOLDERS)
    if found is None:
        pytest.skip(f"no {name}: npm install --no-save @modelcontextprotocol/{name[4:]}")
    return found


def of_pypi(module: str) -> list[str]:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"no {module}: pip install {module.replace('_', '-')}")
    return ["-m", module]


async def test_time(talk: Talk) -> None:
    call = tool("convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo")
    async with talk([call], []) as host:
        await host.ready()
        ready = await connect(host, command=sys.executable, args=of_pypi("mcp_server_time"))
        assert ready["tools"] == ["get_current_time", "convert_time"]
        await host.message()
        result = json.loads((await approved(host, "c"))["output"])
        assert result["target"]["datetime"].endswith("T21:00:00+09:00")
        await host.hear("stream_end")


async def test_git(talk: Talk, workspace: Path) -> None:
    await waiting.run_process(["git", "init", "-q", str(workspace)])
    (workspace / "new.txt").write_text("x")
    path = str(workspace)
    calls = [tool("git_status", repo_path=path), tool("git_status", "out", repo_path="/etc")]
    async with talk(calls, []) as host:
        await host.ready()
        module = of_pypi("mcp_server_git")
        await connect(host, command=sys.executable, args=[*module, "--repository", path])
        await host.message()
        assert "new.txt" in (await approved(host, "c"))["output"]
        assert (await approved(host, "out"))["status"] == "error"
        await host.hear("stream_end")


async def test_filesystem(talk: Talk, workspace: Path) -> None:
    (workspace / "a.txt").write_text("hello")
    path = str(workspace / "a.txt")
    calls = [
        tool("read_text_file", path=path),
        tool("read_text_file", "out", path="/etc/passwd"),
        tool("read_text_file", "bad", path=3),
    ]
    async with talk(calls, []) as host:
        await host.ready()
        server = of_npm("mcp-server-filesystem")
        ready = await connect(host, command=server, args=[str(workspace)])
        assert "read_text_file" in ready["tools"]
        await host.message()
        assert (await approved(host, "c"))["output"] == "hello"
        assert (await approved(host, "out"))["status"] == "error"
        assert (await approved(host, "bad"))["status"] == "error"
        await host.hear("stream_end")


async def test_everything_one_call_after_another(talk: Talk) -> None:
    calls = [
        tool("get-tiny-image", "image"),
        tool("get-resource-links", "links", count=2),
        tool("get-env", "env"),
        tool("get-roots-list", "roots"),
        tool("trigger-long-running-operation", "long", duration=1, steps=2),
    ]
    async with talk(calls, [], env={"SOME_API_KEY": "k" * 20}) as host:
        await host.ready()
        await connect(host, command=of_npm("mcp-server-everything"), args=["stdio"])
        await host.message()
        assert "[image: image/png, " in (await approved(host, "image"))["output"]
        assert (await approved(host, "links"))["output"].count("[resource link: ") == 2
        assert "k" * 20 not in (await approved(host, "env"))["output"]
        assert host.workspace.name in (await approved(host, "roots"))["output"]
        assert (await approved(host, "long"))["status"] == "success"
        assert host.of("tool_chunk")[-1]["chunk"].endswith("2 of 2\n")
        await host.hear("stream_end")


async def test_everything_asks_a_person(talk: Talk) -> None:
    async with talk([tool("trigger-elicitation-request", "ask")], []) as host:
        await host.ready()
        await connect(host, command=of_npm("mcp-server-everything"), args=["stdio"])
        await host.message()
        await asked(host, "ask")
        await host.approve("ask")
        card = await host.hear("tool_request")
        assert card["tool"]["args"]["header"] == "r asks"
        assert "name" in card["tool"]["args"]["schema"]["required"]
        await host.approve(card["call_id"], answer='{"name": "Ann"}')
        assert "Ann" in (await ended(host, "ask"))["output"]
        await host.hear("stream_end")


@pytest.mark.parametrize(
    ("kind", "transport", "path"),
    [("streamableHttp", "streamable-http", "mcp"), ("sse", "sse", "sse")],
)
async def test_everything_over_http(talk: Talk, kind: str, transport: str, path: str) -> None:
    program, port = of_npm("mcp-server-everything"), free_port()
    environ = {**os.environ, "PORT": str(port)}
    server = await anyio.open_process(
        [program, kind], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        await listening(port)
        async with talk([tool("echo", message="hi"), tool("get-sum", "n", a=1, b=2)], []) as host:
            await host.ready()
            url = f"http://127.0.0.1:{port}/{path}"
            await connect(host, transport=transport, url=url, headers={"X-Test": "v"})
            await host.message()
            assert (await approved(host, "c"))["output"] == "Echo: hi"
            assert "3" in (await approved(host, "n"))["output"]
            await host.hear("stream_end")
    finally:
        server.kill()
        await server.aclose()
