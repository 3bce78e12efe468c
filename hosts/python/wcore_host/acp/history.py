"""What was said before, shown again when an editor loads a session. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from acp import (
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_user_message_text,
)
from acp.schema import AgentMessageChunk, AgentThoughtChunk, ToolCallStart, UserMessageChunk

from wcore_host import events
from wcore_host.acp import tool_call_content
from wcore_host.acp.tool_call_content import text
from wcore_host.decode import Fields
from wcore_host.events import Json, JsonObject
from wcore_host.headless.transcript_blocks import gist
from wcore_host.visible import visible

Update = UserMessageChunk | AgentMessageChunk | AgentThoughtChunk | ToolCallStart

UNENDED: Final = "this call had not ended when the session was left"
OLDER: Final = "(older messages are kept, but not shown again)"


def updates(messages: Sequence[JsonObject], cwd: str, *, more: bool) -> Iterator[Update]:
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
            yield from _reply(message, results, cwd)


def _reply(message: JsonObject, results: dict[str, JsonObject], cwd: str) -> Iterator[Update]:
    thought, said, calls = message.get("thinking"), message.get("text"), message.get("calls")
    if isinstance(thought, str) and thought:
        yield update_agent_thought_text(visible(thought))
    if isinstance(said, str) and said:
        yield update_agent_message_text(visible(said))
    for made in calls if isinstance(calls, list) else []:
        if isinstance(made, dict):
            yield _call(made, results, cwd)


def _call(made: dict[str, Json], results: dict[str, JsonObject], cwd: str) -> ToolCallStart:
    """Return a call as it looked when it had ended, as far as the history still tells."""
    fields = Fields(made)
    call_id, result = fields.text("call_id"), Fields(results.get(fields.text("call_id"), {}))
    output, kind = result.text("output"), result.text("output_type")
    args = fields.part("args").raw
    name = fields.text("tool")  # the engine's own words are no longer known
    tool = events.Tool(name, "", args, f"{name} {gist(args)}".strip())
    preview = events.Preview("diff", output) if kind == "diff" else _command(tool)
    shown = tool_call_content.call(events.CallAnnounced("", call_id, tool, preview=preview), cwd)
    unended = [] if result.raw else [text(UNENDED)]
    ended = tool_call_content.outcome(shown, output, kind)
    return start_tool_call(
        call_id,
        shown.title,
        kind=shown.kind,
        status="completed" if result.text("status") == "success" else "failed",
        content=[*(shown.body if ended is None else ended), *unended],
        locations=shown.locations,
        raw_input=args or None,
    )


def _command(tool: events.Tool) -> events.Preview | None:
    command = tool.args.get("command")
    return events.Preview("command", command) if isinstance(command, str) else None
