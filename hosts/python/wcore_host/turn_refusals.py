"""Errors that come instead of a turn, told from those that are about something else."""

from typing import Final

from wcore_host import events

TURN_REFUSALS: Final = frozenset({"busy", "config_error", "refused"})


def refuses_turn(error: events.Error) -> bool:
    """Whether `error`, read before any `stream_start`, means that the turn does not begin."""
    return error.code in TURN_REFUSALS and not error.mcp_server
