"""Before the effect of a call: prepare, decide, announce, ask, and wait for the answer.

`batch.py` calls `gate` for each call of a reply, and `await_answer` if that asked; `execution.py`
runs what was allowed. A `Bash` call `ls` in mode `default` is prepared, decided as *ask*, written
down as `asked`, announced by `tool_request`, and leaves here *waiting*, with `call.pending` set.

Nothing but the writing of the journal waits between the decision and the announcement, so no
decision is older than its announcement. A call is registered as waiting before the host is asked.
What cannot be written down is neither asked nor run.
"""

import logging
from collections.abc import Iterable
from typing import Final

from wcore.approval import reasons
from wcore.approval.manager import PENDING_MAX, Approved, Denied, Pending
from wcore.approval.table import Move
from wcore.errors import ToolError
from wcore.persistence import records
from wcore.policy.decide import QUESTION_TOOL
from wcore.policy.facts import Facts, Studied
from wcore.policy_files.session_policy import BrokenRulesError
from wcore.protocol import events
from wcore.session.session import Card, Session
from wcore.times import age_s
from wcore.turn.announce import (
    TOO_LARGE,
    ask,
    line_of,
    request_event,
    send_announcement,
    settled_event,
)
from wcore.turn.call import ToolCall
from wcore.turn.finish import Refusal, finish, finish_unrecorded, stopped, unrecorded
from wcore.turn.parked_calls import answer_to
from wcore.turn.policy_reload import StoreRequiredError, obey_limits, require_store
from wcore.vocabulary import Category, Decision, Prepared, Row, ToolOutput, Verdict, Why

TOO_MANY: Final = f"{PENDING_MAX} calls wait for approval already; ask for fewer at once"
NAME_CHARS_MAX: Final = 64  # of an unknown tool's name, repeated to the model

log = logging.getLogger("wcore.turn")


async def gate(call: ToolCall) -> None:
    """Prepare, decide and announce one call.

    Then it has ended; or it waits for an answer, or may run at once; or it is `proposed` as before:
    allowed, but earlier calls come first, and it is to be gated again after them.
    """
    if call.outcome_unknown:
        await finish(call, ToolOutput.failed(records.UNKNOWN))
    elif call.control.ending is not None:
        await finish(call, stopped(call))
    elif (found := await _prepare(call)) is not None:
        studied, decision = found
        prepared = studied.prepared
        call.note_prepared(studied)
        match decision.verdict:
            case Verdict.DENY:
                await _refuse(call, decision, reasons.RULE + decision.why.detail)
            case _ if call.recorded_approval is not None:
                await _reuse_approval(call, decision, prepared, call.recorded_approval)
            case Verdict.ALLOW:
                await _allow(call, prepared, decision)
            case Verdict.ASK:
                await _ask(call, decision, prepared, studied.facts)


async def await_answer(call: ToolCall, pending: Pending) -> bool:
    """Wait for the answer to a question, write it down, tell it; false if the call has ended."""
    result = await answer_to(call, pending)
    session = call.session
    card = session.cards.pop(call.call_id)
    tool = card.prepared.tool
    closing: tuple[events.Event, ...] = (settled_event(call, result),)
    if token := pending.resume_token:
        approved = isinstance(result, Approved)
        closing = (events.ApprovalResumed(resume_token=token, approved=approved), *closing)
    if isinstance(result, Denied):
        said = session.secrets.redact(result.reason)
        words = None if said == reasons.USER else said
        decision = session.persistence.decision_events.denied(call.call_id, tool, result.by, words)
        refusal = Refusal(result.reason, move=None, decision=decision, preceding_events=closing)
        await finish(call, refusal)
    else:
        if result.edited is not None:
            call.edited, call.studied = True, result.edited
            call.prepared = result.edited.prepared
        call.answer = result.answer if tool == QUESTION_TOOL else None
        assert call.prepared is not None
        problem = await _record_approval(call, call.prepared, result)
        for event in closing:
            session.emit_nowait(event)
        if problem is not None:
            call.control.fail_later(problem)
            await finish(call, ToolOutput.failed(unrecorded(problem)))
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


async def _prepare(call: ToolCall) -> tuple[Studied, Decision] | None:
    """Return the prepared call and the decision, or end it: unknown, bad arguments, stopped."""
    session = call.session
    known = session.offered_tools
    if call.tool is None:
        await finish(call, ToolOutput.failed(_unknown(call, known)))
        return None
    if call.model_call.name not in known and not call.is_inner:
        await _block(call, _unknown(call, known))
        return None
    if call.args is None:
        await finish(call, ToolOutput.failed(f"bad arguments: {call.model_call.problem}"))
        return None
    found: tuple[Studied, Decision] | None = None
    problem = "internal error while preparing the call"
    try:
        with call.control.interruptible():
            prepared = await session.prepare(call.tool, call.args)
            await obey_limits(session)
            require_store(session)
            found = await session.decide(prepared)
    except ToolError as error:
        problem = str(error)
    except (BrokenRulesError, StoreRequiredError) as error:  # the turn ends too
        call.control.fail_later(error)
        problem = str(error)
    except Exception:
        log.exception("tool.prepare_failed")
    if call.control.ending is not None:
        await finish(call, stopped(call))
        return None
    recorded = call.recorded_approval
    if recorded is not None and not _approval_still_valid(call, recorded, found):
        call.recorded_approval = None  # as if nobody had answered
        return await _prepare(call)
    if found is None:
        await finish(call, ToolOutput.failed(problem))
    return found


def _unknown(call: ToolCall, known: Iterable[str]) -> str:
    return f"unknown tool {call.model_call.name[:NAME_CHARS_MAX]!r}; there are {', '.join(known)}"


def _approval_still_valid(
    call: ToolCall, yes: records.RecordedApproval, found: tuple[Studied, Decision] | None
) -> bool:
    """Whether a yes that another engine was given is still one: to the same, here, not too old."""
    session = call.session
    is_young = 0 <= age_s(yes.at) < session.approvals.ttl_s
    is_here = yes.workspace == session.settings.places.workspace
    return is_young and is_here and found is not None and found[0].prepared.digest == yes.digest


async def _block(call: ToolCall, told: str) -> None:
    """End a call of a tool that is not offered; the model is told what it is told of any other."""
    decision = Decision(Verdict.DENY, Why(Row.BLOCKED, f"{call.model_call.name} is not offered"))
    await _refuse(call, decision, reasons.RULE + decision.why.detail, told)


async def _refuse(call: ToolCall, decision: Decision, reason: str, told: str | None = None) -> None:
    session, name = call.session, call.model_call.name
    decisions = session.persistence.decision_events
    if decision.verdict is Verdict.ASK:
        event = decisions.unasked(call.call_id, name, host_gone=session.host_gone)
    else:
        event = decisions.ruled(call.call_id, name, decision)
    await finish(call, Refusal(reason, Move.DENY, told, decision.why, event))


async def _allow(call: ToolCall, prepared: Prepared, decision: Decision) -> None:
    session = call.session
    in_order = call.category in (Category.EXEC, Category.MCP)
    if in_order and any(other.delays(call) for other in call.earlier):
        return  # the world may change meanwhile: prepared and decided anew
    line = line_of(call, decision.why)
    if line is None:
        await finish(call, ToolOutput.failed(TOO_LARGE))
        return
    event = session.persistence.decision_events.ruled(call.call_id, call.model_call.name, decision)
    try:
        await session.persistence.publish(event, {"digest": prepared.digest}, acted_upon=True)
    except Exception as error:  # noqa: BLE001 - whatever it was: what is not written does not run
        await finish_unrecorded(call, error)
        return
    session.ledger.move(call.call_id, Move.ALLOW)
    _count_use(session, decision)
    await send_announcement(call, line)


def _count_use(session: Session, decision: Decision) -> None:
    grant = session.grants.find(decision.why.rule or "")
    if grant is not None:
        session.grants.count_use(grant.grant_id)
        session.persistence.count_use(grant)


async def _reuse_approval(
    call: ToolCall, decision: Decision, prepared: Prepared, yes: records.RecordedApproval
) -> None:
    """Let a call run that a person approved before the engine ended: the yes is in the journal."""
    line = line_of(call, decision.why)
    if line is None:
        await finish(call, ToolOutput.failed(TOO_LARGE))
        return
    call.session.ledger.move(call.call_id, Move.ALLOW)
    call.edited = yes.args is not None
    call.answer = yes.answer if prepared.tool == QUESTION_TOOL else None
    await send_announcement(call, line)


async def _ask(call: ToolCall, decision: Decision, prepared: Prepared, facts: Facts) -> None:
    session = call.session
    if not session.can_ask:
        call.control.tally.denied_unasked += not session.settings.prompts
        reason = reasons.HOST_GONE if session.host_gone else reasons.NO_PROMPTS
        await _refuse(call, decision, reason)
        return
    ttl_s = int(session.approvals.ttl_s)
    request = request_event(call, prepared, decision.why, session.suggestions(facts), ttl_s)
    line = session.fits(request)
    if line is None or len(session.approvals) >= PENDING_MAX:
        await finish(call, ToolOutput.failed(TOO_LARGE if line is None else TOO_MANY))
        return
    suspends = session.settings.hitl_suspend and prepared.tool == QUESTION_TOOL
    # Registered before it is written down: a stop meanwhile settles this call like all others.
    call.asked_under = session.policy.rules.present
    call.pending = session.approvals.request_approval(
        call.call_id, call.category, prepared.tool, suspend=suspends
    )
    assert call.tool is not None
    session.cards[call.call_id] = Card(request, prepared, facts, session, call.tool)
    try:
        await session.journal.write(records.asked(call.call_id, decision.why, prepared.digest))
    except Exception as error:  # noqa: BLE001 - whatever it was: what is not written is not asked
        await finish_unrecorded(call, error)
    else:
        ask(call, line, prepared, call.pending.resume_token)
