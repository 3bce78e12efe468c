"""The queue of questions to the person: one is shown at a time, each answers only its own call.

A question does not listen at once. What was typed before it appeared is dropped, and it begins
to listen only after a moment without any key, so that a person who was typing something else
cannot answer it by accident.
"""

from collections import deque

from wcore_host.events import ToolRequest
from wcore_host.headless.card_content import QUESTION_TOOL
from wcore_host.headless.card_queue import QUIET_S
from wcore_host.headless.durations import clock
from wcore_host.plain.call_dialog import CallDialog
from wcore_host.plain.dialog import Dialog
from wcore_host.plain.question_dialog import QuestionDialog


def dialog_of(request: ToolRequest, flags: frozenset[str]) -> Dialog:
    """Return the question about a call that waits; `flags` are what the engine can do."""
    if request.tool.name == QUESTION_TOOL:
        return QuestionDialog(request)
    return CallDialog(request, can_edit="edit_args" in flags, can_keep="persist" in flags)


class CardQueue:
    """Which question is shown, which wait behind it, and whether it listens yet."""

    def __init__(self) -> None:
        self._waiting: deque[Dialog] = deque()
        self._deadlines: dict[str, float] = {}
        self._listens_at = 0.0
        self._changed: dict[str, CallDialog] = {}  # sent with other arguments, not settled
        self.current: Dialog | None = None

    def add(self, dialog: Dialog, now: float) -> None:
        """Queue a question."""
        self._waiting.append(dialog)
        request = dialog.request
        if request is not None and request.expires_in_s is not None:
            self._deadlines.setdefault(request.call_id, now + request.expires_in_s)

    def next(self, now: float) -> Dialog | None:
        """Show the next question if none is shown; return it if that is new."""
        if self.current is not None or not self._waiting:
            return None
        self.current = self._waiting.popleft()
        self._listens_at = now + QUIET_S
        return self.current

    def listens(self, now: float) -> bool:
        """Whether the shown question takes keys now."""
        return self.current is not None and now >= self._listens_at

    def typed_early(self, now: float) -> None:
        """A key came while the question did not listen: it needs a quiet moment first."""
        self._listens_at = now + QUIET_S

    def close(self) -> None:
        """The shown question has been answered; changed arguments may still be refused."""
        if isinstance(self.current, CallDialog) and self.current.is_changed:
            self._changed[_call_id(self.current)] = self.current
        elif self.current is not None:
            self._deadlines.pop(_call_id(self.current), None)
        self.current = None

    def told(self, message: str, now: float) -> None:
        """The engine tells something: if it is why changes are not taken, the card comes back."""
        for call_id, dialog in list(self._changed.items()):
            if message.startswith(f"{call_id}: "):
                dialog.refused(message.removeprefix(f"{call_id}: "))
                self.add(self._changed.pop(call_id), now)

    def settle(self, call_id: str) -> bool:
        """Forget the question about a call that has ended; `True` if it was the shown one."""
        self._deadlines.pop(call_id, None)
        self._changed.pop(call_id, None)
        self._waiting = deque(d for d in self._waiting if _call_id(d) != call_id)
        if self.current is None or _call_id(self.current) != call_id:
            return False
        self.current = None
        return True

    def drain(self) -> list[ToolRequest]:
        """Forget every question; return the calls that still wait for an answer."""
        dialogs = [self.current, *self._waiting]
        self.current = None
        for forgotten in (self._waiting, self._deadlines, self._changed):
            forgotten.clear()
        return [d.request for d in dialogs if d is not None and d.request is not None]

    def prompt(self, now: float) -> str:
        """Return the prompt of the shown question, with the time that is left for it."""
        assert self.current is not None
        facts: list[str] = []
        deadline = self._deadlines.get(_call_id(self.current))
        if deadline is not None:
            facts.append(clock(max(0, round(deadline - now))))
        if self._waiting:
            facts.append(f"{len(self._waiting)} more after this")
        prompt = f"{self.current.prompt} "
        return f"({', '.join(facts)}) {prompt}" if facts else prompt


def _call_id(dialog: Dialog) -> str:
    return dialog.request.call_id if dialog.request is not None else ""
