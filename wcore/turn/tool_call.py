"""One tool call while it is under way: what is known of it, and the events that tell of it.

`batch.py` makes one for each call of a reply. It begins with `call_id="call_1"` and
`model_call=ModelCall("toolu_7", "Bash", {"command": "ls"})`; `gate.py` decides about it and sets
`prepared` and `pending`; `execution.py` runs it; `result` is what the model is told in the end.

A call is announced once and ends once; the ledger (`approval/table.py`) refuses every other path.
"""

import logging
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal

import anyio
from msgspec import Struct
from msgspec.structs import replace

from wcore.approval import reasons
from wcore.approval.manager import Denied, Pending
from wcore.approval.table import Move
from wcore.persistence import records
from wcore.persistence.restore import OpenCall
from wcore.policy import shell
from wcore.policy.facts import Studied
from wcore.policy.suggestions import note_of
from wcore.protocol import events, scopes
from wcore.store import Kind, StoreLostError, ToolApprovalDecisionEvent
from wcore.tools.tool import Tool
from wcore.turn import denials
from wcore.visible import visible_line
from wcore.vocabulary import (
    DESCRIPTION_CHARS_MAX,
    Args,
    By,
    Category,
    ModelCall,
    Prepared,
    Scope,
    ToolMessage,
    ToolOutput,
    Why,
)

if TYPE_CHECKING:
    from wcore.turn.turn import Turn

Outcome = Literal["approved", "denied", "expired", "cancelled"]

log = logging.getLogger("wcore.turn")

_BUG: Final = Denied("internal error", By.POLICY)
TOO_LARGE: Final = "the call is too large to be shown to the host"
LATE: Final = (shell.Reason.TIMEOUT, shell.Reason.NO_ANALYST)  # no property of the text
UNRECORDED: Final = "not run: the journal of the session cannot be written"
CUT_OFF: Final = "[{reason} while it ran; what it had done by then stays done]"
OVERTAKEN: Final = "not run: the store was lost at that moment; ask again if it is still wanted"


def unrecorded(problem: Exception) -> str:
    """Return what the model is told of a call that could not be written down."""
    return OVERTAKEN if isinstance(problem, StoreLostError) else UNRECORDED


class Refusal(Struct, frozen=True):
    """How a call ends without a result.

    `reason` is for the host, and for the model unless `model_text` is given. `why` is for the
    announcement, `decision` for the journal, `preceding_events` are events that belong before the
    end. `move` is `None` when the ledger knows already.
    """

    reason: str
    move: Move | None = Move.CANCEL
    model_text: str | None = None
    why: Why | None = None
    decision: ToolApprovalDecisionEvent | None = None
    preceding_events: tuple[events.Event, ...] = ()


class ToolCall:
    """One call of one reply. `batch` is the list of the reply's calls, which this one is added to.

    `interrupted` is what an earlier engine left of it. `inner` is the tool of a call that is not
    the model's but made by a running tool.
    """

    def __init__(
        self,
        turn: "Turn",
        call_id: str,
        model_call: ModelCall,
        batch: Sequence["ToolCall"] = (),
        interrupted: OpenCall | None = None,
        inner: Tool | None = None,
    ) -> None:
        self.turn = turn
        self.session = turn.session
        self.call_id = call_id
        self.model_call = model_call
        self._batch, self.index = batch, len(batch)  # one list for all: a reply may have many
        self.ended = anyio.Event()
        self.tool: Tool | None = inner or self.session.tools.get(model_call.name)
        self.is_inner = inner is not None
        self.category = self.tool.spec.category if self.tool else Category.EXEC
        args = model_call.args or {}
        self.target_paths = self.tool.target_paths(args) if self.tool else frozenset[str]()
        self.prepared: Prepared | None = None
        self.studied = Studied()
        self.pending: Pending | None = None
        self.answer: str | None = None
        self.edited = False
        self.so_far: str | None = None  # what it has given that was broken off, once it runs
        self.outcome_unknown = interrupted is not None and interrupted.is_started
        self.recorded_approval = (
            interrupted.answer if interrupted else None
        )  # a person's yes, given to another engine
        self._announced = False
        self._output = ToolOutput.failed("internal error")

    @property
    def earlier(self) -> Iterator["ToolCall"]:
        """The calls of the reply before this one."""
        return islice(self._batch, self.index)

    @property
    def result(self) -> ToolMessage:
        """What the model is told; every call has one."""
        return ToolMessage(self.call_id, self.model_call.name, self._output)

    @property
    def args(self) -> Args | None:
        """The arguments to prepare: as the person changed them, else as the model sent them."""
        changed = self.recorded_approval.args if self.recorded_approval else None
        return self.model_call.args if changed is None else changed

    @property
    def digest(self) -> str:
        """What an approval of the prepared call is bound to."""
        return self.prepared.digest if self.prepared else ""

    def note_prepared(self, prepared: Prepared) -> None:
        """Note for the journal what was prepared."""
        analysis = self.studied.analysis
        reason = analysis.reason if analysis else None
        unread = reason.value if reason in LATE and reason else None
        facts = records.prepared(self.call_id, prepared, self.model_call.args, unread)
        self.session.journal.record(Kind.PREPARED, **facts)

    def delays(self, later: "ToolCall") -> bool:
        """Whether `later`, an exec or mcp call that needs no question, must wait for this one."""
        both_spawn = self.model_call.name == later.model_call.name == "Spawn"
        return not self.ended.is_set() and self.category is not Category.INFO and not both_spawn

    async def wait_for(self, others: Sequence["ToolCall"]) -> None:
        """Wait until `others` have ended, or the turn was told to end."""
        with self.turn.interruptible():
            for other in others:
                await other.ended.wait()

    # --- announced once -----------------------------------------------------------------------

    def request_event(
        self, prepared: Prepared, why: Why, suggestions: Sequence[Scope], expires_in_s: int
    ) -> events.ToolRequest:
        """Return the question for the host; sending it is the announcement."""
        return events.ToolRequest(
            msg_id=self.turn.msg_id,
            call_id=self.call_id,
            tool=_info(prepared.tool, self.category, prepared.args, prepared.description),
            why=why,
            preview=prepared.preview,
            suggestions=tuple(scopes.to_wire(s, note_of(s)) for s in suggestions) or None,
            digest=prepared.digest,
            expires_in_s=expires_in_s,
            agent=self.session.agent or None,
            task=self.session.task or None,
        )

    def settled_event(
        self, outcome: Outcome, by: By, edited: Prepared | None = None
    ) -> events.CallSettled:
        """Return how the question ended; `edited` is the call as the host changed it."""
        return events.CallSettled(
            msg_id=self.turn.msg_id,
            call_id=self.call_id,
            outcome=outcome,
            by=by,
            args=edited.args if edited else None,
            digest=edited.digest if edited else None,
            agent=self.session.agent or None,
        )

    def ask(self, request: events.ToolRequest) -> None:
        """Announce the call as a question."""
        self._announced = True
        self.session.emit_nowait(request)

    def announcement(self, why: Why | None, *, args_fit: bool = True) -> events.CallAnnounced:
        """Return the announcement of a call that does not wait.

        The arguments are those the model sent when the call was never prepared, and `{}` when
        they are too large for a line.
        """
        prepared = self.prepared
        args = prepared.args if prepared else self.model_call.args or {}
        name = visible_line(self.model_call.name, DESCRIPTION_CHARS_MAX)
        return events.CallAnnounced(
            msg_id=self.turn.msg_id,
            call_id=self.call_id,
            tool=_info(
                self.model_call.name,
                self.category,
                args if args_fit else {},
                prepared.description if prepared else name,
            ),
            why=why,
            preview=prepared.preview if prepared and args_fit else None,
            agent=self.session.agent or None,
            task=self.session.task or None,
        )

    def announcement_if_it_fits(self, why: Why | None) -> events.CallAnnounced | None:
        """Return the announcement with the whole call, if that fits into a line."""
        event = self.announcement(why)
        return event if self.session.fits(event) else None

    async def announce(self, why: Why | None) -> None:
        """Announce a call that does not wait for the host."""
        await self.send_announcement(
            self.announcement_if_it_fits(why) or self.announcement(why, args_fit=False)
        )

    async def send_announcement(self, event: events.CallAnnounced) -> None:
        """Send the announcement."""
        self._announced = True
        await self.session.emit(event)

    # --- ended once ---------------------------------------------------------------------------

    async def end(self, output: ToolOutput) -> None:
        """End with a result, good or bad: written down, then told to host and model."""
        self.session.ledger.move(self.call_id, Move.END)
        secrets = self.session.secrets
        output = replace(output, output=secrets.redact_truncated(output.output))
        self._output = records.with_edit_note(output, edited=self.edited)
        event = events.ToolResult(
            msg_id=self.turn.msg_id,
            call_id=self.call_id,
            tool_name=self.model_call.name,
            status=output.status,
            output=output.output,
            output_type=output.output_type,
            metadata=output.metadata or None,
        )
        ended = records.ended(self.call_id, self.model_call.name, output, edited=self.edited)
        try:
            self.turn.fail_later(await self.session.persistence.publish_end(None, ended))
            if not self._announced:
                await self.announce(None)
            await self.session.emit(event)
        finally:
            self.ended.set()

    async def fail(self, problem: str) -> None:
        """End a call that could not be prepared or shown: announced, then an error result."""
        await self.end(ToolOutput.failed(problem))

    async def stop(self) -> None:
        """End because the turn was told to end."""
        reason = self.turn.ending.reason if self.turn.ending else reasons.STOP
        told: str | None = None
        if self.so_far is not None:
            so_far = self.session.secrets.redact_truncated(self.so_far)
            told = so_far + CUT_OFF.format(reason=reason)
        await self.cancel(Refusal(reason, model_text=told))

    def leave(self, lines: str) -> None:
        """Note what the call has given that is being broken off."""
        self.so_far = lines

    async def cancel(self, refusal: Refusal) -> None:
        """End without a result: written down, then told."""
        if refusal.move is not None:
            self.session.ledger.move(self.call_id, refusal.move)
        reason = self.session.secrets.redact(refusal.reason)
        again = denials.again(self) if refusal.decision is not None else ""
        self._output = ToolOutput.failed(refusal.model_text or f"Tool denied: {reason}{again}")
        ended = records.ended(self.call_id, self.model_call.name, self._output, reason=reason)
        event = events.ToolCancelled(msg_id=self.turn.msg_id, call_id=self.call_id, reason=reason)
        try:
            self.turn.fail_later(
                await self.session.persistence.publish_end(refusal.decision, ended)
            )
            for each in refusal.preceding_events:
                self.session.emit_nowait(each)
            if not self._announced:
                await self.announce(refusal.why)
            await self.session.emit(event)
        finally:
            self.ended.set()

    async def fail_unrecorded(self, problem: Exception) -> None:
        """End a call that could not be written down: it does not run, and the turn ends."""
        self.turn.fail_later(problem)
        told = unrecorded(problem)
        self.session.cards.pop(self.call_id, None)
        if self.pending is not None:  # nobody was asked yet
            self.session.approvals.try_resolve(self.call_id, Denied(told, By.POLICY))
            await self.cancel(Refusal(told, move=None))
        else:
            await self.fail(told)

    async def fail_after_bug(self) -> None:
        """End after a bug of ours, as far as it can still be told. Call it in an `except`."""
        log.exception("call.broke")  # noqa: LOG004 - only ever called from an `except`
        if self.session.approvals.try_resolve(self.call_id, _BUG):
            self.session.cards.pop(self.call_id, None)
            settled = (self.settled_event("denied", _BUG.by),)
            await self.cancel(Refusal(_BUG.reason, move=None, preceding_events=settled))
        elif self.session.ledger.state(self.call_id) is not None:
            await self.fail(_BUG.reason)
        self.ended.set()


def _info(name: str, category: Category, args: Args, description: str) -> events.ToolInfo:
    return events.ToolInfo(name=name, category=category, args=args, description=description)
