"""What a host may look up while anything else goes on: one `command_result` a command.

Long answers page: `more` says that the same command with `after` or `before` has the rest.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

from wcore.approval.redaction import redacted
from wcore.engine.commands.results import done
from wcore.policy.grants import MAIN_AGENT, Grant
from wcore.protocol import codec, commands, events, parts
from wcore.protocol.lines import LINE_BYTES_MAX
from wcore.session.history import HistoryEntry
from wcore.session.session import Session
from wcore.views import SandboxView
from wcore.vocabulary import (
    Always,
    AlwaysExact,
    AlwaysHost,
    AlwaysPath,
    AssistantMessage,
    Json,
    ModelCall,
    Persist,
    ToolMessage,
    UserMessage,
)

Asked: TypeAlias = (
    commands.RevokeGrant | commands.ListPending | commands.ListGrants | commands.GetHistory
)
Found: TypeAlias = Mapping[str, object]

HISTORY_LIMIT: Final = 100  # messages a page unless the host asks for another number
ARGS_BYTES_MAX: Final = 256 * 1024  # of a message in the history: for showing, not for keeping
TEXT_CHARS_MAX: Final = 1024  # of an argument that is cut: a path or a command is whole
PAGE_BYTES_MAX: Final = LINE_BYTES_MAX - 2048  # the rest is for the envelope


async def answer(session: Session, command: Asked) -> Found:
    """Return what the answer to `command` says.

    Raises:
        WcoreError: it was not obeyed.
    """
    match command:
        case commands.RevokeGrant():
            return {"revoked": await _revoke(session, command.grant_id)}
        case commands.ListPending():
            return _list_pending(session, command)
        case commands.ListGrants():
            await session.refresh_grants()
            return {"grants": tuple(grant_info(grant) for grant in session.grants)}
        case commands.GetHistory():
            return _get_history(session, command)


async def _revoke(session: Session, grant_id: str) -> bool:
    """Take a grant back, here and now; a lasting one for every engine."""
    await session.refresh_grants()
    grant = session.grants.find(grant_id)
    revoked = session.grants.revoke(grant_id)
    if grant is not None and grant.persist is Persist.SESSION:
        return revoked
    return await session.persistence.revoke(grant_id) or revoked


def _list_pending(session: Session, command: commands.ListPending) -> Found:
    waiting = list(session.cards)
    if command.after in waiting:
        waiting = waiting[waiting.index(command.after) + 1 :]
    approvals = session.approvals
    entries = [entry for call_id in waiting if (entry := approvals.pending(call_id))]
    left = [approvals.expires_in_s(entry) for entry in entries]
    calls: list[events.ToolRequest] = []
    size = 0
    for entry, left_s in zip(entries, left, strict=True):
        card = session.cards[entry.call_id]
        request = card.request.model_copy(update={"expires_in_s": left_s})
        size += len(codec.encode(request))
        if calls and size > PAGE_BYTES_MAX:
            return {"calls": tuple(calls), "more": True}
        calls.append(request)
    return {"calls": tuple(calls), "more": False}


def _get_history(session: Session, command: commands.GetHistory) -> Found:
    """Return the newest messages before `before`, oldest first."""
    end = len(session.history.entries) if command.before is None else command.before
    page: list[parts.HistoryMessage] = []
    size = 0
    for entry in reversed(session.history.entries[:end]):
        message, cost = _measured(session, command, entry)
        size += cost
        full = len(page) >= (command.limit or HISTORY_LIMIT) or size > PAGE_BYTES_MAX
        if page and full:
            return {"messages": tuple(reversed(page)), "more": True}
        page.append(message)
    return {"messages": tuple(reversed(page)), "more": False}


def _measured(
    session: Session, command: commands.GetHistory, entry: HistoryEntry
) -> tuple[parts.HistoryMessage, int]:
    """Return a message and the bytes it takes, with as much of its arguments as may be."""

    def cost_of(message: parts.HistoryMessage) -> int:
        return len(codec.encode(done(command, {"messages": (message,)})))

    bare = _message(entry, session.secrets.redact)
    cost = cost_of(bare)
    if not isinstance(entry.message, AssistantMessage) or not bare.calls:
        return bare, cost
    whole = tuple(_with_args(call, session) for call in entry.message.calls)
    for calls in (whole, tuple(_cut(call) for call in whole)):
        message = bare.model_copy(update={"calls": calls})
        with suppress(codec.EventTooLargeError):
            grown = cost_of(message)
            if grown <= min(cost + ARGS_BYTES_MAX, PAGE_BYTES_MAX):
                return message, grown
    return bare, cost


def _with_args(made: tuple[str, ModelCall], session: Session) -> parts.HistoryCall:
    call_id, call = made
    args = None if call.args is None else redacted(call.args, session.secrets.redact)
    return parts.HistoryCall(call_id=call_id, tool=call.name, args=args)


def _cut(call: parts.HistoryCall) -> parts.HistoryCall:
    args = {name: _shorter(value) for name, value in (call.args or {}).items()}
    return call if call.args is None else call.model_copy(update={"args": args})


def _shorter(value: Json) -> Json:
    if isinstance(value, str) and len(value) > TEXT_CHARS_MAX:
        return f"{value[:TEXT_CHARS_MAX]}…"
    return value


def _message(entry: HistoryEntry, strip: Callable[[str], str]) -> parts.HistoryMessage:
    base = parts.HistoryMessage(seq=entry.seq, msg_id=entry.msg_id, role="user")
    match entry.message:
        case UserMessage() as message:
            return base.model_copy(update={"text": strip(message.text)})
        case AssistantMessage() as message:
            calls = tuple(
                parts.HistoryCall(call_id=call_id, tool=call.name)
                for call_id, call in message.calls
            )
            update = {
                "role": "assistant",
                "text": message.text or None,
                "thinking": message.thinking or None,
                "calls": calls or None,
            }
            return base.model_copy(update=update)
        case ToolMessage() as message:
            update = {
                "role": "tool",
                "call_id": message.call_id,
                "tool_name": message.tool,
                "status": message.output.status,
                "output": message.output.output,
                "output_type": message.output.output_type,
                "metadata": message.output.metadata or None,
            }
            return base.model_copy(update=update)


def grant_info(grant: Grant) -> events.GrantInfo:
    root = command = host = None
    match grant.scope:
        case AlwaysPath():
            kind, root = "path", grant.scope.root
        case AlwaysExact():
            kind, command = "exact", grant.scope.command
        case AlwaysHost():
            kind, host = "host", grant.scope.host
        case Always():
            kind = "name"
        case _:
            kind = "prefix"
    return events.GrantInfo(
        grant_id=grant.grant_id,
        kind=kind,
        tool=grant.tool,
        prefix=grant.prefix.text if grant.prefix else None,
        root=root,
        command=command,
        host=host,
        sandbox=SandboxView.of_pin(grant.pin),
        persist=grant.persist,
        created_at=grant.created_at,
        by=None if grant.from_call_id else "host",
        from_call_id=grant.from_call_id or None,
        uses=grant.uses,
        agent=None if grant.agent == MAIN_AGENT else grant.agent,
    )
