"""The dialect of Anthropic's Messages API.

Prompt caching: the tools and the system prompt are one cached prefix, the end of the history as
it was sent last time another, its end now a third. Signed thinking goes back as it came.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from wcore.models import dialect as shared
from wcore.models.attachments import Image
from wcore.models.dialect import EncodedMessage, RequestFrame
from wcore.models.http.anthropic_reply import SEAL, AnthropicReader
from wcore.models.provider_json import dump, tool_name
from wcore.models.providers import MESSAGES_RULES
from wcore.vocabulary import AssistantMessage, Json, ModelCall, Status, ToolOutput, ToolSpec

VERSION: Final = "2023-06-01"
MAX_TOKENS: Final = 32_000  # the field is required; no model behind the table below has less
_MAX_TOKENS_OLD: Final = ((r"claude-3-5", 8_192), (r"claude-3-(?!7)", 4_096))
BUDGET_TOKENS: Final = 8_192  # where the host names none
BUDGET_TOKENS_MIN: Final = 1_024  # the API's own
ANSWER_TOKENS_MIN: Final = 4_096  # left for the answer beside a thinking budget

_NO_THINKING: Final = re.compile(r"claude-3-(?!7)|claude-[12]|claude-instant")
_BUDGETED: Final = re.compile(r"claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8})?\Z)")
_EFFORT: Final = ("low", "medium", "high", "max")
_CACHED: Final = b',"cache_control":{"type":"ephemeral"}}'
_CALL_ID: Final = r"[A-Za-z0-9_-]{1,64}"


class Anthropic:
    """Writes requests."""

    path = "/messages"
    takes_images = True
    tool_rules = MESSAGES_RULES

    def __init__(self) -> None:
        self._sent = 0  # how many pieces the last request had: there its cached prefix ends
        self._tools: Sequence[ToolSpec] = ()
        self._tools_encoded = b""

    def send_thinking(self) -> bool:
        return False

    def thinks(self, model: str) -> bool:
        return _NO_THINKING.match(model) is None

    def effort_levels(self, model: str) -> tuple[str, ...]:
        return _EFFORT if _is_adaptive(model) else ()

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}

    def user(self, text: str, images: Sequence[Image]) -> EncodedMessage:
        blocks: list[Json] = [*map(_image, images)]
        if text.strip() or not blocks:
            blocks.append({"type": "text", "text": text if text.strip() else "(no text)"})
        return EncodedMessage("user", _blocks(blocks), images=len(images))

    def assistant(self, message: AssistantMessage) -> EncodedMessage:
        """Signed thinking goes back in its place; without it, the text and then the calls.

        The API refuses thinking that is not signed or stands alone, and blank text: a reply that
        was cut in its thinking does not go back at all.
        """
        if not message.text.strip() and not message.calls:
            return EncodedMessage("assistant", b"")
        calls = [_call(call_id, call) for call_id, call in message.calls]
        sealed = _sealed(message)
        if sealed is None:
            said = [{"type": "text", "text": message.text}] if message.text.strip() else []
            return EncodedMessage("assistant", _blocks([*said, *calls]))
        waiting = iter(calls)
        blocks: list[Json] = []
        for block in sealed:
            found = next(waiting, None) if block.get("type") == "call" else _sendable(block)
            blocks += [] if found is None else [found]
        return EncodedMessage("assistant", _blocks([*blocks, *waiting]))

    def result(self, call_id: str, output: ToolOutput, image: Image | None) -> EncodedMessage:
        content: Json = output.output if image is None else [_image(image)]
        block: dict[str, Json] = {
            "type": "tool_result",
            "tool_use_id": shared.call_id(call_id, _CALL_ID),
            "content": content,
        }
        if output.status is Status.ERROR:
            block["is_error"] = True
        return EncodedMessage("user", dump(block), images=int(image is not None))

    def reply_tokens(self, frame: RequestFrame) -> int:
        """All of it: the API refuses a request whose input and limit together pass the window."""
        return _max_tokens(frame)

    def frame_bytes(self, frame: RequestFrame) -> int:
        return len(frame.system) + len(self._encoded(frame.tools))

    def body(self, frame: RequestFrame, pieces: Sequence[EncodedMessage]) -> bytes:
        marks = {len(pieces) - 1, self._sent - 1}
        self._sent = len(pieces)
        settings = dump(_settings(frame))[1:]  # without the brace
        tools = b'"tools":[%s],' % self._encoded(frame.tools) if frame.tools else b""
        system = b""
        if frame.system.strip():
            block = dump({"type": "text", "text": frame.system})
            system = b'"system":[%s],' % _marked(block)
        return b'{"messages":[%s],%s%s%s' % (_rows(pieces, marks), tools, system, settings)

    def _encoded(self, tools: Sequence[ToolSpec]) -> bytes:
        if list(tools) != list(self._tools):
            self._tools = tools
            self._tools_encoded = b",".join(
                dump({"name": t.name, "description": t.description, "input_schema": t.schema})
                for t in tools
            )
        return self._tools_encoded

    def reader(self) -> AnthropicReader:
        return AnthropicReader()


def _rows(pieces: Sequence[EncodedMessage], marks: set[int]) -> bytes:
    """Return the messages: pieces of one role in a row are one message."""
    rows: list[bytes] = []
    row: list[bytes] = []
    role = ""
    for at, piece in enumerate(pieces):
        if piece.role != role and row:
            rows.append(_row(role, row))
            row = []
        role = piece.role
        row.append(_marked(piece.body) if at in marks and role == "user" else piece.body)
    if row:
        rows.append(_row(role, row))
    return b",".join(rows)


def _row(role: str, blocks: list[bytes]) -> bytes:
    return b'{"role":"%s","content":[%s]}' % (role.encode(), b",".join(blocks))


def _marked(blocks: bytes) -> bytes:
    """End a cached prefix behind the last block."""
    return blocks[:-1] + _CACHED


def _blocks(blocks: Sequence[Json]) -> bytes:
    return dump(blocks)[1:-1]  # without the brackets


def _call(call_id: str, call: ModelCall) -> Json:
    return {
        "type": "tool_use",
        "id": shared.call_id(call_id, _CALL_ID),
        "name": tool_name(call.name),
        "input": call.args or {},
    }


def _sealed(message: AssistantMessage) -> Sequence[Mapping[str, Json]] | None:
    sealed = (
        message.provider_state.get(SEAL) if isinstance(message.provider_state, Mapping) else None
    )
    return cast("Sequence[Mapping[str, Json]] | None", sealed)


def _sendable(block: Mapping[str, Json]) -> Json:
    """Return a block of a reply as it goes back, or nothing."""
    fields = {"thinking": "signature", "redacted_thinking": "data", "text": "text"}
    needed = block.get(fields.get(str(block.get("type")), ""))
    return dict(block) if isinstance(needed, str) and needed.strip() else None


def _image(image: Image) -> Json:
    source = {"type": "base64", "media_type": image.media_type, "data": image.data}
    return {"type": "image", "source": source}


def _is_adaptive(model: str) -> bool:
    """Whether the model paces its thinking itself; budgets are refused then (Claude 4.7 on)."""
    is_claude = model.startswith("claude-")
    return is_claude and not _BUDGETED.match(model) and not _NO_THINKING.match(model)


def _settings(frame: RequestFrame) -> dict[str, Json]:
    model, tuning = frame.model, frame.tuning
    found: dict[str, Json] = {"model": model, "stream": True, "max_tokens": _max_tokens(frame)}
    if tuning.thinking and _is_adaptive(model):
        found["thinking"] = {"type": "adaptive", "display": "summarized"}
    elif tuning.thinking and not _NO_THINKING.match(model):
        found["thinking"] = {"type": "enabled", "budget_tokens": _budget_tokens(frame)}
    elif tuning.thinking is False and not _NO_THINKING.match(model):
        found["thinking"] = {"type": "disabled"}
    if tuning.effort in _EFFORT and _is_adaptive(model):
        found["output_config"] = {"effort": tuning.effort}
    return found


def _budget_tokens(frame: RequestFrame) -> int:
    """Return how much the model may think; 0 where it paces itself or does not think."""
    model, tuning = frame.model, frame.tuning
    if not tuning.thinking or _is_adaptive(model) or _NO_THINKING.match(model):
        return 0
    return max(BUDGET_TOKENS_MIN, tuning.thinking_budget_tokens or BUDGET_TOKENS)


def _max_tokens(frame: RequestFrame) -> int:
    """Return the limit of the reply, thinking included."""
    old = (n for pattern, n in _MAX_TOKENS_OLD if re.match(pattern, frame.model))
    max_tokens = frame.max_tokens or next(old, MAX_TOKENS)
    budget = _budget_tokens(frame)
    return max(max_tokens, budget + ANSWER_TOKENS_MIN) if budget else max_tokens
