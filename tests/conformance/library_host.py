"""A host of a few lines, built on the client library. `python library_host.py ENGINE`."""

import sys

import anyio
from wcore_host import Allow, Info, TextDelta, connect, visible
from wcore_host.errors import HostLibraryError
from wcore_host.events import JsonObject
from wcore_host.permission import ToolContext


async def yes(tool: str, args: JsonObject, context: ToolContext) -> Allow:
    sys.stdout.write(f"approved: {visible(str(args))}\n")  # nobody was asked; whoever looks is told
    return Allow()


async def main() -> None:
    async with connect((sys.argv[1],), can_use_tool=yes) as engine:
        async for event in engine.run_turn("go"):
            if isinstance(event, TextDelta):
                sys.stdout.write(visible(event.text))
            elif isinstance(event, Info):
                sys.stderr.write(visible(event.message) + "\n")


try:
    anyio.run(main)
except HostLibraryError as error:
    sys.exit(str(error))
