"""Reads a reply of Anthropic's Messages API: events in, deltas out. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from wcore.models.arguments import read_call
from wcore.models.dialect import DECLINED, FILLS_WINDOW
from wcore.models.errors import TransientError, of_event
from wcore.models.model import CallReady, Delta, Finished, FinishReason, Notice, Text, Thinking
from wcore.models.provider_json import dump, parse
from wcore.vocabulary import Json, ModelCall, Usage

SEAL: Final = "anthropic"  # marks what of a reply only this dialect can send back
_FINISHES: Final = {
    **dict.fromkeys(("max_tokens", *FILLS_WINDOW), FinishReason.LENGTH),
    "tool_use": FinishReason.TOOLS,
}


class _Block:
    """A content block while it streams in."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self.start = start
        self.kind = str(start.get("type"))
        self.parts: list[str] = []  # of text, thinking or arguments
        self.signature = ""

    def sealed(self) -> Json:
        match self.kind:
            case "thinking":
                return {
                    "type": "thinking",
                    "thinking": "".join(self.parts),
                    "signature": self.signature,
                }
            case "redacted_thinking":
                return {"type": "redacted_thinking", "data": self.start.get("data") or ""}
            case "text":
                return {"type": "text", "text": "".join(self.parts)}
            case _:
                return {"type": "call"}


class AnthropicReader:
    """Reads one reply."""

    def __init__(self) -> None:
        self.done = False
        self._blocks: dict[object, _Block] = {}  # in the order of their beginning
        self._reason: str | None = None
        self._usage: dict[str, int] = {}

    def read(self, data: bytes) -> Sequence[Delta]:
        event = parse(data)
        match event.get("type"):
            case "content_block_delta":
                return self._delta(self._blocks[event["index"]], event["delta"])
            case "content_block_start":
                return self._start(event["index"], event["content_block"])
            case "message_start":
                self._count(event["message"].get("usage"))
            case "message_delta":
                self._reason = event["delta"].get("stop_reason") or self._reason
                self._count(event.get("usage"))
            case "message_stop":
                self.done = True
            case "error":
                raise of_event("anthropic", event.get("error"))
            case _:
                pass  # ping, content_block_stop, and what is not known yet
        return ()

    def _start(self, index: object, start: Mapping[str, Any]) -> Sequence[Delta]:
        block = self._blocks[index] = _Block(start)
        first = start.get("text") or start.get("thinking")
        if not first:
            return ()
        block.parts.append(first)
        return (Text(first) if block.kind == "text" else Thinking(first),)

    def _delta(self, block: _Block, delta: Mapping[str, Any]) -> Sequence[Delta]:
        match delta.get("type"):
            case "text_delta":
                text = delta["text"]
                block.parts.append(text)
                return (Text(text),) if text else ()
            case "input_json_delta":
                block.parts.append(delta["partial_json"])
            case "thinking_delta":
                text = delta["thinking"]
                block.parts.append(text)
                return (Thinking(text),) if text else ()
            case "signature_delta":
                block.signature += delta["signature"]
            case _:
                pass
        return ()

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        """Numbers are cumulative; later ones replace earlier ones."""
        for key, value in (usage or {}).items():
            if isinstance(value, int):
                self._usage[key] = max(0, value)

    def end(self) -> Sequence[Delta]:
        if not self.done and self._reason is None:
            raise TransientError("anthropic broke off in the middle of the reply")
        calls = [block for block in self._blocks.values() if block.kind == "tool_use"]
        is_cut = _FINISHES.get(self._reason or "") is FinishReason.LENGTH
        found: list[Delta] = [
            CallReady(_read(block, is_last_of_cut=is_cut and block is calls[-1])) for block in calls
        ]
        if self._reason == "refusal":
            found.append(Notice(f"anthropic: {DECLINED}"))
        reason = _FINISHES.get(
            self._reason or "", FinishReason.TOOLS if calls else FinishReason.STOP
        )
        is_full = self._reason in FILLS_WINDOW
        return [*found, Finished(reason, self._total(), self._seal(), fills_window=is_full)]

    def _seal(self) -> Json:
        blocks = list(self._blocks.values())
        if not any("thinking" in block.kind for block in blocks):
            return None
        wanted = ("thinking", "redacted_thinking", "tool_use")
        return {
            SEAL: [
                block.sealed()
                for block in blocks
                if block.kind in wanted or (block.kind == "text" and "".join(block.parts).strip())
            ]
        }

    def _total(self) -> Usage:
        count = self._usage.get
        return Usage(
            input_tokens=count("input_tokens", 0),
            output_tokens=count("output_tokens", 0),
            cache_read_tokens=count("cache_read_input_tokens", 0),
            cache_write_tokens=count("cache_creation_input_tokens", 0),
        )


def _read(block: _Block, *, is_last_of_cut: bool) -> ModelCall:
    raw = "".join(block.parts)
    if not raw.strip() and block.start.get("input"):
        raw = dump(block.start["input"]).decode()
    call_id, name = (str(block.start.get(key) or "") for key in ("id", "name"))
    return read_call(call_id, name, raw, is_last_of_cut=is_last_of_cut)
