"""A parked call that a grant given meanwhile covers: it waits no longer for an answer of its own.

An exec or mcp call stays on the screen until those of its reply that go before it have ended. Each
is then decided anew, on facts of that moment, unless a person has answered by then.
"""

import logging

import anyio

from wcore.approval.manager import ApprovalResult, Approved, Pending
from wcore.policy.decide import OVERRIDE, QUESTION_TOOL
from wcore.turn.call import ToolCall
from wcore.vocabulary import By, Category, Decision, Row, Verdict

log = logging.getLogger("wcore.turn")


async def answer_to(call: ToolCall, pending: Pending) -> ApprovalResult:
    """Wait for the answer to a question, or for a grant that makes it needless."""
    if pending.tool_name == QUESTION_TOOL:
        return await pending
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_watch, call, pending)
        await pending
        tasks.cancel_scope.cancel()
    assert pending.result is not None
    return pending.result


async def _watch(call: ToolCall, pending: Pending) -> None:
    approvals = call.session.approvals
    grew = approvals.grants_grew
    while True:
        await grew.wait()
        grew = approvals.grants_grew
        try:
            await _decide_again(call, pending)
        except Exception:  # what goes wrong here must not take the card along: a person can answer
            log.exception("call.not_let_go")


async def _decide_again(call: ToolCall, pending: Pending) -> None:
    session, card = call.session, call.session.cards[call.call_id]
    if call.category in (Category.EXEC, Category.MCP):
        await call.wait_for([other for other in call.earlier if other.delays(call)])
    _, decision = await session.decide(await session.look(card.prepared))
    if pending.result is not None or pending.editing:
        return
    if _is_granted(decision):
        yes = Approved(by=By.POLICY, decision=decision)
        session.approvals.try_resolve(call.call_id, yes)


def _is_granted(decision: Decision) -> bool:
    """Whether a grant allows it: another mode, or an override, is for calls to come."""
    granted = decision.verdict is Verdict.ALLOW and decision.why.row is Row.GRANT
    return granted and decision.why.rule != OVERRIDE
