"""The gate: prepare, decide, announce, ask, and hear the answer. The effect comes after it.

Everything between `judge` and the announcement happens without waiting, so a decision is never
older than its announcement. A call is registered as waiting before the host is asked.
"""

import logging
from enum import StrEnum
from typing import Final

from wcore.approval import reasons
from wcore.approval.manager import PENDING_MAX, Approved, Denied, Pending, move_of
from wcore.approval.table import Move
from wcore.errors import ToolError
from wcore.policy.decide import QUESTION_TOOL
from wcore.policy.facts import Facts
from wcore.protocol import events
from wcore.session import Card
from wcore.turn.flight import TOO_LARGE, Flight, Outcome
from wcore.vocabulary import Category, Decision, Prepared, Row, Verdict, Why

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
    if flight.turn.ending is not None:
        await flight.cancel()
        return Step.ENDED
    prepared = await _prepare(flight)
    if prepared is None:
        return Step.ENDED
    flight.prepared = prepared
    facts, decision = flight.session.judge(prepared, flight.analysis)
    match decision.verdict:
        case Verdict.DENY:
            return await _refuse(flight, decision, reasons.RULE + decision.why.detail)
        case Verdict.ALLOW:
            return await _allow(flight, decision)
        case Verdict.ASK:
            return await _ask(flight, decision, prepared, facts)


async def hear(flight: Flight, pending: Pending) -> bool:
    """Wait for the answer to a question; false when it was no."""
    result = await pending
    session = flight.session
    card = session.cards.pop(flight.call_id)
    edited = result.prepared if isinstance(result, Approved) else None
    if pending.resume_token:
        approved = isinstance(result, Approved)
        session.put(events.ApprovalResumed(resume_token=pending.resume_token, approved=approved))
        session.secrets.discard(pending.resume_token)
    session.put(flight.settled(_OUTCOMES[move_of(result)], result.by, edited))
    if isinstance(result, Denied):
        told = None if result.reason == reasons.USER else result.reason
        session.keeper.denied(flight.call_id, card.prepared.tool, result.by, told)
        await flight.cancel(result.reason, move=None)
        return False
    session.keeper.approved(flight.call_id, card.prepared.tool, always=result.always)
    flight.prepared = edited or card.prepared
    flight.edited = edited is not None
    flight.answer = result.answer if card.prepared.tool == QUESTION_TOOL else None
    return True


async def _prepare(flight: Flight) -> Prepared | None:
    """Return the prepared call, or end it: unknown tool, bad arguments, stopped meanwhile."""
    known = flight.session.offered
    unknown = f"unknown tool {flight.call.name[:NAME_CHARS_MAX]!r}; there are {', '.join(known)}"
    if flight.tool is None:
        await flight.fail(unknown)
        return None
    if flight.call.name not in known:
        await _block(flight, unknown)
        return None
    if flight.call.args is None:
        await flight.fail(f"bad arguments: {flight.call.problem}")
        return None
    prepared: Prepared | None = None
    problem = "internal error while preparing the call"
    try:
        with flight.turn.interruptible():
            prepared = await flight.tool.prepare(flight.call.args)
            flight.analysis = await flight.session.study(prepared)
    except ToolError as error:
        problem = str(error)
    except Exception:
        log.exception("tool.prepare_failed")
    if flight.turn.ending is not None:
        await flight.cancel()
        return None
    if prepared is None:
        await flight.fail(problem)
    return prepared


async def _block(flight: Flight, told: str) -> None:
    """End a call of a tool that is not offered; the model is told what it is told of any other."""
    decision = Decision(Verdict.DENY, Why(Row.BLOCKED, f"{flight.call.name} is not offered"))
    flight.session.keeper.decided(flight.call_id, flight.call.name, decision)
    await flight.announce(decision.why)
    await flight.cancel(reasons.RULE + decision.why.detail, move=Move.DENY, told=told)


async def _refuse(flight: Flight, decision: Decision, reason: str) -> Step:
    keeper = flight.session.keeper
    if decision.verdict is Verdict.ASK:
        keeper.denied_unasked(flight.call_id, flight.call.name, host_gone=flight.session.host_gone)
    else:
        keeper.decided(flight.call_id, flight.call.name, decision)
    await flight.announce(decision.why)
    await flight.cancel(reason, move=Move.DENY)
    return Step.ENDED


async def _allow(flight: Flight, decision: Decision) -> Step:
    in_order = flight.category in (Category.EXEC, Category.MCP)
    if in_order and any(other.delays(flight) for other in flight.earlier):
        return Step.HELD  # the world may change meanwhile: prepared and decided anew
    if not flight.session.fits(flight.announcement(decision.why)):
        await flight.fail(TOO_LARGE)
        return Step.ENDED
    flight.session.ledger.move(flight.call_id, Move.ALLOW)
    flight.session.keeper.decided(flight.call_id, flight.call.name, decision)
    if decision.why.rule:
        flight.session.grants.count_use(decision.why.rule)
    await flight.announce(decision.why)
    return Step.READY


async def _ask(flight: Flight, decision: Decision, prepared: Prepared, facts: Facts) -> Step:
    session = flight.session
    if not session.can_ask:
        flight.turn.denied_unasked += not session.settings.prompts
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
    flight.pending = session.approvals.request_approval(
        flight.call_id, flight.category, prepared.tool, suspend=suspends
    )
    session.cards[flight.call_id] = Card(request, prepared, facts)
    flight.ask(request)
    if flight.pending.resume_token:
        _suspend(flight, prepared, flight.pending.resume_token)
    return Step.READY


def _suspend(flight: Flight, prepared: Prepared, token: str) -> None:
    session = flight.session
    session.secrets.add(token)
    session.put(
        events.ApprovalRequired(
            call_id=flight.call_id,
            resume_token=token,
            correlation_id=token,
            reason=REASON_SUSPEND,
            context=f"{prepared.tool}: {prepared.args.get('question', '')}",
        )
    )
    session.put(events.Suspend(reason=REASON_SUSPENDED, resume_token=token))
