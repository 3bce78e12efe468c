"""Errors that come instead of a turn, told from those that are about something else.

An `error` names no turn. Before `stream_start` it may mean that the turn did not begin, or that an
MCP server which the host has added cannot be connected: that one is followed by `mcp_failed`.
"""

from typing import Final

from wcore_host import events
from wcore_host.events import Event, JsonObject

TURN_REFUSALS: Final = frozenset({"busy", "config_error", "refused"})
SERVER_PROBLEMS: Final = frozenset({"config_error", "refused", "not_supported"})


class TurnRefusals:
    """Follows commands as they are sent and events as they are read, both in their order."""

    def __init__(self) -> None:
        self._connecting: dict[str, int] = {}  # servers by name, and how often each was added
        self._is_about_server = False

    def sent(self, command: JsonObject) -> None:
        if command.get("type") == "add_mcp_server":
            name = str(command.get("name"))
            self._connecting[name] = self._connecting.get(name, 0) + 1

    def heard(self, event: Event) -> None:
        match event:
            case events.Error(code=code):
                self._is_about_server = bool(self._connecting) and code in SERVER_PROBLEMS
            case events.UnknownEvent(type="mcp_ready" | "mcp_failed", raw=raw):
                name = str(raw.get("name"))
                left = self._connecting.pop(name, 0) - 1
                if left > 0:
                    self._connecting[name] = left
            case _:
                pass

    @property
    def is_about_server(self) -> bool:
        """Whether the error that was read last is about a server."""
        return self._is_about_server

    def refuses_turn(self, error: events.Error) -> bool:
        """Whether `error`, read last and before any `stream_start`, means that there is none."""
        return error.code in TURN_REFUSALS and not self._is_about_server
