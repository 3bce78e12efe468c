"""How the two kinds of provider put a reply on the wire, and how they put a conversation. Pure."""

import json
from collections.abc import Iterator
from typing import Any, Final, TypeAlias, cast

from wcore.conformance.json_object import JsonObject
from wcore.conformance.script import Call, Failure, Pause, Reply, Text, Thought

Chunk: TypeAlias = bytes | Pause

CHAT_PATH: Final = "/chat/completions"
MESSAGES_PATH: Final = "/messages"
_NO_IDEA: Final = 1  # tokens, where a case does not say


def chat_chunks(reply: Reply, model: str) -> Iterator[Chunk]:
    """Yield a streamed Chat Completions answer."""
    yield _chat(model, {"role": "assistant", "content": ""})
    index = 0
    for piece in reply.pieces:
        match piece:
            case Text(text):
                yield _chat(model, {"content": text})
            case Thought(text):
                yield _chat(model, {"reasoning_content": text})
            case Call(call_id, name, raw):
                head = {"index": index, "id": call_id, "type": "function"}
                yield _chat(model, {"tool_calls": [{**head, "function": {"name": name}}]})
                part = {"index": index, "function": {"arguments": raw}}
                yield _chat(model, {"tool_calls": [part]})
                index += 1
            case Pause():
                yield piece
    finish = {"tools": "tool_calls"}.get(reply.reason, reply.reason)
    yield _chat(model, {}, finish)
    cached = reply.usage.get("cache_read_tokens", 0)
    prompt = reply.usage.get("input_tokens", _NO_IDEA) + cached
    written = reply.usage.get("output_tokens", _NO_IDEA)
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    yield _event({"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def chat_whole(reply: Reply, model: str) -> JsonObject:
    """Return the answer to a Chat Completions request that does not stream."""
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.raw}}
        for c in reply.pieces
        if isinstance(c, Call)
    ]
    text = "".join(piece.text for piece in reply.pieces if isinstance(piece, Text))
    message: JsonObject = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = calls
    finish = {"tools": "tool_calls"}.get(reply.reason, reply.reason)
    choice = {"index": 0, "message": message, "finish_reason": finish}
    usage = {"prompt_tokens": _NO_IDEA, "completion_tokens": _NO_IDEA, "total_tokens": 2}
    return {
        "id": "x",
        "object": "chat.completion",
        "model": model,
        "choices": [choice],
        "usage": usage,
    }


def messages_chunks(reply: Reply, model: str) -> Iterator[Chunk]:
    """Yield a streamed Anthropic Messages answer."""
    usage = {
        "input_tokens": reply.usage.get("input_tokens", _NO_IDEA),
        "cache_read_input_tokens": reply.usage.get("cache_read_tokens", 0),
        "cache_creation_input_tokens": reply.usage.get("cache_write_tokens", 0),
        "output_tokens": 0,
    }
    message: JsonObject = {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": model,
    }
    yield _named("message_start", message={**message, "usage": usage})
    index, open_kind = -1, ""
    for piece in reply.pieces:
        if isinstance(piece, Pause):
            yield piece
            continue
        kind, start, delta = _block(piece)
        if kind != open_kind or isinstance(piece, Call):
            if open_kind:
                yield _named("content_block_stop", index=index)
            index, open_kind = index + 1, kind
            yield _named("content_block_start", index=index, content_block=start)
        yield _named("content_block_delta", index=index, delta=delta)
    if open_kind:
        yield _named("content_block_stop", index=index)
    finish = {"tools": "tool_use", "stop": "end_turn", "length": "max_tokens"}[reply.reason]
    written = {"output_tokens": reply.usage.get("output_tokens", _NO_IDEA)}
    delta = {"stop_reason": finish, "stop_sequence": None}
    yield _named("message_delta", delta=delta, usage=written)
    yield _named("message_stop")


def failure_body(failure: Failure) -> JsonObject:
    """Return the body of an error answer; both kinds of provider write nearly the same."""
    codes = {"context_overflow": "context_length_exceeded", "provider_error": "bad_request"}
    code = codes.get(failure.code, "invalid_api_key")
    return {"type": "error", "error": {"type": code, "code": code, "message": failure.message}}


def given(body: JsonObject) -> list[str]:
    """Return what the model is given, part by part, whichever kind of request it is."""
    system = body.get("system")
    parts = list(_texts(system)) if system else []
    for message in cast("list[JsonObject]", body.get("messages", [])):
        parts += _texts(message.get("content"))
    return parts


def offered(body: JsonObject) -> list[str]:
    """Return the names of the tools that the model is shown."""
    tools = cast("list[JsonObject]", body.get("tools") or [])
    return [tool.get("function", tool).get("name", "") for tool in tools]


def answered(body: JsonObject) -> list[str]:
    """Return the ids of the calls whose results the model is given, in order."""
    ids: list[str] = []
    for message in cast("list[JsonObject]", body.get("messages", [])):
        if message.get("role") == "tool":
            ids.append(message.get("tool_call_id", ""))
        content = message.get("content")
        blocks = cast("list[JsonObject]", content if isinstance(content, list) else [])
        results = (block for block in blocks if block.get("type") == "tool_result")
        ids += [block.get("tool_use_id", "") for block in results]
    return ids


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in cast("list[JsonObject]", content if isinstance(content, list) else []):
        if "text" in block:
            yield str(block["text"])
        elif block.get("type") == "tool_result":
            yield from _texts(block.get("content"))


def _block(piece: Text | Thought | Call) -> tuple[str, JsonObject, JsonObject]:
    match piece:
        case Text(text):
            return "text", {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        case Thought(text):
            blank = {"type": "thinking", "thinking": "", "signature": ""}
            return "thinking", blank, {"type": "thinking_delta", "thinking": text}
        case Call(call_id, name, raw):
            start: JsonObject = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
            return "tool_use", start, {"type": "input_json_delta", "partial_json": raw}


def _chat(model: str, delta: JsonObject, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event(
        {"id": "x", "object": "chat.completion.chunk", "model": model, "choices": [choice]}
    )


def _named(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\n".encode() + _event({"type": kind, **fields})


def _event(value: JsonObject) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
