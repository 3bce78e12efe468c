"""The `[[mcp]]` tables of a policy file, checked for their shape; `tools/mcp` reads the rest."""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from msgspec import Struct

SERVERS_MAX: Final = 64  # of one file; each is a process or a connection
KEYS: Final = (
    *("name", "transport", "command", "args", "env", "url", "headers"),
    *("start_timeout_s", "call_timeout_s"),
)

#: Where in the file something is wrong, and what; returns the error to raise.
Wrong = Callable[[tuple[str | int, ...], str], Exception]


class ServerTable(Struct, frozen=True):
    """One server as it was written down. `source` is `path:line`; limits are in seconds."""

    name: str
    transport: str
    command: str | None
    args: tuple[str, ...]
    env: Mapping[str, str]
    url: str | None
    headers: Mapping[str, str]
    source: str
    start_timeout_s: float | None = None
    call_timeout_s: float | None = None


def parse_server(index: int, table: Mapping[str, Any], source: str, wrong: Wrong) -> ServerTable:
    """Return what a table says.

    Raises:
        Exception: what `wrong` made, for a key or a value that is not understood.
    """
    where = ("mcp", index)

    def text(key: str) -> str | None:
        value = table.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            raise wrong((*where, key), f"`{key}` must be a text")
        return value

    def texts(key: str) -> Mapping[str, str]:
        value = table.get(key, {})
        found = cast("dict[str, Any]", value) if isinstance(value, dict) else None
        if found is None or not all(isinstance(each, str) for each in found.values()):
            raise wrong((*where, key), f"`{key}` must be a table of texts")
        return found

    def seconds(key: str) -> float | None:
        value = table.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise wrong((*where, key), f"`{key}` must be a number of seconds")
        return value

    name, command, url = text("name"), text("command"), text("url")
    if name is None:
        raise wrong(where, "`name` is missing")
    if (command is None) == (url is None):
        raise wrong(where, "a server has either `command` or `url`")
    args: object = table.get("args", [])
    listed = cast("list[Any]", args) if isinstance(args, list) else None
    if listed is None or not all(isinstance(each, str) for each in listed):
        raise wrong((*where, "args"), "`args` must be a list of texts")
    transport = text("transport") or ("stdio" if command else "streamable-http")
    environment, headers = texts("env"), texts("headers")
    return ServerTable(
        name,
        transport,
        command,
        tuple(listed),
        environment,
        url,
        headers,
        source,
        seconds("start_timeout_s"),
        seconds("call_timeout_s"),
    )
