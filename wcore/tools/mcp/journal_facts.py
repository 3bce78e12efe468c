"""What a journal holds of servers: which there were, and what each offered when."""

from collections.abc import Iterable
from typing import Final

from wcore.tools.mcp.names import tool_name
from wcore.tools.mcp.tool_listing import OfferedTool, ToolListing
from wcore.vocabulary import Category, Json, ToolSpec

DEFINED: Final = "defines"  # each of these is followed by the name of a server
READY: Final = "connected"
FAILED: Final = "unconnected"
RETRIED: Final = "connects again"
OFFERED: Final = "offers"
UNSETTLED: Final = "waits for servers"
SETTLED: Final = "servers settled"


def facts_of(offers: ToolListing) -> dict[str, Json]:
    """Return the tools of a server for the journal: by their own names, with a digest each."""
    tools: list[Json] = [[each.raw_name, each.digest] for each in offers.tools.values()]
    return {"tools": tools, "refused": list(offers.refused)} if offers.refused else {"tools": tools}


def offers_of(
    server: str, facts: Iterable[tuple[str, str]], refused: Iterable[str] = ()
) -> ToolListing:
    """Return what was offered, without descriptions; `server` is the server's part of names."""
    tools: dict[str, OfferedTool] = {}
    for raw_name, digest in facts:
        name = tool_name(server, raw_name)
        if name is not None:
            tools[name] = OfferedTool(raw_name, ToolSpec(name, Category.MCP, "", {}), digest)
    return ToolListing(tools, tuple(refused))
