"""What ends a turn from outside, fails it, or is counted in it; its calls hold this, not the turn.

`turn.py` makes one for each turn and the engine calls `end(By.STOP)` on it: what waits for an
answer is settled as cancelled, what runs is cancelled, and then each call says so itself. That
never cancels the turn's own task, so every call still gets its one terminal event and its one
result.
"""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Final

import anyio
from msgspec import Struct

from wcore.approval import reasons
from wcore.protocol import events
from wcore.session.session import Session
from wcore.store import StoreLostError
from wcore.turn.denials import Denials
from wcore.vocabulary import By, UserMessage

AT_ONCE_MAX: Final = 4  # children of one agent; more would only wait for the provider

#: Runs the turn of a sub-agent in its session; returns the event that ends it.
RunChild = Callable[[Session, UserMessage], Awaitable[events.StreamEnd]]


class Ending(Struct, frozen=True):
    """Why a turn was ended from outside, and by whom."""

    by: By
    reason: str


class Tally(Struct):
    """What is counted for a turn and all turns of sub-agents in it."""

    writes: int = 0
    denied_unasked: int = 0
    spawns: int = 0
    cost_usd: float = 0.0
    is_priced: bool = True  # every reply so far had a price

    def may_write(self, limit: int | None) -> bool:
        """Count one write, if it is within the limit; one that fails later counts all the same."""
        if limit is not None:
            self.writes += 1
        return limit is None or self.writes <= limit


class TurnControl:
    """One turn as its calls see it."""

    def __init__(
        self, session: Session, msg_id: str, run_child: RunChild, tally: Tally | None = None
    ) -> None:
        self.session = session
        self.msg_id = msg_id
        self.run_child = run_child
        self.tally = tally or Tally()
        self.denials = Denials()
        self.subagent_slots = anyio.Semaphore(AT_ONCE_MAX)
        self.ending: Ending | None = None
        self.problem: Exception | None = None
        self._children: set[TurnControl] = set()
        self._scopes: set[anyio.CancelScope] = set()

    def end(self, by: By) -> None:
        """End the turn now, and with it all calls that wait or run. The first ending stands."""
        if self.ending is None:
            self.ending = Ending(by, reasons.BY_SETTLER[by])
            self.session.persistence.hurry()
            for child in self._children:
                child.end(by)
            self.session.approvals.resolve_all(self.ending.reason, by)
            for scope in self._scopes:
                scope.cancel()

    @contextmanager
    def ending_also(self, child: "TurnControl") -> Generator[None]:
        """End the turn of a sub-agent with this one."""
        self._children.add(child)
        if self.ending is not None:
            child.end(self.ending.by)
        try:
            yield
        finally:
            self._children.discard(child)

    @contextmanager
    def interruptible(self) -> Generator[anyio.CancelScope]:
        """Let `end` cancel what happens inside, and only that."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            if self.ending is not None:
                scope.cancel()
            try:
                yield scope
            finally:
                self._scopes.discard(scope)

    def fail_later(self, problem: Exception | None) -> None:
        """Let the turn fail after the calls under way: something could not be written down.

        A store that was lost has been told of, and is no reason: the turn goes on in memory.
        """
        if not isinstance(problem, StoreLostError):
            self.problem = self.problem or problem
