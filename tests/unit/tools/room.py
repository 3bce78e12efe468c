"""A workspace with the real tools in it, and one short way to call them."""

import os
from pathlib import Path

from supervising import Supervised

from wcore.tools.builtin.catalog import builtin_tools
from wcore.tools.tool import RunContext, Tool, ToolEnvironment
from wcore.vocabulary import Json, Prepared, ToolOutput


def is_protected(path: str) -> bool:
    """Stand for the policy: `.env` files and everything in `.git` or `.ssh`."""
    parts = path.split("/")
    return ".git" in parts or ".ssh" in parts or parts[-1].startswith(".env")


class Room:
    """What a test needs: `put` a file, `call` a tool, look at `chunks`."""

    def __init__(self, workspace: str, home: str, supervisor: Supervised) -> None:
        self.folder = Path(workspace)
        self.home = Path(home)
        self.environment = ToolEnvironment(
            workspace, home, dict(os.environ), is_protected, supervisor=supervisor
        )
        self.supervisor = supervisor
        self.tools: dict[str, Tool] = builtin_tools(self.environment)
        self.chunks: list[str] = []

    def put(self, name: str, content: str | bytes = "") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    async def prepare(self, tool: str, **args: Json) -> Prepared:
        return await self.tools[tool].prepare(args)

    async def run(self, prepared: Prepared, answer: str | None = None) -> ToolOutput:
        live = RunContext("c1", self._chunk, answer)
        return await self.tools[prepared.tool].run(prepared, live)

    async def call(self, tool: str, **args: Json) -> ToolOutput:
        return await self.run(await self.prepare(tool, **args))

    async def _chunk(self, text: str) -> None:
        self.chunks.append(text)
