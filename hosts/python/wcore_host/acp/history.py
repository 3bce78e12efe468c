"""What was said before, shown again when an editor loads a session. Pure."""

from collections.abc import Iterator, Sequence

from acp import (
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_user_message_text,
)
from acp.schema import AgentMessageChunk, AgentThoughtChunk, ToolCallStart, UserMessageChunk

from wcore_host.acp.markup import block, span
from wcore_host.acp.showing import KINDS, Content, text
from wcore_host.events import Json, JsonObject
from wcore_host.visible import visible

Update = UserMessageChunk | AgentMessageChunk | AgentThoughtChunk | ToolCallStart


UNENDED = "this call had not ended when the session was left"
OLDER = "(older messages are kept, but not shown again)"


def updates(messages: Sequence[JsonObject], *, more: bool) -> Iterator[Update]:
    """Yield the conversation as updates, oldest first; `more` says that its beginning is cut."""
    if more:
        yield update_agent_message_text(OLDER)
    results = {
        str(message["call_id"]): message
        for message in messages
        if message.get("role") == "tool" and "call_id" in message
    }
    for message in messages:
        said = message.get("text")
        if message.get("role") == "user":
            yield update_user_message_text(visible(str(said or "")))
        elif message.get("role") == "assistant":
            yield from _reply(message, results)


def _reply(message: JsonObject, results: dict[str, JsonObject]) -> Iterator[Update]:
    thought, said, calls = message.get("thinking"), message.get("text"), message.get("calls")
    if isinstance(thought, str) and thought:
        yield update_agent_thought_text(visible(thought))
    if isinstance(said, str) and said:
        yield update_agent_message_text(visible(said))
    for made in calls if isinstance(calls, list) else []:
        if isinstance(made, dict):
            yield _call(made, results)


def _call(made: dict[str, Json], results: dict[str, JsonObject]) -> ToolCallStart:
    call_id, tool = str(made.get("call_id")), str(made.get("tool"))
    result = results.get(call_id)
    output = UNENDED if result is None else str(result.get("output") or "")
    content: list[Content] = [text(block(output))] if output.strip() else []
    worked = result is not None and result.get("status") == "success"
    return start_tool_call(
        call_id,
        span(tool),
        kind=KINDS.get(tool, "other"),
        status="completed" if worked else "failed",
        content=content,
    )
