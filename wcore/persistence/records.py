"""The bodies of journal records: from values to JSON objects and back. `restore` reads them.

`protocol-spec/store.md` lists the fields. Reading raises `TypeError` or `ValueError`
for a body that is none of ours: a journal that cannot be understood is not continued.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, to_builtins

from wcore.errors import WcoreError
from wcore.store import Kind, Record, ToolApprovalDecisionEvent
from wcore.vocabulary import (
    Args,
    AssistantMessage,
    Json,
    ModelCall,
    Prepared,
    Status,
    ToolMessage,
    ToolOutput,
    Usage,
    UserMessage,
    Why,
)

Body = Mapping[str, Json]

CHANGED: Final = "[the user changed the arguments of this call]"
UNKNOWN: Final = (
    "outcome unknown: the engine ended while this call was running. It may have had its effect, "
    "in whole or in part; it was not run again. Check before you repeat it."
)


class RecordedApproval(Struct, frozen=True):
    """A person's yes as it was recorded; `args` where the person changed them.

    It was given in `workspace`: the same call somewhere else is another one, although its
    digest is the same there. Empty in records of before this was written down.
    """

    digest: str
    at: str
    workspace: str
    args: Args | None = None
    answer: str | None = None


# --- a turn -----------------------------------------------------------------------------------


def turn_started(msg_id: str, message: UserMessage | None, *, reopened: bool) -> dict[str, Json]:
    """A turn begins; without a message, or `reopened`, it goes on with an interrupted one."""
    body: dict[str, Json] = {"msg_id": msg_id}
    if message is not None:
        body |= {"text": message.text, "files": list(message.files)}
    return body | {"reopened": True} if reopened else body


def user_message(body: Body) -> UserMessage | None:
    """Return the message of a `turn_started`."""
    if "text" not in body:
        return None
    return UserMessage(_text(body, "text"), tuple(str(each) for each in _list(body, "files")))


def replied(
    msg_id: str,
    message: AssistantMessage,
    finish: str | None,
    usage: Usage,
    cost_usd: float | None = None,
    context_tokens: int = 0,
) -> dict[str, Json]:
    """A model reply has ended, or was broken off (`finish` is then `None`)."""
    calls: list[Json] = [
        {
            "call_id": call_id,
            "model_id": call.model_id,
            "name": call.name,
            "args": call.args,
            "problem": call.problem,
        }
        for call_id, call in message.calls
    ]
    return {
        "msg_id": msg_id,
        "text": message.text,
        "thinking": message.thinking,
        "calls": calls,
        "sealed": message.provider_state,
        "finish": finish,
        "usage": list(_tokens(usage)),
        "cost_usd": cost_usd,
        "context_tokens": context_tokens,
    }


def _tokens(usage: Usage) -> tuple[int, int, int, int]:
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    )


def failure(error: Exception) -> dict[str, Json]:
    """Return why there is no whole reply, or no rules: as the host is told of it."""
    if not isinstance(error, WcoreError):
        return {"problem": None}  # a bug of ours: the host hears no more of it
    return {"problem": str(error), "code": error.code.value, "retryable": error.retryable}


def assistant_message(body: Body) -> AssistantMessage:
    """Return the reply of a `replied`."""
    calls: list[tuple[str, ModelCall]] = []
    for each in _list(body, "calls"):
        if not isinstance(each, Mapping):
            raise TypeError("a call is no object")
        args = each.get("args")
        call = ModelCall(
            _text(each, "model_id"),
            _text(each, "name"),
            args if isinstance(args, Mapping) else None,
            _text(each, "problem"),
        )
        calls.append((_text(each, "call_id"), call))
    return AssistantMessage(
        _text(body, "text"), _text(body, "thinking"), tuple(calls), body.get("sealed")
    )


def call_ids(body: Body) -> set[str]:
    """Return the ids of the calls in a record of a sub-agent."""
    calls = as_list(body.get("calls"))
    return {_text(each, "call_id") for each in calls if isinstance(each, Mapping)}


def usage(body: Body) -> Usage:
    """Return what a reply cost."""
    return Usage(*(each for each in _list(body, "usage") if isinstance(each, int)))


def context_tokens(body: Body) -> int:
    """Return what the conversation took of the window after a reply; zero if nobody counted."""
    counted = body.get("context_tokens")
    return counted if isinstance(counted, int) else 0


# --- a call -----------------------------------------------------------------------------------


def prepared(
    call_id: str, found: Prepared, asked: Args | None, unread: str | None = None
) -> dict[str, Json]:
    """A call was validated and laid out; `asked` are the model's arguments.

    `unread` is why its shell text could not be read in time, if so.
    """
    preview = found.preview
    pin: dict[str, Json] = {"pin": list(found.pin)} if found.pin else {}
    return {
        **pin,
        "call_id": call_id,
        "digest": found.digest,
        "description": found.description,
        "touches": [[touch.path, touch.access.value] for touch in found.accesses],
        "command": found.command,
        "named": to_builtins(found.names),
        "preview": [preview.kind, preview.text, preview.truncated] if preview else None,
        "args": None if found.args == asked else found.args,
        "unread": unread,
    }


def edited(call_id: str, found: Prepared) -> dict[str, Json]:
    """A waiting call was laid out with the arguments that a person wants instead."""
    return prepared(call_id, found, None) | {"edited": True}


def asked(call_id: str, why: Why, digest: str) -> Record:
    """A call waits for the host."""
    return Record(Kind.ASKED, {"call_id": call_id, "row": why.row.value, "digest": digest})


def decided(event: ToolApprovalDecisionEvent, facts: Body) -> Record:
    """A call was decided, by whomever. `facts` are those of an answer."""
    body: dict[str, Json] = {
        "call_id": event.tool_call_id,
        "user_id": str(event.user_id),
        "agent_id": str(event.agent_id),
        "chat_id": str(event.chat_id),
        "tool": event.tool_name,
        "decision": event.decision.value,
        "reason": event.reason,
        "with_override": event.with_override,
        "source": event.source.value,
        "rule_id": event.rule_id,
    }
    return Record(Kind.DECIDED, body | dict(facts))


def approval(
    digest: str,
    workspace: str,
    *,
    args: Args | None = None,
    answer: str | None = None,
    always: bool = False,
) -> dict[str, Json]:
    """Return the facts of a person's yes: what it was given to, where, and what came with it."""
    return {
        "digest": digest,
        "workspace": workspace,
        "changed_args": args,
        "answer": answer,
        "always": always,
    }


def recorded_approval(body: Body, at: str) -> RecordedApproval | None:
    """Return the person's yes in a `decided`, if it is one."""
    if body.get("decision") != "approved" or body.get("source") != "user":
        return None
    args, said = body.get("changed_args"), body.get("answer")
    return RecordedApproval(
        _text(body, "digest"),
        at,
        str(body.get("workspace", "")),
        args if isinstance(args, Mapping) else None,
        said if isinstance(said, str) else None,
    )


def started(call_id: str) -> Record:
    """The effect of a call begins."""
    return Record(Kind.STARTED, {"call_id": call_id})


def ended(
    call_id: str, tool: str, output: ToolOutput, *, edited: bool = False, reason: str | None = None
) -> Record:
    """A call is over: `output` is its result or, with a `reason`, what the model is told."""
    body: dict[str, Json] = {
        "call_id": call_id,
        "tool": tool,
        "status": output.status.value,
        "output": output.output,
        "output_type": output.output_type,
        "metadata": output.metadata or None,
        "edited": edited,
        "reason": reason,
    }
    return Record(Kind.ENDED, body)


def tool_message(body: Body) -> ToolMessage:
    """Return what the model is told of a call that ended."""
    output = ToolOutput(
        Status(_text(body, "status")), _text(body, "output"), _text(body, "output_type")
    )
    output = with_edit_note(output, edited=body.get("edited") is True)
    return ToolMessage(_text(body, "call_id"), _text(body, "tool"), output)


def with_edit_note(output: ToolOutput, *, edited: bool) -> ToolOutput:
    """Return the model's view of a result."""
    text = f"{CHANGED}\n{output.output}" if edited else output.output
    return ToolOutput(output.status, text, output.output_type, content=output.content)


# --- reading ----------------------------------------------------------------------------------


def as_list(value: Json) -> Sequence[Json]:
    """Return a list as it was read back; empty where it is none."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _text(body: Body, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value


def _list(body: Body, name: str) -> Sequence[Json]:
    value = body.get(name)
    if not isinstance(value, list):  # as it was read back:
        raise TypeError(f"{name} is no list")
    return value
