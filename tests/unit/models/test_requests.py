"""What goes to which provider: the differences that `providers.py` states."""

import json
from typing import Any

import pytest

from wcore.models.dialect import RequestFrame
from wcore.models.http.anthropic import MAX_TOKENS, Anthropic
from wcore.models.http.anthropic_reply import AnthropicReader
from wcore.models.http.chat import Chat
from wcore.models.model import ThinkingSettings
from wcore.models.providers import PROVIDERS, WINDOW_TOKENS, window_tokens
from wcore.vocabulary import (
    AssistantMessage,
    Category,
    ModelCall,
    Status,
    ToolOutput,
    ToolSpec,
)

TOOL = ToolSpec("Read", Category.INFO, "Reads.", {"type": "object"})
CALL = AssistantMessage("", "thought", (("call-0a1b", ModelCall("x", "Read", {"a": 1})),))


def chat(provider: str, model: str = "m", **tuning: Any) -> Any:
    dialect = Chat(PROVIDERS[provider])
    frame = RequestFrame(model, "sys", (TOOL,), 50, ThinkingSettings(**tuning))
    return json.loads(dialect.body(frame, [dialect.user("hi", ())]))


def anthropic(model: str, max_tokens: int | None = None, **tuning: Any) -> Any:
    dialect = Anthropic()
    frame = RequestFrame(model, "", (TOOL,), max_tokens, ThinkingSettings(**tuning))
    return json.loads(dialect.body(frame, [dialect.user("hi", ())]))


def test_a_plain_chat_request() -> None:
    assert chat("openai", "gpt-5") == {
        "model": "gpt-5",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 50,
        "messages": [{"role": "system", "content": "sys"}, {"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {
            "name": "Read", "description": "Reads.", "parameters": {"type": "object"}}}],
    }  # fmt: skip


def test_a_plain_anthropic_request() -> None:
    assert anthropic("claude-sonnet-4-5") == {
        "model": "claude-sonnet-4-5",
        "stream": True,
        "max_tokens": MAX_TOKENS,
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]}],
        "tools": [{"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}}],
    }  # fmt: skip


def test_mistral_has_its_own_field_and_call_ids() -> None:
    body = chat("mistral")
    assert body["max_tokens"] == 50
    assert "stream_options" not in body
    dialect = Chat(PROVIDERS["mistral"])
    asked = json.loads(dialect.assistant(CALL).body)["tool_calls"][0]["id"]
    output = ToolOutput(Status.SUCCESS, "x")
    told = json.loads(dialect.result("call-0a1b", output, None).body)["tool_call_id"]
    assert asked == told
    assert len(asked) == 9
    assert asked.isalnum()
    assert json.loads(dialect.result("abcDEF123", output, None).body)["tool_call_id"] == "abcDEF123"


def test_openrouter_thinks_by_switch_budget_and_effort() -> None:
    body = chat("openrouter", thinking=True, thinking_budget_tokens=9, effort="low")
    assert body["reasoning"] == {"enabled": True, "max_tokens": 9, "effort": "low"}
    assert chat("openrouter", thinking=False, effort="low")["reasoning"] == {"enabled": False}
    assert "reasoning" not in chat("openrouter")


def test_one_request_does_not_change_the_table_for_the_next() -> None:
    chat("openrouter", thinking=True, thinking_budget_tokens=9)
    assert chat("openrouter", thinking=True)["reasoning"] == {"enabled": True}


def test_deepseek_gets_its_thinking_back() -> None:
    encoded = json.loads(Chat(PROVIDERS["deepseek"]).assistant(CALL).body)
    assert encoded["reasoning_content"] == "thought"
    assert "reasoning_content" not in json.loads(Chat(PROVIDERS["openai"]).assistant(CALL).body)


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-3-5-sonnet-20241022", None),
        ("claude-3-7-sonnet-20250219", "enabled"),
        ("claude-sonnet-4-20250514", "enabled"),
        ("claude-haiku-4-5-20251001", "enabled"),
        ("claude-opus-4-5", "enabled"),
        ("claude-opus-4-6", "adaptive"),
        ("claude-sonnet-4-6-20260101", "adaptive"),
        ("claude-opus-5", "adaptive"),
        ("some-compatible-model", "enabled"),
    ],
)
def test_thinking_is_asked_for_as_the_model_takes_it(model: str, thinking: str | None) -> None:
    body = anthropic(model, thinking=True, thinking_budget_tokens=1)
    assert body.get("thinking", {}).get("type") == thinking
    assert body.get("thinking", {}).get("budget_tokens", 1024) == 1024
    assert Anthropic().thinks(model) is (thinking is not None)
    assert bool(Anthropic().effort_levels(model)) is (thinking == "adaptive")


def test_a_budget_leaves_room_for_the_answer() -> None:
    body = anthropic("claude-sonnet-4-5", 100, thinking=True, thinking_budget_tokens=50_000)
    assert body["max_tokens"] > 50_000


def test_old_models_have_smaller_replies() -> None:
    assert anthropic("claude-3-haiku-20240307")["max_tokens"] == 4096
    assert anthropic("claude-3-5-haiku-20241022")["max_tokens"] == 8192


def test_a_failed_call_is_marked_as_one() -> None:
    block = json.loads(Anthropic().result("c1", ToolOutput.failed("no"), None).body)
    assert block["is_error"] is True


def test_hidden_thinking_and_the_order_of_blocks_survive() -> None:
    reader = AnthropicReader()
    starts: list[dict[str, Any]] = [
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "text", "text": "one"},
        {"type": "tool_use", "id": "c1", "name": "Read", "input": {}},
        {"type": "thinking", "thinking": "more", "signature": ""},
        {"type": "tool_use", "id": "c2", "name": "Read", "input": {"a": 2}},
    ]
    for index, start in enumerate(starts):
        event = {"type": "content_block_start", "index": index, "content_block": start}
        reader.read(json.dumps(event).encode())
    signed = {"type": "signature_delta", "signature": "s"}
    reader.read(json.dumps({"type": "content_block_delta", "index": 3, "delta": signed}).encode())
    reader.read(b'{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}')
    *_, first, second, end = reader.end()
    calls = (("c1", first.call), ("c2", second.call))  # type: ignore[union-attr]
    message = AssistantMessage("one", "more", calls, end.sealed)  # type: ignore[union-attr]
    blocks = json.loads(b"[%s]" % Anthropic().assistant(message).body)
    assert [block["type"] for block in blocks] == [start["type"] for start in starts]
    assert blocks[0] == starts[0]
    assert blocks[3] == {"type": "thinking", "thinking": "more", "signature": "s"}
    assert blocks[4]["input"] == {"a": 2}
    assert json.loads(Chat(PROVIDERS["openai"]).assistant(message).body)["content"] == "one"


@pytest.mark.parametrize(
    ("model", "tokens"),
    [("gpt-4", 8192), ("gpt-4o", WINDOW_TOKENS), ("openai/gpt-5-mini", 272_000),
     ("anthropic/claude-opus-4-6", 200_000), ("llama3.2", WINDOW_TOKENS)],
)  # fmt: skip
def test_windows_are_known_or_assumed(model: str, tokens: int) -> None:
    assert window_tokens(model) == tokens


def test_every_provider_in_the_table_is_complete() -> None:
    for provider in PROVIDERS.values():
        assert provider.base_url.startswith("https://") or not provider.url_names
        assert bool(provider.effort_path) == bool(provider.effort_levels)
        assert provider.key_names or provider.base_url.startswith("http://127.0.0.1")
