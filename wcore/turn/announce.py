"""What the host is told of a call before its end: the card, how that ended, that it runs.

A call is announced once, by `ask` (`tool_request`: the host shows a card), or by
`send_announcement` or `announce` (`call_announced`: it does not wait). What a card shows is made by
`request_event`.
"""

from collections.abc import Sequence
from typing import Final, Literal

from wcore.approval.manager import ApprovalResult, Approved, move_of
from wcore.approval.table import Move
from wcore.protocol import events, scopes
from wcore.turn.call import ToolCall
from wcore.visible import visible_line
from wcore.vocabulary import DESCRIPTION_CHARS_MAX, Args, Offer, Prepared, Why

TOO_LARGE: Final = "the call is too large to be shown to the host"
REASON_SUSPEND: Final = "Tool requires host decision"
REASON_SUSPENDED: Final = "awaiting host decision"

_OUTCOMES: Final[dict[Move, Literal["approved", "denied", "expired", "cancelled"]]] = {
    Move.APPROVE: "approved",
    Move.DENY: "denied",
    Move.EXPIRE: "expired",
    Move.CANCEL: "cancelled",
}


def request_event(
    call: ToolCall, prepared: Prepared, why: Why, offered: Sequence[Offer], expires_in_s: int
) -> events.ToolRequest:
    """Return the question for the host; sending it is the announcement."""
    return events.ToolRequest(
        msg_id=call.control.msg_id,
        call_id=call.call_id,
        tool=_info(call, prepared.tool, prepared.args, prepared.description),
        why=why,
        preview=prepared.preview,
        sandbox=prepared.sandbox,
        suggestions=tuple(scopes.to_wire(*each) for each in offered) or None,
        digest=prepared.digest,
        expires_in_s=expires_in_s,
        agent=call.session.agent or None,
        task=call.session.task or None,
    )


def ask(call: ToolCall, request: bytes, prepared: Prepared, resume_token: str | None) -> None:
    """Announce the call as a question, in the line of `request_event`."""
    session = call.session
    call.announced = True
    session.emit_nowait(request)
    if resume_token:
        session.secrets.add_token(resume_token)
        required = events.ApprovalRequired(
            call_id=call.call_id,
            resume_token=resume_token,
            correlation_id=resume_token,
            reason=REASON_SUSPEND,
            context=f"{prepared.tool}: {prepared.args.get('question', '')}",
        )
        session.emit_nowait(required)
        session.emit_nowait(events.Suspend(reason=REASON_SUSPENDED, resume_token=resume_token))


def settled_event(call: ToolCall, result: ApprovalResult) -> events.CallSettled:
    """Return how the question ended, with the call as the host changed it, if it did."""
    edited = result.edited.prepared if isinstance(result, Approved) and result.edited else None
    return events.CallSettled(
        msg_id=call.control.msg_id,
        call_id=call.call_id,
        outcome=_OUTCOMES[move_of(result)],
        by=result.by,
        args=edited.args if edited else None,
        digest=edited.digest if edited else None,
        agent=call.session.agent or None,
    )


def line_of(call: ToolCall, why: Why | None) -> bytes | None:
    """Return the announcement of a call that does not wait; `None`: it is too large for a line."""
    return call.session.fits(_announcement(call, why, args_fit=True))


async def send_announcement(call: ToolCall, line: events.Event | bytes) -> None:
    """Announce a call that does not wait, in the line of `line_of`."""
    call.announced = True
    await call.session.emit(line)


async def announce(call: ToolCall, why: Why | None) -> None:
    """Announce a call that does not wait for the host, without its arguments if they are large."""
    line = line_of(call, why)
    await send_announcement(call, line or _announcement(call, why, args_fit=False))


async def running(call: ToolCall) -> None:
    """Say that the call runs, or still does."""
    name = call.model_call.name
    event = events.ToolRunning(msg_id=call.control.msg_id, call_id=call.call_id, tool_name=name)
    await call.session.emit(event)


async def chunk(call: ToolCall, text: str) -> None:
    """Pass on what the running call has said."""
    msg_id, name = call.control.msg_id, call.model_call.name
    event = events.ToolChunk(msg_id=msg_id, call_id=call.call_id, tool_name=name, chunk=text)
    await call.session.emit(event)


def _announcement(call: ToolCall, why: Why | None, *, args_fit: bool) -> events.CallAnnounced:
    """Return the event; a call that was never prepared has the arguments that the model sent."""
    prepared = call.prepared
    args = prepared.args if prepared else call.model_call.args or {}
    name = visible_line(call.model_call.name, DESCRIPTION_CHARS_MAX)
    description = prepared.description if prepared else name
    return events.CallAnnounced(
        msg_id=call.control.msg_id,
        call_id=call.call_id,
        tool=_info(call, call.model_call.name, args if args_fit else {}, description),
        why=why,
        preview=prepared.preview if prepared and args_fit else None,
        sandbox=prepared.sandbox if prepared else None,
        agent=call.session.agent or None,
        task=call.session.task or None,
    )


def _info(call: ToolCall, name: str, args: Args, description: str) -> events.ToolInfo:
    return events.ToolInfo(name=name, category=call.category, args=args, description=description)
