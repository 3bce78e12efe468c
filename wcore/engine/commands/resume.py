"""What becomes of a turn that an earlier engine did not end: it goes on, or it is given up."""

from wcore.persistence import records
from wcore.persistence.restore import OpenCall, OpenTurn
from wcore.protocol import events
from wcore.session.session import Session
from wcore.store import Kind, Record
from wcore.vocabulary import By, ToolMessage, ToolOutput

GIVEN_UP = "Tool denied: the engine ended before this call was decided, and the turn was cancelled"


def interrupted_turn(session: Session) -> events.InterruptedTurn | None:
    """Return what `ready` says of an interrupted turn."""
    interrupted = session.interrupted
    if interrupted is None:
        return None
    return events.InterruptedTurn(
        msg_id=interrupted.msg_id, pending=interrupted.pending, unknown=interrupted.unknown
    )


async def abandon_turn(session: Session, interrupted: OpenTurn) -> tuple[str, ...]:
    """End every open call with an error for the model, and the turn; return the calls.

    Raises:
        WcoreError: it could not be written down; the turn still waits, with what is left of it.
    """
    given_up = (*interrupted.pending, *interrupted.unknown)
    for call in list(interrupted.calls.values()):
        interrupted.results[call.call_id] = await _end(session, call)
        del interrupted.calls[call.call_id]
    ended = Record(Kind.TURN_ENDED, {"msg_id": interrupted.msg_id, "finish": "stop"})
    await session.journal.write(ended)
    for call_id in interrupted.order:
        session.append_history(interrupted.msg_id, interrupted.results[call_id])
    for message in interrupted.messages:
        session.append_history(interrupted.msg_id, message)
    session.interrupted = None
    return given_up


async def _end(session: Session, call: OpenCall) -> ToolMessage:
    persistence, tool = session.persistence, call.call.name
    output = ToolOutput.failed(records.UNKNOWN if call.is_started else GIVEN_UP)
    ended = records.ended(call.call_id, tool, output)
    if call.is_started:
        await session.journal.write(ended)
    else:
        decision = persistence.decision_events.denied(call.call_id, tool, By.STOP, None)
        await persistence.publish(decision, {}, ended)
    return ToolMessage(call.call_id, tool, output)
