"""The host's answers to questions. Each settles one waiting call, or leaves it waiting as it was.

An answer that comes too late, twice, or to a call never asked raises a `HostError`, which the
engine reports as one `info`.
"""

import logging
from collections.abc import Sequence

from anyio.abc import TaskGroup
from msgspec.structs import replace

from wcore.approval import reasons
from wcore.approval.manager import Denied, Pending
from wcore.approval.table import UnknownCallError
from wcore.errors import Code, ConfigError, HostError, ToolError
from wcore.persistence import records
from wcore.policy.decide import QUESTION_TOOL
from wcore.policy.facts import Studied
from wcore.policy.grants import MAIN_AGENT, Grant, ScopeRefused, is_of_project
from wcore.protocol import commands, scopes
from wcore.session.session import Card, Session
from wcore.store import Kind
from wcore.views import NONE, SandboxView
from wcore.vocabulary import Always, AlwaysHost, Args, By, Category, Decision, Persist, Row, Verdict

log = logging.getLogger("wcore.engine")

REASON_CHARS_MAX = 16 * 1024  # a reason is a sentence; it goes to host, model and history


class AnswerRefusedError(HostError):
    """The answer cannot be taken as it is; the call stays parked as it was shown."""


async def approve(session: Session, command: commands.ToolApprove, tasks: TaskGroup) -> None:
    """Approve a waiting call, as shown or with changed arguments.

    Raises:
        HostError: nothing waits under the id, or the answer does not fit what was shown.
    """
    entry = session.approvals.pending(command.call_id)
    if entry is None:
        raise UnknownCallError(command.call_id)
    if entry.editing:
        text = f"{command.call_id}: changed arguments are being prepared already"
        raise AnswerRefusedError(text)
    card = session.cards[command.call_id]
    if command.digest is not None and command.digest != card.prepared.digest:
        raise AnswerRefusedError(f"{command.call_id}: the digest is not that of the call as shown")
    args = command.args if command.sandbox is None else _wished(command.sandbox, command, card)
    if args is None:
        await _settle(session, command, card)
        return
    if command.digest is None:
        raise AnswerRefusedError(f"{command.call_id}: changed arguments need the digest as shown")
    if card.prepared.tool == QUESTION_TOOL:
        raise AnswerRefusedError(f"{command.call_id}: a question is answered, not changed")
    entry.editing = True
    tasks.start_soon(_approve_edited, session, command, entry, card, args)


def _wished(wish: commands.SandboxWish, command: commands.ToolApprove, card: Card) -> Args:
    """Return the arguments by which the call would have asked for what the host wants."""
    if card.prepared.sandbox is None:
        raise AnswerRefusedError(f"{command.call_id}: the call runs in no sandbox")
    wished = {"hosts": wish.hosts, "outside_sandbox": wish.view == NONE}
    return {**(command.args or card.prepared.args), **wished}


def deny(session: Session, command: commands.ToolDeny) -> None:
    """Deny a waiting call with the host's reason.

    Raises:
        UnknownCallError: nothing waits under the id.
    """
    reason = (command.reason or reasons.USER)[:REASON_CHARS_MAX]
    session.approvals.resolve(command.call_id, Denied(reason))


async def resume(session: Session, command: commands.ApprovalResume, tasks: TaskGroup) -> None:
    """Answer a suspended call by its token.

    Raises:
        HostError: the token is not alive. The token is not repeated: it might be a guess.
    """
    call_id = session.approvals.call_of_token(command.resume_token)
    if call_id is None:
        raise HostError("no call is waiting under that resume_token")
    if command.approved:
        yes = commands.ToolApprove(call_id=call_id, answer=command.answer)
        await approve(session, yes, tasks)
    else:
        session.approvals.resolve(call_id, Denied(reasons.USER))


async def _settle(
    session: Session,
    command: commands.ToolApprove,
    card: Card,
    edited: Studied | None = None,
) -> None:
    """Make the one transition, then keep the grant; a refused scope is a yes for once."""
    weighed = card.owner.grant_for(scopes.from_wire(command.scope), card, edited)
    kept = () if isinstance(weighed, ScopeRefused) else weighed
    session.approvals.approve(command.call_id, kept, command.answer, edited)
    if isinstance(weighed, ScopeRefused):
        await session.emit_info(f"{command.call_id} was approved once only: {weighed.reason}")
    elif kept:
        await _keep(session, card, kept, command.persist or Persist.SESSION)


async def _keep(session: Session, card: Card, grants: Sequence[Grant], wanted: Persist) -> None:
    """Keep the grants of an answer for as long as `wanted`, or tell why not."""
    persist, short = how_long(grants, card.prepared.category, wanted)
    if wanted is not Persist.SESSION and card.request.why.row is Row.PROTECTED:
        persist, short = Persist.SESSION, "the path is protected"
    if persist is not Persist.SESSION:
        lasting = tuple(replace(grant, persist=persist) for grant in grants)
        problem = await session.persistence.store_grant(*lasting)
        if problem is None:
            session.grants.prolong(lasting)
        else:
            persist, short = Persist.SESSION, problem
    session.approvals.tell_of_grants()
    if short is not None:
        text = f"the yes is kept for this {persist} only: {short}"
        await session.emit_info(f"{card.request.call_id}: {text}")
    elif text := _all_of_a_tool(grants, card.prepared.category):
        await session.emit_info(f"{card.request.call_id}: {text}")


def _all_of_a_tool(grants: Sequence[Grant], category: Category) -> str:
    """Return what a person must know who has said yes to every command and was shown one."""
    for grant in grants:
        if isinstance(grant.scope, Always) and category is Category.EXEC:
            whose = "" if grant.agent == MAIN_AGENT else f" of the agent {grant.agent}"
            view = SandboxView.of_pin(grant.pin)
            whose += " outside of the sandbox, too," if view and not view.is_held else ""
            what = f"every {grant.tool} call{whose} of this session now runs unasked"
            return f"{what}, unless a rule or a check asks; revoke_grant takes the yes back"
    return ""


def how_long(
    grants: Sequence[Grant], category: Category, wanted: Persist
) -> tuple[Persist, str | None]:
    """Return how long grants for a tool are kept, and why no longer where more was wanted."""
    if wanted is Persist.SESSION:
        return wanted, None
    if wanted is Persist.USER and any(grant.agent != MAIN_AGENT for grant in grants):
        return Persist.SESSION, "a sub-agent is one of this project's"
    for grant in grants:
        if isinstance(grant.scope, AlwaysHost):
            return Persist.SESSION, "for longer a host is named in your policy: [sandbox] hosts"
        if isinstance(grant.scope, Always) and category is Category.EXEC:
            problem = f"every {grant.tool} command is more than a stored yes should cover"
            return Persist.SESSION, problem
    if wanted is Persist.USER and any(is_of_project(grant.scope) for grant in grants):
        return Persist.PROJECT, "in another project it may do something else"
    return wanted, None


async def _approve_edited(
    session: Session, command: commands.ToolApprove, entry: Pending, card: Card, args: Args
) -> None:
    """Prepare and decide the changed call while the shown one stays parked."""
    try:
        prepared = await card.owner.prepare(card.tool, args)
        edited, decision = await card.owner.decide(prepared)
        card.owner.journal.record(Kind.PREPARED, **records.edited(command.call_id, edited.prepared))
        if entry.result is None:  # else: denied, stopped or expired meanwhile, and told so
            await _decide_edited(session, command, card, edited, decision)
    except (ToolError, ConfigError) as error:
        await session.emit_error(Code.REFUSED, f"{command.call_id}: changed arguments: {error}")
    except HostError as error:
        await session.emit_info(str(error))
    except Exception:  # a tool that raises must not end the engine
        log.exception("tool.prepare_failed")
        text = f"{command.call_id}: changed arguments: internal error, see the log"
        await session.emit_error(Code.INTERNAL, text)
    finally:
        entry.editing = False


async def _decide_edited(
    session: Session,
    command: commands.ToolApprove,
    card: Card,
    edited: Studied,
    decision: Decision,
) -> None:
    if decision.verdict is Verdict.DENY:
        reason = reasons.RULE + decision.why.detail
        session.approvals.resolve(command.call_id, Denied(reason, By.POLICY))
        return
    shown = {fact.path for fact in card.facts.paths}
    for fact in edited.facts.paths:
        if fact.path not in shown and (fact.protected or not fact.inside):
            what = fact.path or "what the changed command may name"
            raise AnswerRefusedError(f"{command.call_id}: {what} was not on the card")
    tool = card.request.tool.model_copy(update={"args": edited.prepared.args})
    if session.fits(card.request.model_copy(update={"tool": tool})) is None:
        raise AnswerRefusedError(f"{command.call_id}: the changed arguments are too large")
    await _settle(session, command, card, edited)
