"""The gate: prepare, decide, announce, ask, and hear the answer. The effect comes after it.

Between `decide` and the announcement nothing waits but the writing of the journal, so a decision
is never older than its announcement. A call is registered as waiting before the host is asked.
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
from wcore.turn.parked_calls import answer_to
from wcore.turn.policy_reload import POLICIES, obey_limits, require_store
from wcore.turn.tool_call import TOO_LARGE, Flight, Outcome, Refusal, unrecorded
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


async def gate(flight: Flight) -> Step:
    """Prepare, decide and announce one call."""
    if flight.outcome_unknown:
        await flight.end(ToolOutput.failed(records.UNKNOWN))
        return Step.ENDED
    await flight.session.journal.record_sync_point(f"gates {flight.call_id}")
    if flight.turn.ending is not None:
        await flight.stop()
        return Step.ENDED
    prepared = await _prepare(flight) if await _knows_rules(flight) else None
    if prepared is None:
        return Step.ENDED
    flight.prepared = prepared
    flight.note_prepared(prepared)
    facts, decision = flight.session.decide(prepared, flight.studied)
    match decision.verdict:
        case Verdict.DENY:
            return await _refuse(flight, decision, reasons.RULE + decision.why.detail)
        case _ if flight.recalled is not None:
            return await _recall(flight, decision, prepared, flight.recalled)
        case Verdict.ALLOW:
            return await _allow(flight, decision)
        case Verdict.ASK:
            return await _ask(flight, decision, prepared, facts)


async def hear(flight: Flight, pending: Pending) -> bool:
    """Wait for the answer to a question; false when it was no. Written down, then told."""
    result = await answer_to(flight, pending)
    session = flight.session
    card = session.cards.pop(flight.call_id)
    tool = card.prepared.tool
    edited = result.prepared if isinstance(result, Approved) else None
    settled = flight.settled(_OUTCOMES[move_of(result)], result.by, edited)
    token = pending.resume_token
    echo = events.ApprovalResumed(resume_token=token or "", approved=isinstance(result, Approved))
    closing = (echo, settled) if token else (settled,)
    if isinstance(result, Denied):
        said = session.secrets.redact(result.reason)
        words = None if said == reasons.USER else said
        decision = session.persistence.decision_events.denied(
            flight.call_id, tool, result.by, words
        )
        refusal = Refusal(result.reason, move=None, decision=decision, first=closing)
        await flight.cancel(refusal)
    else:
        flight.prepared = edited or card.prepared
        flight.edited = edited is not None
        flight.answer = result.answer if tool == QUESTION_TOOL else None
        problem = await _publish_yes(flight, flight.prepared, result)
        for event in closing:
            session.emit_nowait(event)
        if problem is not None:
            flight.turn.doubt(problem)
            await flight.fail(unrecorded(problem))
    session.secrets.discard(token or "")
    return not flight.ended.is_set()


async def _publish_yes(flight: Flight, prepared: Prepared, yes: Approved) -> Exception | None:
    """Write a person's yes down; returns why that failed: then the call must not run."""
    persistence = flight.session.persistence
    event = persistence.decision_events.approved(flight.call_id, prepared.tool, always=yes.always)
    if yes.decision is not None:
        event = persistence.decision_events.ruled(flight.call_id, prepared.tool, yes.decision)
        _count_use(flight.session, yes.decision)
    changed = prepared.args if flight.edited else None
    answer = None if flight.is_inner else yes.answer  # it is for an MCP server only
    workspace = flight.session.settings.places.workspace
    facts = records.approval(
        prepared.digest, workspace, args=changed, answer=answer, always=yes.always
    )
    try:
        await persistence.publish(event, facts, acted_upon=True)
    except Exception as error:  # noqa: BLE001 - whatever it was: what is not written does not run
        return error
    return None


async def _knows_rules(flight: Flight) -> bool:
    """Read the rules again; where they cannot be had the call ends, and the turn after it."""
    try:
        session = flight.session
        if await session.policy.reread(
            f"{POLICIES} {flight.call_id}", session.journal.record_sync_point
        ):
            await obey_limits(session)
        require_store(session)
    except WcoreError as error:
        flight.turn.doubt(error)
        await flight.fail(str(error))
        return False
    return True


async def _prepare(flight: Flight) -> Prepared | None:
    """Return the prepared call, or end it: unknown tool, bad arguments, stopped meanwhile."""
    known = flight.session.offered_tools
    if flight.tool is None:
        await flight.fail(_unknown(flight, known))
        return None
    if flight.call.name not in known and not flight.is_inner:
        await _block(flight, _unknown(flight, known))
        return None
    if flight.args is None:
        await flight.fail(f"bad arguments: {flight.call.problem}")
        return None
    prepared: Prepared | None = None
    problem = "internal error while preparing the call"
    try:
        with flight.turn.interruptible():
            runtime = flight.session.runtime
            prepared = await runtime.prepare(flight.call_id, flight.tool, flight.args)
            flight.studied = await flight.session.analyse_command(prepared, flight.call_id)
    except ToolError as error:
        problem = str(error)
    except Exception:
        log.exception("tool.prepare_failed")
    failed = {"problem": problem} if prepared is None else {}
    await flight.session.journal.record_sync_point(f"prepared {flight.call_id}", **failed)
    if flight.turn.ending is not None:
        await flight.stop()
        return None
    if flight.recalled is not None and not _stands(flight, flight.recalled, prepared):
        flight.recalled = None  # as if nobody had answered
        return await _prepare(flight)
    if prepared is None:
        await flight.fail(problem)
    return prepared


def _unknown(flight: Flight, known: Iterable[str]) -> str:
    return f"unknown tool {flight.call.name[:NAME_CHARS_MAX]!r}; there are {', '.join(known)}"


def _stands(flight: Flight, yes: records.RecordedApproval, prepared: Prepared | None) -> bool:
    """Whether a yes that another engine was given is still one: to the same, here, not too old."""
    session = flight.session
    is_young = 0 <= session.journal.age_s(yes.at) < session.settings.approval_ttl_s
    is_here = yes.workspace == session.settings.places.workspace
    return is_young and is_here and prepared is not None and prepared.digest == yes.digest


async def _block(flight: Flight, told: str) -> None:
    """End a call of a tool that is not offered; the model is told what it is told of any other."""
    decision = Decision(Verdict.DENY, Why(Row.BLOCKED, f"{flight.call.name} is not offered"))
    await _refuse(flight, decision, reasons.RULE + decision.why.detail, told)


async def _refuse(flight: Flight, decision: Decision, reason: str, told: str | None = None) -> Step:
    session, name = flight.session, flight.call.name
    decisions = session.persistence.decision_events
    if decision.verdict is Verdict.ASK:
        event = decisions.unasked(flight.call_id, name, host_gone=session.host_gone)
    else:
        event = decisions.ruled(flight.call_id, name, decision)
    await flight.cancel(Refusal(reason, Move.DENY, told, decision.why, event))
    return Step.ENDED


async def _allow(flight: Flight, decision: Decision) -> Step:
    session = flight.session
    in_order = flight.category in (Category.EXEC, Category.MCP)
    if in_order and any(other.delays(flight) for other in flight.earlier):
        return Step.HELD  # the world may change meanwhile: prepared and decided anew
    announcement = flight.fitting(decision.why)
    if announcement is None:
        await flight.fail(TOO_LARGE)
        return Step.ENDED
    event = session.persistence.decision_events.ruled(flight.call_id, flight.call.name, decision)
    try:
        await session.persistence.publish(event, {"digest": flight.digest}, acted_upon=True)
    except Exception as error:  # noqa: BLE001 - whatever it was: what is not written does not run
        await flight.refuse_unrecorded(error)
        return Step.ENDED
    session.ledger.move(flight.call_id, Move.ALLOW)
    _count_use(session, decision)
    await flight.say(announcement)
    return Step.READY


def _count_use(session: Session, decision: Decision) -> None:
    grant = session.grants.find(decision.why.rule or "")
    if grant is not None:
        session.grants.count_use(grant.grant_id)
        session.persistence.count_use(grant)


async def _recall(
    flight: Flight, decision: Decision, prepared: Prepared, yes: records.RecordedApproval
) -> Step:
    """Let a call run that a person approved before the engine ended: the yes is in the journal."""
    announcement = flight.fitting(decision.why)
    if announcement is None:
        await flight.fail(TOO_LARGE)
        return Step.ENDED
    flight.session.ledger.move(flight.call_id, Move.ALLOW)
    flight.edited = yes.args is not None
    flight.answer = yes.answer if prepared.tool == QUESTION_TOOL else None
    await flight.say(announcement)
    return Step.READY


async def _ask(flight: Flight, decision: Decision, prepared: Prepared, facts: Facts) -> Step:
    session = flight.session
    if not session.can_ask:
        flight.turn.tally.denied_unasked += not session.settings.prompts
        reason = reasons.HOST_GONE if session.host_gone else reasons.NO_PROMPTS
        return await _refuse(flight, decision, reason)
    ttl_s = int(session.settings.approval_ttl_s)
    request = flight.request(prepared, decision.why, session.suggestions(facts), ttl_s)
    if not session.fits(request):
        await flight.fail(TOO_LARGE)
        return Step.ENDED
    if len(session.approvals) >= PENDING_MAX:
        await flight.fail(f"{PENDING_MAX} calls wait for approval already; ask for fewer at once")
        return Step.ENDED
    suspends = session.settings.hitl_suspend and prepared.tool == QUESTION_TOOL
    # Registered before it is written down: a stop meanwhile settles this call like all others.
    flight.pending = session.approvals.request_approval(
        flight.call_id, flight.category, prepared.tool, suspend=suspends
    )
    assert flight.tool is not None
    session.cards[flight.call_id] = Card(request, prepared, facts, session, flight.tool)
    try:
        await session.journal.write(records.asked(flight.call_id, decision.why, prepared.digest))
    except Exception as error:  # noqa: BLE001 - whatever it was: what is not written is not asked
        await flight.refuse_unrecorded(error)
        return Step.ENDED
    flight.ask(request)
    if flight.pending.resume_token:
        _suspend(flight, prepared, flight.pending.resume_token)
    return Step.READY


def _suspend(flight: Flight, prepared: Prepared, token: str) -> None:
    session = flight.session
    session.secrets.add(token)
    session.emit_nowait(
        events.ApprovalRequired(
            call_id=flight.call_id,
            resume_token=token,
            correlation_id=token,
            reason=REASON_SUSPEND,
            context=f"{prepared.tool}: {prepared.args.get('question', '')}",
        )
    )
    session.emit_nowait(events.Suspend(reason=REASON_SUSPENDED, resume_token=token))
