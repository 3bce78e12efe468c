"""How the program of a server ended, as people are told."""

from pathlib import Path
from typing import Any, cast

import anyio
import pytest
import waiting
from supervising import supervised

from wcore.tools.mcp.environment import McpEnvironment
from wcore.tools.mcp.server_config import ServerConfig

CLOSES = "exec <&-; : >closed; until [ -e go ]; do sleep 0.01; done; exit {code}"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("code", "told"), [(4, "it ended with exit code 4"), (0, "it closed its input")]
)
async def test_what_a_server_was_that_hears_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, told: str
) -> None:
    """It may be seen not to read before it is seen to have ended."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    from wcore.tools.mcp import stdio

    monkeypatch.setattr(stdio, "LEAVE_S", waiting.PATIENCE_S)
    script = CLOSES.format(code=code)
    config = ServerConfig("s", "s", "stdio", "/bin/sh", ("-c", script), cwd=str(tmp_path))
    with supervised() as supervisor, waiting.patience():
        async with anyio.create_task_group() as tasks:
            folder = str(tmp_path)
            world = McpEnvironment(folder, folder, {}, supervisor.start, tasks, str)
            server = stdio.StdioProcess(config, world)
            async with server.streams() as (_, write):
                await waiting.until((tmp_path / "closed").exists, "its input to be closed")
                message = jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", "method": "m"})
                await cast("Any", write).send(SessionMessage(message))
                await server.ended.wait()
                (tmp_path / "go").touch()
            assert server.told() == told
