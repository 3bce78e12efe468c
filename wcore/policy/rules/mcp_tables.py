"""The `[[mcp]]` tables of a policy file; `tools/mcp` judges what they say."""

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta, Struct, convert
from msgspec.structs import asdict

SERVERS_MAX: Final = 64  # of one file; each is a process or a connection

Text = Annotated[str, Meta(pattern=r"\S")]


class WrittenServer(Struct, frozen=True, forbid_unknown_fields=True):
    """One server as it was written down; limits are in seconds."""

    name: Text
    transport: Text = ""
    command: Text | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: Text | None = None
    headers: Mapping[str, str] = {}
    start_timeout_s: float | None = None
    call_timeout_s: float | None = None


class ServerTable(WrittenServer, frozen=True):
    """The same, with where it was written: `path:line`."""

    source: str = ""


def placed(server: WrittenServer, source: str) -> ServerTable | None:
    """Return a server with its source, if it has a command or an address, and not both."""
    if (server.command is None) == (server.url is None):
        return None
    transport = server.transport or ("stdio" if server.command else "streamable-http")
    return convert({**asdict(server), "transport": transport, "source": source}, ServerTable)
