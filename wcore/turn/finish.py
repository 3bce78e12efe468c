"""The end of a call, whatever it is: written down first, then told to host and model.

`finish(call, outcome)` is the way of all of them. An outcome is a result, as
`ToolOutput(Status.SUCCESS, "3 passed")` or `ToolOutput.failed("no such file")`, which the host sees
as `tool_result`; or a `Refusal("denied by the user")`, which it sees as `tool_cancelled`. What had
not been announced by then is announced before.
"""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from wcore.approval import reasons
from wcore.approval.manager import Denied
from wcore.approval.table import Move
from wcore.persistence import records
from wcore.policy_files.session_policy import BrokenRulesError
from wcore.protocol import events
from wcore.store import Record, StoreLostError, ToolApprovalDecisionEvent
from wcore.turn.announce import announce, settled_event
from wcore.turn.call import ToolCall
from wcore.vocabulary import By, ToolOutput, Why

_BUG: Final = Denied("internal error", By.POLICY)
UNRECORDED: Final = "not run: the journal of the session cannot be written"
CUT_OFF: Final = "[{reason} while it ran; what it had done by then stays done]"
OVERTAKEN: Final = "not run: the store was lost at that moment; ask again if it is still wanted"

log = logging.getLogger("wcore.turn")


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


async def finish(call: ToolCall, outcome: ToolOutput | Refusal) -> None:
    """End a call. If that cannot be written down the turn fails, after the calls under way."""
    if isinstance(outcome, ToolOutput):
        call.session.ledger.move(call.call_id, Move.END)
        event, ended = _result(call, outcome)
        await _tell(call, event, ended)
    else:
        if outcome.move is not None:
            call.session.ledger.move(call.call_id, outcome.move)
        event, ended = _cancelled(call, outcome)
        await _tell(call, event, ended, outcome)


def stopped(call: ToolCall) -> Refusal:
    """Return the end of a call whose turn was told to end."""
    ending = call.control.ending
    reason = ending.reason if ending else reasons.STOP
    if call.so_far is None:
        return Refusal(reason)
    so_far = call.session.secrets.redact_truncated(call.so_far)
    return Refusal(reason, model_text=so_far + CUT_OFF.format(reason=reason))


def unrecorded(problem: Exception) -> str:
    """Return what the model is told of a call that could not be written down."""
    if isinstance(problem, BrokenRulesError):  # nor may it be decided then
        return str(problem)
    return OVERTAKEN if isinstance(problem, StoreLostError) else UNRECORDED


async def finish_unrecorded(call: ToolCall, problem: Exception) -> None:
    """End a call that could not be written down: it does not run, and the turn fails after it."""
    call.control.fail_later(problem)
    told = unrecorded(problem)
    call.session.cards.pop(call.call_id, None)
    if call.pending is not None:  # nobody was asked yet
        call.session.approvals.try_resolve(call.call_id, Denied(told, By.POLICY))
        await finish(call, Refusal(told, move=None))
    else:
        await finish(call, ToolOutput.failed(told))


@asynccontextmanager
async def finished_after_bug(call: ToolCall) -> AsyncGenerator[None]:
    """End `call` after a bug of ours inside, as far as it can still be told; others go on."""
    try:
        yield
    except Exception:
        log.exception("call.broke")
        if call.session.approvals.try_resolve(call.call_id, _BUG):
            call.session.cards.pop(call.call_id, None)
            settled = settled_event(call, _BUG)
            await finish(call, Refusal(_BUG.reason, move=None, preceding_events=(settled,)))
        elif call.state is not None:
            await finish(call, ToolOutput.failed(_BUG.reason))
        call.ended.set()


def _result(call: ToolCall, output: ToolOutput) -> tuple[events.ToolResult, Record]:
    name = call.model_call.name
    output = replace(output, output=call.session.secrets.redact_truncated(output.output))
    call.output = records.with_edit_note(output, edited=call.edited)
    event = events.ToolResult(
        msg_id=call.control.msg_id,
        call_id=call.call_id,
        tool_name=name,
        status=output.status,
        output=output.output,
        output_type=output.output_type,
        metadata=output.metadata or None,
    )
    return event, records.ended(call.call_id, name, output, edited=call.edited)


def _cancelled(call: ToolCall, refusal: Refusal) -> tuple[events.ToolCancelled, Record]:
    reason = call.session.secrets.redact(refusal.reason)
    told = refusal.model_text or f"Tool denied: {reason}{_again(call, refusal)}"
    call.output = ToolOutput.failed(told)
    msg_id, call_id = call.control.msg_id, call.call_id
    event = events.ToolCancelled(msg_id=msg_id, call_id=call_id, reason=reason)
    return event, records.ended(call_id, call.model_call.name, call.output, reason=reason)


def _again(call: ToolCall, refusal: Refusal) -> str:
    """Count a denial; a call that was stopped or never prepared, or that a tool made, is none."""
    is_denial = refusal.decision is not None and call.control.ending is None
    if not is_denial or call.prepared is None or call.is_inner:
        return ""
    return call.control.denials.add(call.prepared.digest)


async def _tell(
    call: ToolCall, event: events.Event, ended: Record, refusal: Refusal | None = None
) -> None:
    session, decision = call.session, refusal.decision if refusal else None
    try:
        call.control.fail_later(await session.persistence.publish_end(decision, ended))
        for each in refusal.preceding_events if refusal else ():
            session.emit_nowait(each)
        if not call.announced:
            await announce(call, refusal.why if refusal else None)
        await session.emit(event)
    finally:
        call.ended.set()
