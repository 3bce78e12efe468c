"""The life of a call as a table. Every step in it goes through `Ledger.move`.

A call is *proposed* by the model. The gate allows it, asks, or denies it; or it cannot even be
prepared and fails. A *waiting* call leaves that state exactly once: by an answer, by expiry or
by cancellation, whichever move comes first. Only a *cleared* call can run, and only an allow or
an approval clears. Final states have an empty row: nothing ever leaves them.

Two rules that the table makes visible: no path leads to RUNNING without ALLOW or APPROVE on it,
and every state but the final ones can be cancelled.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from wcore.errors import HostError


class State(StrEnum):
    """Where a call is."""

    PROPOSED = "proposed"  #: the model wants it; nobody has decided
    WAITING = "waiting"  #: parked: the host has been asked
    CLEARED = "cleared"  #: a rule, a grant or a person said yes; the effect has not begun
    RUNNING = "running"  #: the effect is under way
    ENDED = "ended"  #: final: `tool_result`
    DENIED = "denied"  #: final: `tool_cancelled`
    EXPIRED = "expired"  #: final: `tool_cancelled`
    CANCELLED = "cancelled"  #: final: `tool_cancelled`


class Move(StrEnum):
    """What can happen to a call."""

    ALLOW = "allow"  #: the gate lets it run unasked
    ASK = "ask"  #: the gate asks the host
    DENY = "deny"  #: a rule or a person says no
    APPROVE = "approve"  #: a person says yes
    EXPIRE = "expire"  #: nobody answered in time
    CANCEL = "cancel"  #: stop, signal, or the host went away
    RUN = "run"  #: the effect begins
    END = "end"  #: there is a result, good or bad


MOVES: Final[Mapping[State, Mapping[Move, State]]] = {
    State.PROPOSED: {
        Move.ALLOW: State.CLEARED,
        Move.ASK: State.WAITING,
        Move.DENY: State.DENIED,
        Move.CANCEL: State.CANCELLED,
        Move.END: State.ENDED,
    },
    State.WAITING: {
        Move.APPROVE: State.CLEARED,
        Move.DENY: State.DENIED,
        Move.EXPIRE: State.EXPIRED,
        Move.CANCEL: State.CANCELLED,
    },
    State.CLEARED: {
        Move.RUN: State.RUNNING,
        Move.CANCEL: State.CANCELLED,
        Move.END: State.ENDED,
    },
    State.RUNNING: {
        Move.END: State.ENDED,
        Move.CANCEL: State.CANCELLED,
    },
    State.ENDED: {},
    State.DENIED: {},
    State.EXPIRED: {},
    State.CANCELLED: {},
}


class UnknownCallError(HostError):
    """No call is in a state that allows the move: never asked, answered, or expired."""

    def __init__(self, call_id: str) -> None:
        super().__init__(f"no call is waiting under {call_id!r}")
        self.call_id = call_id


class Ledger:
    """The state of every call that has not ended, and the ids ever used in the session."""

    def __init__(self) -> None:
        self._states: dict[str, State] = {}
        self._used: set[str] = set()

    def propose(self, call_id: str) -> None:
        """Enter a new call; its id must never have been used in this session."""
        assert call_id not in self._used, "call ids are minted unique"
        self._used.add(call_id)
        self._states[call_id] = State.PROPOSED

    def retire(self, call_ids: Iterable[str]) -> None:
        """Enter ids that an earlier engine used in this session: they are never given again."""
        self._used.update(call_ids)

    def reopen(self, call_id: str) -> None:
        """Enter a call of an earlier engine that has not ended; everything starts anew."""
        assert call_id in self._used
        assert call_id not in self._states
        self._states[call_id] = State.PROPOSED

    def is_used(self, call_id: str) -> bool:
        return call_id in self._used

    def state(self, call_id: str) -> State | None:
        """Return where an unfinished call is; `None` when it ended or never was."""
        return self._states.get(call_id)

    def move(self, call_id: str, move: Move) -> State:
        """Apply `move` and return the new state; finished calls are forgotten.

        Raises:
            UnknownCallError: the table does not allow it; nothing changed.
        """
        state = self._states.get(call_id)
        after = MOVES[state].get(move) if state else None
        if after is None:
            raise UnknownCallError(call_id)
        if MOVES[after]:
            self._states[call_id] = after
        else:
            del self._states[call_id]
        return after
