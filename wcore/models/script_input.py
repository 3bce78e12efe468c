"""What a scripted model was given, as text: for its expectations and its echo. Pure."""

import json
from collections.abc import Container, Sequence
from typing import Final

from wcore.models.model import Request
from wcore.models.script_file import Expectation, Line
from wcore.vocabulary import AssistantMessage, Message, ToolMessage, UserMessage

SHOWN_CHARS_MAX: Final = 500  # of the input, when an expectation fails


def unmet(line: Line, request: Request) -> str | None:
    """Return the first broken expectation as a sentence, or `None`."""
    for wanted, expected in (
        *((True, expected) for expected in line.reply.expect),
        *((False, expected) for expected in line.reply.expect_not),
    ):
        where = expected.where if isinstance(expected, Expectation) else "input"
        text = expected.text if isinstance(expected, Expectation) else expected
        given = _given(where, request)
        if (text in given) is not wanted:
            verb = "is missing from" if wanted else "should not be in"
            shown = str(given)[:SHOWN_CHARS_MAX]
            return f"{line.place}: {text!r} {verb} what the model was given ({where}): {shown!r}"
    return None


def echo(request: Request) -> str:
    """Return the tool results since the last reply as a JSON array, with the model's own ids."""
    asked = _last_calls(request.messages)
    return json.dumps(
        [
            {
                "id": asked.get(message.call_id, ""),
                "tool": message.tool,
                "status": message.output.status.value,
                "output": message.output.output,
            }
            for message in _fresh(request.messages)
            if isinstance(message, ToolMessage)
        ],
        ensure_ascii=False,
    )


def _given(where: str, request: Request) -> str | Container[str]:
    match where:
        case "tools":
            return tuple(tool.name for tool in request.tools)
        case "system":
            return request.system
        case "history":
            return "\n".join(map(_shown, request.messages))
        case _:
            return "\n".join(map(_shown, _fresh(request.messages)))


def _fresh(messages: Sequence[Message]) -> Sequence[Message]:
    for at in range(len(messages) - 1, -1, -1):
        if isinstance(messages[at], AssistantMessage):
            return messages[at + 1 :]
    return messages


def _last_calls(messages: Sequence[Message]) -> dict[str, str]:
    replies = (m for m in reversed(messages) if isinstance(m, AssistantMessage))
    last = next(replies, AssistantMessage(""))
    return {call_id: call.model_id for call_id, call in last.calls}


def _shown(message: Message) -> str:
    match message:
        case UserMessage():
            return "\n".join((message.text, *message.files))
        case ToolMessage():
            return f"[{message.tool} {message.output.status.value}]\n{message.output.output}"
        case AssistantMessage():
            return message.text
