"""What a server's tool gave back, as text for the model: what is no text is described."""

from typing import Final

from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic_core import PydanticSerializationError, to_json

from wcore.tools.truncate import HeadTail
from wcore.visible import visible_line
from wcore.vocabulary import OUTPUT_BYTES_MAX, Json, Status, ToolOutput

BLOCKS_MAX: Final = 1024  # pieces of one result; what follows is counted, not shown
INDENTED_CHARS_MAX: Final = 16 * 1024  # indented, what is nested deep is a hundred times as long
NAME_CHARS_MAX: Final = 300  # of a resource's name or address
MARGIN_BYTES: Final = 1024  # for the note about what is left out


def output_of(result: CallToolResult, server: str) -> ToolOutput:
    """Return the result as host and model get it, within the limit of every tool's output.

    Nothing else of what the server sent goes on: no metadata, no annotations.
    """
    kept = HeadTail(OUTPUT_BYTES_MAX - MARGIN_BYTES)
    for number, block in enumerate(result.content[:BLOCKS_MAX]):
        kept.add(("\n" if number else "") + _text(block))
    if len(result.content) > BLOCKS_MAX:
        kept.add(f"\n[{len(result.content) - BLOCKS_MAX} more parts are left out]")
    if not result.content and result.structured_content is not None:
        kept.add(_json(result.structured_content))
    text, truncated = kept.text()
    metadata: dict[str, Json] = {"server": server}
    if truncated:
        metadata["truncated"] = True
    status = Status.ERROR if result.is_error else Status.SUCCESS
    return ToolOutput(status, text or "[no output]", metadata=metadata)


def _text(block: ContentBlock) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            return f"[{block.type}: {_line(block.mime_type)}, {_size(block.data)} bytes, not shown]"
        case ResourceLink():
            kind = f", {_line(block.mime_type)}" if block.mime_type else ""
            return f"[resource link: {_line(block.name)} <{_line(str(block.uri))}>{kind}]"
        case EmbeddedResource():
            inner = block.resource
            head = f"resource: {_line(str(inner.uri))}"
            if isinstance(inner, TextResourceContents):
                return f"[{head}]\n{inner.text}"
            kind = f", {_line(inner.mime_type)}" if inner.mime_type else ""
            return f"[{head}{kind}, {_size(inner.blob)} bytes, not shown]"


def _size(base64_text: str) -> int:
    return len(base64_text) * 3 // 4


def _line(text: str) -> str:
    return visible_line(text, NAME_CHARS_MAX)


def _json(value: object) -> str:
    try:
        text = to_json(value)
        return (text if len(text) > INDENTED_CHARS_MAX else to_json(value, indent=1)).decode()
    except PydanticSerializationError:
        return "[a structured result that cannot be written down]"
