"""The dialect of OpenAI's Chat Completions, which nearly everybody speaks.

How providers differ stands in `providers.py`; here is what all of them share.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from wcore.models import dialect as shared
from wcore.models.arguments import read_call
from wcore.models.attachments import Image
from wcore.models.dialect import DECLINED, FILLS_WINDOW, FILTERED, EncodedMessage, RequestFrame
from wcore.models.errors import TransientError, of_event
from wcore.models.http.reasoning_details import ReasoningDetails
from wcore.models.http.think_tags import ThinkTags
from wcore.models.model import CallReady, Delta, Finished, FinishReason, Notice, Text, Thinking
from wcore.models.provider_json import dump, fields, parse, tool_name
from wcore.models.providers import Provider, ToolRules
from wcore.vocabulary import AssistantMessage, Json, ModelCall, ToolOutput, ToolSpec, Usage

REPLY_TOKENS: Final = 8_000  # of the window, kept free for the reply unless the host says more
_FINISHES: Final = dict.fromkeys(("length", "max_tokens", *FILLS_WINDOW), FinishReason.LENGTH)
_THINKING: Final = ("reasoning_content", "reasoning")  # one field, two names
_EXTRA: Final = "extra_content"  # of a call: Gemini refuses calls that come back without theirs
_DETAILS: Final = "reasoning_details"  # of a reply: behind OpenRouter, Gemini and Claude want it
SEAL: Final = "chat"  # marks what of a reply only this dialect can send back


class Chat:
    """Writes requests."""

    path = "/chat/completions"
    tool_rules = ToolRules()

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._thinking_back = provider.thinking_back
        self._tools: Sequence[ToolSpec] = ()
        self._tools_encoded = b""

    @property
    def takes_images(self) -> bool:
        return self._provider.images

    def send_thinking(self) -> bool:
        was, self._thinking_back = self._thinking_back, self._thinking_back or _THINKING[0]
        return was != self._thinking_back

    def thinks(self, model: str) -> bool:
        return self._provider.thinking_on is not None and self._is_thinker(model)

    def effort_levels(self, model: str) -> tuple[str, ...]:
        return self._provider.effort_levels if self._is_thinker(model) else ()

    def _is_thinker(self, model: str) -> bool:
        return re.match(self._provider.thinking_models, model) is not None

    def headers(self, key: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def user(self, text: str, images: Sequence[Image]) -> EncodedMessage:
        content: Json = text if text.strip() else "(no text)"
        if images:
            content = [{"type": "text", "text": content}, *map(_image, images)]
        return EncodedMessage(
            "user", dump({"role": "user", "content": content}), images=len(images)
        )

    def assistant(self, message: AssistantMessage) -> EncodedMessage:
        text = message.text if message.text.strip() else None
        if text is None and not message.calls:
            return EncodedMessage("assistant", b"")
        encoded: dict[str, Json] = {"role": "assistant", "content": text}
        extras, details = _sealed(message)
        if details:
            encoded[_DETAILS] = details
        if self._thinking_back and message.calls:
            encoded[self._thinking_back] = message.thinking
        if message.calls:
            encoded["tool_calls"] = [
                self._call(call_id, call) | extra
                for (call_id, call), extra in zip(message.calls, extras, strict=True)
            ]
        return EncodedMessage("assistant", dump(encoded))

    def _call(self, call_id: str, call: ModelCall) -> dict[str, Json]:
        function = {"name": tool_name(call.name), "arguments": dump(call.args or {}).decode()}
        return {"id": self._id(call_id), "type": "function", "function": function}

    def _id(self, call_id: str) -> str:
        return shared.call_id(call_id, self._provider.call_id, 9)

    def result(self, call_id: str, output: ToolOutput, image: Image | None) -> EncodedMessage:
        """An image follows as a user's message: results are text here."""
        text = output.output if image is None else "(the image follows)"
        after = b""
        if image is not None:
            said: Json = {"type": "text", "text": f"The image of call {self._id(call_id)}:"}
            after = dump({"role": "user", "content": [said, _image(image)]})
        body = dump({"role": "tool", "tool_call_id": self._id(call_id), "content": text})
        return EncodedMessage("tool", body, after, images=int(image is not None))

    def reply_tokens(self, frame: RequestFrame) -> int:
        return frame.max_tokens or REPLY_TOKENS

    def frame_bytes(self, frame: RequestFrame) -> int:
        return len(frame.system) + len(self._encoded(frame.tools))

    def body(self, frame: RequestFrame, pieces: Sequence[EncodedMessage]) -> bytes:
        system = dump({"role": "system", "content": frame.system})
        parts: list[bytes] = [system] if frame.system else []
        if any(piece.after for piece in pieces):
            parts += _with_pictures(pieces)
        else:
            parts += [piece.body for piece in pieces]
        settings = dump(self._settings(frame))[1:]  # without the brace
        tools = b'"tools":[%s],' % self._encoded(frame.tools) if frame.tools else b""
        return b'{"messages":[%s],%s%s' % (b",".join(parts), tools, settings)

    def _settings(self, frame: RequestFrame) -> dict[str, Json]:
        provider, tuning = self._provider, frame.tuning
        found: dict[str, Any] = {"model": frame.model, "stream": True}
        if provider.usage_option:
            found["stream_options"] = {"include_usage": True}
        if frame.max_tokens is not None:
            found[provider.max_tokens_field] = frame.max_tokens
        if self.thinks(frame.model) and tuning.thinking is not None:
            switch = provider.thinking_on if tuning.thinking else provider.thinking_off
            _merge(found, switch or {})
            if tuning.thinking and tuning.thinking_budget_tokens and provider.budget_path:
                _set(found, provider.budget_path, tuning.thinking_budget_tokens)
        if tuning.effort in self.effort_levels(frame.model) and tuning.thinking is not False:
            _set(found, provider.effort_path, tuning.effort)
        return found

    def _encoded(self, tools: Sequence[ToolSpec]) -> bytes:
        if list(tools) != list(self._tools):
            self._tools = tools
            self._tools_encoded = b",".join(
                dump({"type": "function", "function": {
                    "name": tool.name, "description": tool.description, "parameters": tool.schema,
                }})
                for tool in tools
            )  # fmt: skip
        return self._tools_encoded

    def reader(self) -> "ChatReader":
        return ChatReader(self._provider.name)


class _Call:
    """A call while it streams in."""

    def __init__(self, call_id: str) -> None:
        self.id = call_id
        self.name = ""
        self.raw: list[str] = []
        self.extra: Json = None

    def take(self, part: Mapping[str, Any]) -> None:
        function: Mapping[str, Any] = part.get("function") or {}
        self.extra = part.get(_EXTRA) or self.extra
        self.name = self.name or function.get("name") or ""
        arguments = function.get("arguments")
        if arguments:
            self.raw.append(arguments if isinstance(arguments, str) else dump(arguments).decode())


class ChatReader:
    """Reads one reply."""

    def __init__(self, provider: str) -> None:
        self.done = False
        self._provider = provider
        self._calls: list[_Call] = []
        self._by_index: dict[object, _Call] = {}
        self._finish: str | None = None
        self._has_declined = False
        self._usage = Usage()
        self._tags = ThinkTags()
        self._details = ReasoningDetails()

    def read(self, data: bytes) -> Sequence[Delta]:
        if data == b"[DONE]":
            self.done = True
            return ()
        chunk = parse(data)
        if chunk.get("error"):
            raise of_event(self._provider, chunk["error"])
        if usage := chunk.get("usage"):
            self._usage = _usage(usage)
        found: list[Delta] = []
        for choice in chunk.get("choices") or ():
            if reason := choice.get("finish_reason"):
                self._finish = reason
            if delta := choice.get("delta"):
                self._take(delta, found)
        return found

    def _take(self, delta: Mapping[str, Any], found: list[Delta]) -> None:
        for field in _THINKING:
            if thought := delta.get(field):
                found.append(Thinking(str(thought)))
                break
        self._details.take(delta.get(_DETAILS))
        if content := delta.get("content"):
            found += self._tags.feed(content) if isinstance(content, str) else _parts(content)
        if refusal := delta.get("refusal"):  # in place of content
            found.append(Text(str(refusal)))
            self._has_declined = True
        for part in delta.get("tool_calls") or ():
            self._slot(part).take(part)

    def _slot(self, part: Mapping[str, Any]) -> _Call:
        """Return the call that `part` belongs to; some servers leave the index out or at 0."""
        index, call_id = part.get("index"), part.get("id") or ""
        slot = self._by_index.get(index)
        if slot is None or (call_id and slot.id and call_id != slot.id):
            slot = _Call(call_id)
            self._calls.append(slot)
            self._by_index[index] = slot
        return slot

    def end(self) -> Sequence[Delta]:
        if self._finish is None and not self.done:
            raise TransientError(f"{self._provider} broke off in the middle of the reply")
        found: list[Delta] = [*self._tags.finish()]
        for call in self._calls:
            is_cut = call is self._calls[-1] and self._finish in _FINISHES
            raw = "".join(call.raw)
            found.append(CallReady(read_call(call.id, call.name, raw, is_last_of_cut=is_cut)))
        if self._has_declined or self._finish == "content_filter":
            why = DECLINED if self._has_declined else FILTERED
            found.append(Notice(f"{self._provider}: {why}"))
        reason = _FINISHES.get(
            self._finish or "", FinishReason.TOOLS if self._calls else FinishReason.STOP
        )
        extras: list[Json] = [call.extra for call in self._calls]
        details = self._details.whole()
        sealed: Json = {SEAL: extras, _DETAILS: details} if details or any(extras) else None
        is_full = self._finish in FILLS_WINDOW
        return [*found, Finished(reason, self._usage, sealed, fills_window=is_full)]


def _sealed(message: AssistantMessage) -> tuple[list[dict[str, Json]], Json]:
    """Return what each call of the reply, and the reply, must be sent back with."""
    state = fields(message.provider_state)
    extras = cast("list[Json]", state.get(SEAL) or ())
    if len(extras) != len(message.calls):
        return [{} for _ in message.calls], None
    return [{} if extra is None else {_EXTRA: extra} for extra in extras], state.get(_DETAILS)


def _with_pictures(pieces: Sequence[EncodedMessage]) -> list[bytes]:
    """Return the messages; what follows a row of results may not part them."""
    found: list[bytes] = []
    waiting: list[bytes] = []
    for piece in pieces:
        if waiting and piece.role != "tool":
            found += waiting
            waiting.clear()
        found.append(piece.body)
        if piece.after:
            waiting.append(piece.after)
    return [*found, *waiting]


def _usage(given: Mapping[str, Any]) -> Usage:
    """Return disjoint categories: here the prompt includes what came from the cache."""
    prompt = int(given.get("prompt_tokens") or 0)
    details = fields(given.get("prompt_tokens_details"))
    cached = int(details.get("cached_tokens") or given.get("prompt_cache_hit_tokens") or 0)
    cached = max(0, min(cached, prompt))
    return Usage(
        input_tokens=prompt - cached,
        output_tokens=max(0, int(given.get("completion_tokens") or 0)),
        cache_read_tokens=cached,
    )


def _parts(content: Sequence[Mapping[str, Any]]) -> list[Delta]:
    """Return content that comes as a list of parts, thinking among them."""
    found: list[Delta] = []
    for part in content:
        if part.get("type") == "thinking":
            found += [Thinking(p["text"]) for p in part.get("thinking") or () if p.get("text")]
        elif part.get("text"):
            found.append(Text(part["text"]))
    return found


def _image(image: Image) -> Json:
    url = f"data:{image.media_type};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _merge(target: dict[str, Any], extra: Mapping[str, Json]) -> None:
    for key, value in extra.items():
        target[key] = fields(value).copy() if isinstance(value, dict) else value


def _set(target: dict[str, Any], path: tuple[str, ...], value: Json) -> None:
    for key in path[:-1]:
        target = target.setdefault(key, {})
    target[path[-1]] = value
