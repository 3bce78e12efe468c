"""Before the effect of a call: prepare, decide, announce, ask, and wait for the answer.

`batch.py` calls `gate` for each call of a reply, and `await_answer` if that asked; `execution.py`
runs what was allowed. A `Bash` call `ls` in mode `default` is prepared, decided as *ask*, written
down as `asked`, announced by `tool_request`, and ends here as *ready* with `call.pending` set.

Nothing but the writing of the journal waits between the decision and the announcement, so no
decision is older than its announcement. A call is registered as waiting before the host is asked.
What cannot be written down is neither asked nor run.
"""

import logging
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from wcore.approval import reasons
from wcore.approval.manager import PENDING_MAX, Approved, Denied, Pending, move_of
from wcore.approval.table import Move
from wcore.errors import ToolError, WcoreError
from wcore.persistence import records
from wcore.policy.decide import QUESTION_TOOL
from wcore.policy.facts import Facts
from wcore.protocol import events
from wcore.session.session import Card, Session
from wcore.times import age_s
from wcore.turn.parked_calls import answer_to
from wcore.turn.policy_reload import obey_limits, require_store
from wcore.turn.tool_call import TOO_LARGE, Outcome, Refusal, ToolCall, unrecorded
from wcore.vocabulary import Category, Decision, Prepared, Row, ToolOutput, Verdict, Why

REASON_SUSPEND: Final = "Tool requires host decision"
REASON_SUSPENDED: Final = "awaiting host decision"
NAME_CHARS_MAX: Final = 64  # of an unknown tool's name, repeated to the model

_OUTCOMES: Final[dict[Move, Outcome]] = {
    Move.APPROVE: "approved",
    Move.DENY: "denied",
    Move.EXPIRE: "expired",
    Move.CANCEL: "cancelled",
}

log = logging.getLogger("wcore.turn")


class Step(StrEnum):
    """How far the gate has brought a call."""

    ENDED = "ended"  #: it is over: denied, impossible, or stopped
    READY = "ready"  #: announced; it waits for an answer or may run at once
    HELD = "held"  #: allowed, but earlier calls come first: gate it again after them


async def gate(call: ToolCall) -> Step:
    """Prepare, decide and announce one call."""
    if call.outcome_unknown:
        await call.end(ToolOutput.failed(records.UNKNOWN))
        return Step.ENDED
    if call.turn.ending is not None:
        await call.stop()
        return Step.ENDED
    prepared = await _prepare(call) if await _knows_rules(call) else None
    if prepared is None:
        return Step.ENDED
    call.prepared = prepared
    call.note_prepared(prepared)
    facts, decision = call.session.decide(prepared, call.studied)
    match decision.verdict:
        case Verdict.DENY:
            return await _refuse(call, decision, reasons.RULE + decision.why.detail)
        case _ if call.recorded_approval is not None:
            return await _reuse_approval(call, decision, prepared, call.recorded_approval)
        case Verdict.ALLOW:
            return await _allow(call, decision)
        case Verdict.ASK:
            return await _ask(call, decision, prepared, facts)


async def await_answer(call: ToolCall, pending: Pending) -> bool:
    """Wait for the answer to a question; false when it was no. Written down, then told."""
    result = await answer_to(call, pending)
    session = call.session
    card = session.cards.pop(call.call_id)
    tool = card.prepared.tool
    edited = result.prepared if isinstance(result, Approved) else None
    settled = call.settled_event(_OUTCOMES[move_of(result)], result.by, edited)
    token = pending.resume_token
    echo = events.ApprovalResumed(resume_token=token or "", approved=isinstance(result, Approved))
    closing = (echo, settled) if token else (settled,)
    if isinstance(result, Denied):
        said = session.secrets.redact(result.reason)
        words = None if said == reasons.USER else said
        decision = session.persistence.decision_events.denied(call.call_id, tool, result.by, words)
        refusal = Refusal(result.reason, move=None, decision=decision, preceding_events=closing)
        await call.cancel(refusal)
    else:
        call.prepared = edited or card.prepared
        call.edited = edited is not None
        call.answer = result.answer if tool == QUESTION_TOOL else None
        problem = await _record_approval(call, call.prepared, result)
        for event in closing:
            session.emit_nowait(event)
        if problem is not None:
            call.turn.fail_later(problem)
            await call.fail(unrecorded(problem))
    return not call.ended.is_set()


async def _record_approval(call: ToolCall, prepared: Prepared, yes: Approved) -> Exception | None:
    """Write a person's yes down; returns why that failed: then the call must not run."""
    persistence = call.session.persistence
    event = persistence.decision_events.approved(call.call_id, prepared.tool, always=yes.always)
    if yes.decision is not None:
        event = persistence.decision_events.ruled(call.call_id, prepared.tool, yes.decision)
        _count_use(call.session, yes.decision)
    changed = prepared.args if call.edited else None
    answer = None if call.is_inner else yes.answer  # it is for an MCP server only
    workspace = call.session.settings.places.workspace
    facts = records.approval(
        prepared.digest, workspace, args=changed, answer=answer, always=yes.always
    )
    try:
        await persistence.publish(event, facts, acted_upon=True)
    except Exception as error:  # noqa: BLE001 - whatever it was: what is not written does not run
        return error
    return None


async def _knows_rules(call: ToolCall) -> bool:
    """Read the rules again; where they cannot be had the call ends, and the turn after it."""
    try:
        session = call.session
        if await session.policy.reread():
            await obey_limits(session)
        require_store(session)
    except WcoreError as error:
        call.turn.fail_later(error)
        await call.fail(str(error))
        return False
    return True


async def _prepare(call: ToolCall) -> Prepared | None:
    """Return the prepared call, or end it: unknown tool, bad arguments, stopped meanwhile."""
    known = call.session.offered_tools
    if call.tool is None:
        await call.fail(_unknown(call, known))
        return None
    if call.model_call.name not in known and not call.is_inner:
        await _block(call, _unknown(call, known))
        return None
    if call.args is None:
        await call.fail(f"bad arguments: {call.model_call.problem}")
        return None
    prepared: Prepared | None = None
    problem = "internal error while preparing the call"
    try:
        with call.turn.interruptible():
            prepared = await call.session.prepare(call.tool, call.args)
            call.studied = await call.session.analyse_command(prepared)
    except ToolError as error:
        problem = str(error)
    except Exception:
        log.exception("tool.prepare_failed")
    if call.turn.ending is not None:
        await call.stop()
        return None
    if call.recorded_approval is not None and not _approval_still_valid(
        call, call.recorded_approval, prepared
    ):
        call.recorded_approval = None  # as if nobody had answered
        return await _prepare(call)
    if prepared is None:
        await call.fail(problem)
    return prepared


def _unknown(call: ToolCall, known: Iterable[str]) -> str:
    return f"unknown tool {call.model_call.name[:NAME_CHARS_MAX]!r}; there are {', '.join(known)}"


def _approval_still_valid(
    call: ToolCall, yes: records.RecordedApproval, prepared: Prepared | None
) -> bool:
    """Whether a yes that another engine was given is still one: to the same, here, not too old."""
    session = call.session
    is_young = 0 <= age_s(yes.at) < session.settings.approval_ttl_s
    is_here = yes.workspace == session.settings.places.workspace
    return is_young and is_here and prepared is not None and prepared.digest == yes.digest


async def _block(call: ToolCall, told: str) -> None:
    """End a call of a tool that is not offered; the model is told what it is told of any other."""
    decision = Decision(Verdict.DENY, Why(Row.BLOCKED, f"{call.model_call.name} is not offered"))
    await _refuse(call, decision, reasons.RULE + decision.why.detail, told)


async def _refuse(call: ToolCall, decision: Decision, reason: str, told: str | None = None) -> Step:
    session, name = call.session, call.model_call.name
    decisions = session.persistence.decision_events
    if decision.verdict is Verdict.ASK:
        event = decisions.unasked(call.call_id, name, host_gone=session.host_gone)
    else:
        event = decisions.ruled(call.call_id, name, decision)
    await call.cancel(Refusal(reason, Move.DENY, told, decision.why, event))
    return Step.ENDED


async def _allow(call: ToolCall, decision: Decision) -> Step:
    session = call.session
    in_order = call.category in (Category.EXEC, Category.MCP)
    if in_order and any(other.delays(call) for other in call.earlier):
        return Step.HELD  # the world may change meanwhile: prepared and decided anew
    announcement = call.announcement_if_it_fits(decision.why)
    if announcement is None:
        await call.fail(TOO_LARGE)
        return Step.ENDED
    event = session.persistence.decision_events.ruled(call.call_id, call.model_call.name, decision)
    try:
        await session.persistence.publish(event, {"digest": call.digest}, acted_upon=True)
    except Exception as error:  # noqa: BLE001 - whatever it was: what is not written does not run
        await call.fail_unrecorded(error)
        return Step.ENDED
    session.ledger.move(call.call_id, Move.ALLOW)
    _count_use(session, decision)
    await call.send_announcement(announcement)
    return Step.READY


def _count_use(session: Session, decision: Decision) -> None:
    grant = session.grants.find(decision.why.rule or "")
    if grant is not None:
        session.grants.count_use(grant.grant_id)
        session.persistence.count_use(grant)


async def _reuse_approval(
    call: ToolCall, decision: Decision, prepared: Prepared, yes: records.RecordedApproval
) -> Step:
    """Let a call run that a person approved before the engine ended: the yes is in the journal."""
    announcement = call.announcement_if_it_fits(decision.why)
    if announcement is None:
        await call.fail(TOO_LARGE)
        return Step.ENDED
    call.session.ledger.move(call.call_id, Move.ALLOW)
    call.edited = yes.args is not None
    call.answer = yes.answer if prepared.tool == QUESTION_TOOL else None
    await call.send_announcement(announcement)
    return Step.READY


async def _ask(call: ToolCall, decision: Decision, prepared: Prepared, facts: Facts) -> Step:
    session = call.session
    if not session.can_ask:
        call.turn.tally.denied_unasked += not session.settings.prompts
        reason = reasons.HOST_GONE if session.host_gone else reasons.NO_PROMPTS
        return await _refuse(call, decision, reason)
    ttl_s = int(session.settings.approval_ttl_s)
    request = call.request_event(prepared, decision.why, session.suggestions(facts), ttl_s)
    if not session.fits(request):
        await call.fail(TOO_LARGE)
        return Step.ENDED
    if len(session.approvals) >= PENDING_MAX:
        await call.fail(f"{PENDING_MAX} calls wait for approval already; ask for fewer at once")
        return Step.ENDED
    suspends = session.settings.hitl_suspend and prepared.tool == QUESTION_TOOL
    # Registered before it is written down: a stop meanwhile settles this call like all others.
    call.pending = session.approvals.request_approval(
        call.call_id, call.category, prepared.tool, suspend=suspends
    )
    assert call.tool is not None
    session.cards[call.call_id] = Card(request, prepared, facts, session, call.tool)
    try:
        await session.journal.write(records.asked(call.call_id, decision.why, prepared.digest))
    except Exception as error:  # noqa: BLE001 - whatever it was: what is not written is not asked
        await call.fail_unrecorded(error)
        return Step.ENDED
    call.ask(request)
    if call.pending.resume_token:
        _suspend(call, prepared, call.pending.resume_token)
    return Step.READY


def _suspend(call: ToolCall, prepared: Prepared, token: str) -> None:
    session = call.session
    session.secrets.add_token(token)
    session.emit_nowait(
        events.ApprovalRequired(
            call_id=call.call_id,
            resume_token=token,
            correlation_id=token,
            reason=REASON_SUSPEND,
            context=f"{prepared.tool}: {prepared.args.get('question', '')}",
        )
    )
    session.emit_nowait(events.Suspend(reason=REASON_SUSPENDED, resume_token=token))
