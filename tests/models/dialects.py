"""The same reply in both dialects, as the providers document their streams."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from models.serving import Asked, Streamed

from wcore.vocabulary import Usage


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `raw` is its arguments, in pieces."""

    id: str
    name: str
    raw: Sequence[str]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says, in the order in which both dialects can say it."""

    thinking: Sequence[str] = ()
    text: Sequence[str] = ()
    calls: Sequence[Call] = ()
    finish: str = "stop"  # or length, or as the provider words it
    usage: Usage = field(default_factory=Usage)


class Dialect(Protocol):
    """How to say a reply, and what a request looks like."""

    provider: str
    model: str
    path: str

    def events(self, reply: Reply) -> list[bytes]: ...
    def failure(self, kind: str, message: str) -> bytes: ...
    def results(self, asked: Asked) -> list[tuple[str, str]]: ...
    def texts(self, asked: Asked) -> list[tuple[str, str]]: ...


def say(dialect: Dialect, reply: Reply) -> Streamed:
    return Streamed(dialect.events(reply))


def _event(value: object, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


class ChatDialect:
    """Chat Completions."""

    provider = "openai"
    model = "gpt-5"
    path = "/v1/chat/completions"

    def events(self, reply: Reply) -> list[bytes]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": text} for text in reply.thinking]
        deltas += [{"content": text} for text in reply.text]
        for index, call in enumerate(reply.calls):
            head = {"index": index, "id": call.id, "type": "function"}
            start = {**head, "function": {"name": call.name, "arguments": ""}}
            deltas.append({"tool_calls": [start]})
            deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": raw}}]}
                for raw in call.raw
            ]
        finish = "tool_calls" if reply.calls and reply.finish == "stop" else reply.finish
        usage = reply.usage
        prompt = usage.input_tokens + usage.cache_read_tokens
        counted = {
            "prompt_tokens": prompt,
            "completion_tokens": usage.output_tokens,
            "total_tokens": prompt + usage.output_tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        }
        return [
            *(_event(_chunk(delta, None)) for delta in deltas),
            _event(_chunk({}, finish)),
            _event({"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": counted}),
            b"data: [DONE]\n\n",
        ]

    def failure(self, kind: str, message: str) -> bytes:
        return _event({"error": {"type": kind, "message": message}})

    def results(self, asked: Asked) -> list[tuple[str, str]]:
        return [
            (message["tool_call_id"], message["content"])
            for message in asked.body["messages"]
            if message["role"] == "tool"
        ]

    def texts(self, asked: Asked) -> list[tuple[str, str]]:
        return [
            (message["role"], message["content"])
            for message in asked.body["messages"]
            if message["role"] in {"user", "assistant"} and isinstance(message["content"], str)
        ]


class AnthropicDialect:
    """Anthropic Messages."""

    provider = "anthropic"
    model = "claude-sonnet-4-5"
    path = "/v1/messages"

    def events(self, reply: Reply) -> list[bytes]:
        usage = {
            "input_tokens": reply.usage.input_tokens,
            "cache_read_input_tokens": reply.usage.cache_read_tokens,
            "cache_creation_input_tokens": reply.usage.cache_write_tokens,
            "output_tokens": 1,
        }
        found = [_named("message_start", message={"id": "x", "content": [], "usage": usage})]
        found.append(_named("ping"))
        blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        if reply.thinking:
            deltas = [{"type": "thinking_delta", "thinking": text} for text in reply.thinking]
            deltas.append({"type": "signature_delta", "signature": "signed"})
            blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
        if reply.text:
            deltas = [{"type": "text_delta", "text": text} for text in reply.text]
            blocks.append(({"type": "text", "text": ""}, deltas))
        for call in reply.calls:
            deltas = [{"type": "input_json_delta", "partial_json": raw} for raw in call.raw]
            empty: dict[str, object] = {}
            start = {"type": "tool_use", "id": call.id, "name": call.name, "input": empty}
            blocks.append((start, deltas))
        for index, (start, deltas) in enumerate(blocks):
            found.append(_named("content_block_start", index=index, content_block=start))
            found += [_named("content_block_delta", index=index, delta=d) for d in deltas]
            found.append(_named("content_block_stop", index=index))
        stop = "tool_use" if reply.calls else "end_turn"
        finish = {"stop": stop, "length": "max_tokens"}.get(reply.finish, reply.finish)
        reason = {"stop_reason": finish, "stop_sequence": None}
        counted = {"output_tokens": reply.usage.output_tokens}
        found.append(_named("message_delta", delta=reason, usage=counted))
        return [*found, _named("message_stop")]

    def failure(self, kind: str, message: str) -> bytes:
        return _named("error", error={"type": kind, "message": message})

    def results(self, asked: Asked) -> list[tuple[str, str]]:
        return [
            (block["tool_use_id"], block["content"])
            for message in asked.body["messages"]
            for block in message["content"]
            if block["type"] == "tool_result"
        ]

    def texts(self, asked: Asked) -> list[tuple[str, str]]:
        return [
            (message["role"], block["text"])
            for message in asked.body["messages"]
            for block in message["content"]
            if block["type"] == "text"
        ]


def _chunk(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def _named(kind: str, **fields: object) -> bytes:
    return _event({"type": kind, **fields}, kind)


CHAT = ChatDialect()
ANTHROPIC = AnthropicDialect()
BOTH: tuple[Dialect, ...] = (CHAT, ANTHROPIC)
