"""The lives of calls and of MCP servers, as the specification prints them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from wcore.approval import table
from wcore.tools.mcp import life
from wcore.tools.mcp.life import Move, State

#: What each move does to the tools that are offered; the others leave them as they are.
OFFERS: Final[Mapping[Move, str]] = {Move.LIST: "those of the list", Move.REMOVE: "none"}
#: What a call does that finds a server in this state.
CALLS: Final[Mapping[State, str]] = {
    State.ABSENT: "starts it, and waits",
    State.STARTING: "waits",
    State.READY: "runs, if the tool is the one that was shown; stale first where no change is told",
    State.STALE: "waits for the new list",
    State.ENDING: "waits",
    State.LOST: "starts it, and waits",
    State.FAILED: "starts it, and waits",
    State.REMOVED: "fails",
}


def of_calls() -> str:
    """Return the table of the life of a call."""
    rows = [[state, *_cells(table.MOVES[state], table.Move)] for state in table.State]
    return "\n".join([*_head(["state", *table.Move]), *map(_line, rows)]) + "\n"


def of_servers() -> str:
    """Return the table of the life of a server."""
    rows = [[state, *_cells(life.MOVES[state], Move), CALLS[state]] for state in State]
    offers = f"{_line(['*tools offered*', *_cells(OFFERS, Move)])} |"
    return "\n".join([*_head(["state", *Move, "a call"]), *map(_line, rows), offers]) + "\n"


def _cells(found: Mapping[Any, str], moves: Iterable[str]) -> list[str]:
    return [found.get(move, "") for move in moves]


def _head(names: Sequence[str]) -> list[str]:
    return [_line(names), "|---" * len(names) + "|"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
