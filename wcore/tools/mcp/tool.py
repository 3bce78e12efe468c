"""One tool of one server, as a tool like any other."""

import json
from typing import Final

from msgspec import Struct

from wcore.tools.arguments import canonical
from wcore.tools.digests import call_digest
from wcore.tools.fs.paths import description_line
from wcore.tools.mcp.server import Server
from wcore.tools.mcp.tool_listing import OfferedTool
from wcore.tools.tool import RunContext
from wcore.tools.truncate import truncate
from wcore.visible import visible, visible_line
from wcore.vocabulary import (
    PREVIEW_BYTES_MAX,
    Args,
    Category,
    Pin,
    Prepared,
    Preview,
    ToolOutput,
    ToolSpec,
)

CUT_NOTE: Final = "[arguments cut here: they are longer than can be shown]"
INDENTED_CHARS_MAX: Final = 16 * 1024  # nobody reads more; indented it could be gigabytes
NAME_CHARS_MAX: Final = 128  # of the name as the server has it, on a card


class McpTool(Struct, frozen=True):
    """Calls the tool that was offered when it was made, and no other under its name."""

    server: Server
    offer: OfferedTool

    @property
    def spec(self) -> ToolSpec:
        """What the model is shown."""
        return self.offer.spec

    @property
    def pin(self) -> Pin:
        """What a lasting yes to it is pinned to: how the server is started, and the schema."""
        return self.server.config.digest, self.offer.digest

    def target_paths(self, args: Args) -> frozenset[str]:
        """Nobody knows which files a server's tool is about."""
        return frozenset()

    async def prepare(self, args: Args) -> Prepared:
        """Lay the call out. The server checks the arguments itself, when it is called.

        Raises:
            ToolError: the arguments are nested too deeply.
        """
        name, (launch, schema) = self.spec.name, self.pin
        raw = visible_line(self.offer.raw_name, NAME_CHARS_MAX)
        one_line = canonical(args)
        lines = [f"{self.server.config.shown_name}: {raw}"]
        lines += [f"({self.offer.warning})"] * bool(self.offer.warning)
        indent = 2 if len(one_line) <= INDENTED_CHARS_MAX else None
        lines += [json.dumps(json.loads(one_line), indent=indent, ensure_ascii=False)]
        text, cut = truncate(visible("\n".join(lines) + "\n"), PREVIEW_BYTES_MAX, CUT_NOTE)
        depends = {"launch": launch, "schema": schema}
        return Prepared(
            tool=name,
            category=Category.MCP,
            args=args,
            description=description_line(f"{self.server.config.shown_name}/{raw} {one_line}"),
            digest=call_digest(name, args, self.server.environment.workspace, depends=depends),
            preview=Preview("text", text, truncated=cut),
            pin=self.pin,
            listed=self.server.listed,
        )

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        """Call it; a server that has died is started again first.

        Raises:
            ToolError: the server cannot be had, offers another tool now, or failed.
        """
        return await self.server.call(prepared.tool, self.offer, prepared.args, live)
