"""Calls into tools and servers, in one place, so that a replay can answer them from the journal."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from wcore.tools.tool import RunContext, Tool
from wcore.vocabulary import Args, Json, Prepared, ToolOutput

if TYPE_CHECKING:
    from wcore.tools.mcp.server import Server
    from wcore.tools.mcp.server_config import ServerConfig


class Runtime:
    """Calls what tools offer; a replay has another one, which touches nothing."""

    def tools(self, make: Callable[[], dict[str, "Tool"]]) -> dict[str, "Tool"]:
        """Return the built-in tools, which `make` makes."""
        return make()

    def define(self, name: str, make: "Callable[[], ServerConfig]") -> "ServerConfig":
        """Return what a server `name` is, which `make` makes of the host's words."""
        del name
        return make()

    def server(self, name: str, make: "Callable[[], Server]") -> "Server":
        """Return the server `name`, which `make` makes; it is not connected yet."""
        del name
        return make()

    async def within(self, seconds: float, wait: Callable[[], Awaitable[None]]) -> bool:
        """Wait until `wait` returns; false when that takes longer than `seconds`."""
        with anyio.move_on_after(seconds) as scope:
            await wait()
        return not scope.cancelled_caught

    def target_paths(self, call_id: str, tool: "Tool", args: Args) -> frozenset[str]:
        """Return `tool.target_paths`."""
        del call_id
        return tool.target_paths(args)

    async def prepare(
        self, call_id: str, tool: "Tool", args: Args, *, edited: bool = False
    ) -> Prepared:
        """Return `tool.prepare`; `edited`: for arguments that a person changed."""
        del call_id, edited
        return await tool.prepare(args)

    async def tie(self, call_id: str, look: Callable[[], str | None]) -> str | None:
        """Return what `look` finds on the disk for the command of a call."""
        del call_id
        return await to_thread.run_sync(look)

    async def change_rules(
        self, what: str, change: Callable[[], Awaitable[dict[str, Json]]]
    ) -> dict[str, Json]:
        """Return what `change`, which reads files and makes rules count, has to say.

        `what` is the journal's name for it.
        """
        del what
        return await change()

    async def run(self, tool: "Tool", prepared: Prepared, live: RunContext) -> ToolOutput:
        """Return `tool.run`."""
        return await tool.run(prepared, live)
