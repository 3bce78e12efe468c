"""The queue of cards: one in front, none lost, each answered for its own call only. Pure.

No key answers a card by accident. A card listens only after it has been on the screen, in front
and focused, for a moment without any key. Keys that come earlier, held keys, and keys that the
terminal had kept while we were busy all restart that moment. An answer takes the card off the
screen, but it is forgotten only when the engine says that the call is settled: an answer that the
engine did not take brings the card back.
"""

from collections import deque
from dataclasses import dataclass, replace
from typing import Final

from wcore_host import decode
from wcore_host.events import CallSettled, Event, JsonObject, Tool, ToolRequest, Why
from wcore_host.headless.card_content import QUESTION_TOOL
from wcore_host.permission import Allow, Deny, command

QUIET_S: Final = 0.4  # longer than the gap between two keys of somebody typing
SETTLE_S: Final = 10.0  # an answer is taken at once; then the card comes back
GONE_BY: Final = {
    "timeout": "nobody answered in time",
    "stop": "the turn was stopped",
    "signal": "the engine is ending",
    "policy": "a rule decided",
    "host_gone": "nobody could answer any more",
}


@dataclass(frozen=True)
class Card:
    """A call that waits for a person. `token` if it is answered by `approval_resume`.

    `changed` are the arguments as the person changed them, `problem` why the engine does not take
    them.
    """

    request: ToolRequest
    deadline: float | None = None
    token: str = ""
    changed: JsonObject | None = None
    problem: str = ""

    @property
    def args(self) -> JsonObject:
        """The arguments that a yes would run."""
        return self.request.tool.args if self.changed is None else self.changed

    def with_args(self, args: JsonObject) -> "Card":
        """Return the card of the same call, to be run with these arguments."""
        changed = None if args == self.request.tool.args else args
        return replace(self, changed=changed, problem="")

    @property
    def call_id(self) -> str:
        return self.request.call_id

    @property
    def is_question(self) -> bool:
        return self.request.tool.name == QUESTION_TOOL

    def command(self, verdict: Allow | Deny) -> JsonObject:
        """Return the command that carries `verdict` to exactly this call."""
        if not self.token:
            return command(self.request, verdict)
        said: dict[str, object] = {"type": "approval_resume", "resume_token": self.token}
        said["approved"] = isinstance(verdict, Allow)
        if isinstance(verdict, Allow) and verdict.answer is not None:
            said["modifications"] = {"answer": verdict.answer}
        return said  # type: ignore[return-value]


def suspended(event: JsonObject) -> Card:
    """Return the card of an `approval_required` that came without a `tool_request`."""
    fields = decode.Fields(event)
    context, reason = fields.text("context"), fields.text("reason")
    tool = Tool("a decision", "host", {"context": context} if context else {})
    request = ToolRequest("", fields.text("call_id"), tool, Why("question", reason))
    return Card(request, token=fields.text("resume_token"))


def gone(event: Event) -> str:
    """Return why a card is taken away."""
    by = event.by if isinstance(event, CallSettled) else ""
    return f"this card is gone: {GONE_BY.get(by, 'it was answered elsewhere')}"


class CardQueue:
    """Which card is in front, which wait behind it, which were answered and not yet settled."""

    def __init__(self) -> None:
        self._waiting: deque[Card] = deque()
        self._sent: dict[str, tuple[Card, float]] = {}
        self._listens_at: float | None = None
        self.front: Card | None = None

    def __len__(self) -> int:
        return len(self._waiting) + (self.front is not None)

    @property
    def waiting(self) -> int:
        """How many wait behind the one in front."""
        return len(self._waiting)

    def knows(self, call_id: str) -> bool:
        """Whether there is a card of this call, answered or not."""
        return call_id in self._sent or any(card.call_id == call_id for card in self._open())

    def add(self, card: Card) -> None:
        """Queue a card."""
        if not self.knows(card.call_id):
            self._waiting.append(card)
        self._advance()

    # --- may it be answered -----------------------------------------------------------------------

    def appeared(self, now: float) -> None:
        """The front card is on the screen and has the focus; from now on silence counts."""
        self._listens_at = now + QUIET_S

    def left(self) -> None:
        """The front card has lost the focus, or cannot be seen."""
        self._listens_at = None

    @property
    def is_timed(self) -> bool:
        """Whether silence counts for the front card, or has counted."""
        return self._listens_at is not None

    def pressed(self, now: float) -> bool:
        """A key or click came; return whether it counts. If not, silence begins again."""
        if self.listens(now):
            return True
        if self._listens_at is not None:
            self._listens_at = now + QUIET_S
        return False

    def listens(self, now: float) -> bool:
        """Whether an answer would count now."""
        return self.front is not None and self._listens_at is not None and now >= self._listens_at

    # --- the end of a card ------------------------------------------------------------------------

    def answered(self, now: float) -> Card:
        """Take the front card away because its answer has been sent."""
        assert self.front is not None
        card, self.front = self.front, None
        self._sent[card.call_id] = (card, now)
        self._advance()
        return card

    def settle(self, call_id: str) -> bool:
        """The call has ended, however; `True` if its card was in front and unanswered."""
        self._sent.pop(call_id, None)
        self._waiting = deque(card for card in self._waiting if card.call_id != call_id)
        if self.front is None or self.front.call_id != call_id:
            return False
        self.front = None
        self._advance()
        return True

    def settle_token(self, token: str) -> bool:
        """As `settle`, for the echo of a suspended call."""
        cards = [*self._open(), *(card for card, _ in self._sent.values())]
        found = next((card for card in cards if card.token and card.token == token), None)
        return found is not None and self.settle(found.call_id)

    def change(self, card: Card) -> None:
        """Put another card of the same call in front; it listens as late as a new one."""
        assert self.front is not None
        assert self.front.call_id == card.call_id
        self.front, self._listens_at = card, None

    def refused(self, problem: str = "") -> bool:
        """The engine refused something we sent: unsettled answers are asked again.

        A `problem` that begins with a call's id is about that call, and is shown on its card.
        """
        for call_id, (card, at) in self._sent.items():
            if problem.startswith(f"{call_id}: "):
                told = problem.removeprefix(f"{call_id}: ")
                self._sent[call_id] = replace(card, problem=told), at
                return self._bring_back([call_id])
        return self._bring_back(list(self._sent))

    def advised(self, message: str) -> bool:
        """The engine told something; `True` if it is why changed arguments were not taken."""
        changed = [call_id for call_id, (card, _) in self._sent.items() if card.changed is not None]
        return any(message.startswith(f"{each}: ") for each in changed) and self.refused(message)

    def overdue(self, now: float) -> bool:
        """Ask again what was answered long ago and never settled; `True` if there was any."""
        return self._bring_back([c for c, (_, at) in self._sent.items() if now - at > SETTLE_S])

    def drain(self) -> list[Card]:
        """Forget every card: no call waits any more."""
        cards = [*self._open(), *(card for card, _ in self._sent.values())]
        self.front = None
        self._waiting.clear()
        self._sent.clear()
        return cards

    def left_s(self, now: float) -> int | None:
        """Return the seconds left to answer the front card, if that is limited."""
        if self.front is None or self.front.deadline is None:
            return None
        return max(0, round(self.front.deadline - now))

    def _open(self) -> list[Card]:
        return [*([self.front] if self.front else []), *self._waiting]

    def _bring_back(self, call_ids: list[str]) -> bool:
        # As new cards: who shows the front one must see that it went, and came again unheard.
        cards = [replace(self._sent.pop(call_id)[0]) for call_id in call_ids]
        self._waiting.extendleft(reversed(cards))
        self._advance()
        return bool(call_ids)

    def _advance(self) -> None:
        if self.front is None and self._waiting:
            self.front = self._waiting.popleft()
            self._listens_at = None
