"""The life of an MCP server as a table, and its limits. Every change goes through `Life.move`.

A server is *starting* from the moment somebody wants it until its tools are listed, however long
that takes; turns go on meanwhile. It is *ready* while its list is known to be what it offers now,
and *stale* once that may have changed: it said so, its subscription ended, or nothing would have
told us. Calls wait for the new list. When the connection ends, it is *ending* until nothing is left
of it, and then *lost*; one that never had a list has *failed*. Both are started again, by the next
call or turn.

Three rules that the table makes visible: calls run in READY only; nothing leads to READY but a
list that was read just now; and only LIST and REMOVE change which tools are offered, so that a
server which is away keeps its tools until it says otherwise.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import anyio

START_S: Final = 300.0  # a first `npx`, `uvx` or `docker` loads what it starts; nobody waits for it
CALL_S: Final = 120.0  # without result, progress or question a call is given up
TIMEOUT_S_MAX: Final = 86_400.0  # what a server may set either of them to: a day
LIST_S_MAX: Final = 20.0  # to list the tools of a server that is there
WAIT_S_MAX: Final = 25.0  # a call waits so long for a server that is started again, or lists anew
RETRY_S: Final = 5.0  # before a turn starts a server that failed twice; doubled each time
RETRY_S_MAX: Final = 600.0  # then no longer: whoever repairs a server sees it soon
CHANGES_MAX: Final = 200  # of a list in one connection; more is a way to keep us busy
SETTLE_S: Final = 0.2  # from a change to the new list: several changes are one
SUBSCRIBE_S: Final = 1.0  # before a subscription that ended is asked for again; doubled each time
SUBSCRIBE_S_MAX: Final = 60.0  # meanwhile each call reads the list
END_S_MAX: Final = 3.0  # for a program to be ended with everything it has started


class State(StrEnum):
    """Where a server is."""

    ABSENT = "absent"  #: nothing has been started
    STARTING = "starting"  #: being started, greeted, its tools listed
    READY = "ready"  #: its list is what it offers now
    STALE = "stale"  #: connected, but the list may have changed
    ENDING = "ending"  #: the connection has ended; what is left of it is being ended
    LOST = "lost"  #: nothing is left of it
    FAILED = "failed"  #: it could not be started
    REMOVED = "removed"  #: final


class Move(StrEnum):
    """What can happen to a server."""

    START = "start"  #: somebody wants it
    LIST = "list"  #: its tools have been listed, and it said of no change meanwhile
    CHANGE = "change"  #: its list may be another now
    LOSE = "lose"  #: the connection has ended
    END = "end"  #: nothing is left of the connection, or of the attempt to make it
    REMOVE = "remove"  #: nobody wants it any more


MOVES: Final[Mapping[State, Mapping[Move, State]]] = {
    State.ABSENT: {Move.START: State.STARTING, Move.REMOVE: State.REMOVED},
    State.STARTING: {
        Move.LIST: State.READY,
        Move.CHANGE: State.STARTING,
        Move.END: State.FAILED,
        Move.REMOVE: State.REMOVED,
    },
    State.READY: {
        Move.CHANGE: State.STALE,
        Move.LOSE: State.ENDING,
        Move.REMOVE: State.REMOVED,
    },
    State.STALE: {
        Move.LIST: State.READY,
        Move.CHANGE: State.STALE,
        Move.LOSE: State.ENDING,
        Move.REMOVE: State.REMOVED,
    },
    State.ENDING: {Move.END: State.LOST, Move.REMOVE: State.REMOVED},
    State.LOST: {Move.START: State.STARTING, Move.REMOVE: State.REMOVED},
    State.FAILED: {Move.START: State.STARTING, Move.REMOVE: State.REMOVED},
    State.REMOVED: {},
}

AWAY: Final = frozenset({State.LOST, State.FAILED})  # a turn starts these again
BUSY: Final = (State.STARTING, State.STALE, State.ENDING)  # a call waits until it is in none


def pause_s(failures: int) -> float:
    """Return how long turns leave a server alone that failed so often; the first at once."""
    return 0.0 if failures < 2 else min(RETRY_S * 2.0 ** min(failures - 2, 64), RETRY_S_MAX)


class Life:
    """Where one server is."""

    def __init__(self) -> None:
        self.state = State.ABSENT
        self._moved = anyio.Event()

    def allows(self, move: Move) -> bool:
        return move in MOVES[self.state]

    def move(self, move: Move) -> None:
        """Apply `move`, which the table must allow."""
        self.state = MOVES[self.state][move]
        self._moved.set()
        self._moved = anyio.Event()

    async def leaves(self, *states: State) -> State:
        """Wait until the server is in none of `states`; return where it is."""
        while self.state in states:
            await self._moved.wait()
        return self.state
