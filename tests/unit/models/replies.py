"""One tiny helper for all models: hold a conversation and collect what the model says."""

from collections.abc import Sequence

from wcore.models.model import CallReady, Delta, Finished, Model, Request, Text
from wcore.vocabulary import (
    AssistantMessage,
    Category,
    Message,
    ModelCall,
    Status,
    ToolMessage,
    ToolOutput,
    ToolSpec,
    UserMessage,
)

NAMES = ("Read", "LS", "Glob", "Grep", "Write", "Edit", "Delete", "Bash", "AskUserQuestion")


def request(*messages: Message | str, system: str = "", tools: Sequence[str] = NAMES) -> Request:
    return Request(
        system,
        [UserMessage(m) if isinstance(m, str) else m for m in messages],
        [ToolSpec(name, Category.INFO, "", {}) for name in tools],
    )


async def reply(model: Model, given: Request) -> list[Delta]:
    return [delta async for delta in model.stream(given)]


def text(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, Text))


def calls(deltas: list[Delta]) -> list[ModelCall]:
    return [delta.call for delta in deltas if isinstance(delta, CallReady)]


def last(deltas: list[Delta]) -> Finished:
    end = deltas[-1]
    assert isinstance(end, Finished)
    return end


def answered(deltas: list[Delta], *results: tuple[Status, str]) -> list[Message]:
    """Return what the engine adds to the history: the reply, then one result per call."""
    made = [(f"c{number}", call) for number, call in enumerate(calls(deltas))]
    found: list[Message] = [AssistantMessage(text(deltas), calls=tuple(made))]
    for (call_id, call), (status, output) in zip(made, results, strict=True):
        found.append(ToolMessage(call_id, call.name, ToolOutput(status, output)))
    return found
