import json
from typing import Any

import pytest

from wcore.models.errors import TransientError
from wcore.models.http.anthropic import Anthropic
from wcore.models.http.chat import Chat, ChatReader
from wcore.models.model import CallReady, Delta, Finished, FinishReason, Notice, Text, Thinking
from wcore.models.providers import PROVIDERS
from wcore.vocabulary import AssistantMessage, ModelCall, Usage


def read(*deltas: dict[str, Any], finish: str | None = "stop", **more: object) -> list[Delta]:
    reader = ChatReader("p")
    found: list[Delta] = []
    for delta in deltas:
        found += reader.read(json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode())
    last = {"choices": [{"index": 0, "delta": None, "finish_reason": finish}], **more}
    return [*found, *reader.read(json.dumps(last).encode()), *reader.end()]


def calls(found: list[Delta]) -> list[tuple[str, str, object]]:
    return [
        (delta.call.model_id, delta.call.name, delta.call.args)
        for delta in found
        if isinstance(delta, CallReady)
    ]


def part(name: str = "", raw: object = "", **more: object) -> dict[str, Any]:
    function = {"name": name, "arguments": raw} if name else {"arguments": raw}
    return {"tool_calls": [{**more, "function": function}]}


def test_thinking_comes_under_either_name_but_once() -> None:
    found = read({"reasoning": "a"}, {"reasoning_content": "b"},
                 {"reasoning": "c", "reasoning_content": "c"})  # fmt: skip
    assert found[:-1] == [Thinking("a"), Thinking("b"), Thinking("c")]


def test_content_may_be_a_list_of_parts() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    found = read({"content": [thinking, {"type": "text", "text": "so"}]}, {"content": None})
    assert found[:-1] == [Thinking("hm"), Text("so")]


@pytest.mark.parametrize(
    "parts",
    [
        [part("A", index=0, id="1"), part(raw='{"x":', index=0), part("B", index=1, id="2"),
         part(raw="1}", index=0)],
        [part("A", '{"x":1}', id="1"), part("B", "", id="2")],
        [part("A", '{"x":1}', index=0, id="1"), part("B", "{}", index=0, id="2")],
        [part("A", {"x": 1}, index=0, id="1"), part("B", {}, index=1, id="2")],
        [part("A", '{"x":', id="1"), part(raw="1}"), part("B", id="2"), part(raw="{}")],
        [part("A", '{"x":', id="1"), part("A", "1}", id="1"), part("B", id="2")],
    ],
    ids=["as documented", "without index", "index always 0", "objects", "no id later", "id again"],
)  # fmt: skip
def test_calls_are_put_together_however_a_server_numbers_them(parts: list[dict[str, Any]]) -> None:
    assert calls(read(*parts, finish="tool_calls")) == [("1", "A", {"x": 1}), ("2", "B", {})]


def test_the_same_id_twice_is_two_calls_when_the_index_says_so() -> None:
    found = read(part("A", "{}", index=0, id="x"), part("B", "{}", index=1, id="x"))
    assert [name for _, name, _ in calls(found)] == ["A", "B"]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", FinishReason.STOP), ("length", FinishReason.LENGTH),
     ("model_length", FinishReason.LENGTH), ("model_context_window_exceeded", FinishReason.LENGTH),
     ("content_filter", FinishReason.STOP), ("whatever", FinishReason.STOP)],
)  # fmt: skip
def test_the_end_has_a_reason(finish: str, reason: FinishReason) -> None:
    end = read({"content": "x"}, finish=finish)[-1]
    assert isinstance(end, Finished)
    assert end.reason is reason


def test_calls_make_it_a_tool_reply_whatever_the_server_says() -> None:
    end = read(part("A", "{}", index=0, id="1"), finish="stop")[-1]
    assert isinstance(end, Finished)
    assert end.reason is FinishReason.TOOLS


def test_a_filtered_reply_says_so() -> None:
    assert any(isinstance(delta, Notice) for delta in read(finish="content_filter"))


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 2}, Usage(10, 2)),
        ({"prompt_tokens": 10, "completion_tokens": 2,
          "prompt_tokens_details": {"cached_tokens": 4}}, Usage(6, 2, 4)),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 9}, Usage(1, 0, 9)),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(0, 0, 3)),
        ({"prompt_tokens": 3, "prompt_tokens_details": None}, Usage(3)),
    ],
)  # fmt: skip
def test_usage_is_split_into_disjoint_numbers(usage: dict[str, Any], counted: Usage) -> None:
    end = read(usage=usage)[-1]
    assert isinstance(end, Finished)
    assert end.usage == counted


def test_done_is_an_end_too_and_without_either_it_broke_off() -> None:
    reader = ChatReader("p")
    with pytest.raises(TransientError):
        reader.end()
    reader.read(b"[DONE]")
    assert reader.done
    assert reader.end() == [Finished(FinishReason.STOP)]


def test_what_a_provider_hangs_on_a_call_goes_back_with_it() -> None:
    signed = {"google": {"thought_signature": "c2lnbmVk"}}
    one = part("Read", "{}", id="c1", index=0, extra_content=signed)
    two = part("Read", "{}", id="c2", index=1)
    first, second, end = read(one, two)
    assert isinstance(first, CallReady)
    assert isinstance(second, CallReady)
    assert isinstance(end, Finished)
    message = AssistantMessage("", "", (("c1", first.call), ("c2", second.call)), end.sealed)
    sent = json.loads(Chat(PROVIDERS["gemini"]).assistant(message).body)["tool_calls"]
    assert sent[0]["extra_content"] == signed
    assert "extra_content" not in sent[1]
    assert Anthropic().assistant(message).body, "another dialect passes it over"


def detail(kind: str, index: int | None = 0, **more: object) -> dict[str, Any]:
    return {"type": f"reasoning.{kind}", "format": "x", "index": index, **more}


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([detail("text", text="Let", signature=""), detail("text", text=" me"),
          detail("text", text=None, signature="signed")],
         [detail("text", text="Let me", signature="signed")]),
        ([detail("summary", summary="a"), detail("summary", 1, summary="b"),
          detail("summary", summary="c"), detail("encrypted", data="x", id="rs_1")],
         [detail("summary", summary="ac"), detail("summary", 1, summary="b"),
          detail("encrypted", data="x", id="rs_1")]),
        ([detail("encrypted", data="x", id="tool_1"), detail("encrypted", data="y", id="tool_2")],
         [detail("encrypted", data="x", id="tool_1"), detail("encrypted", data="y", id="tool_2")]),
        ([detail("encrypted", None, data="x"), detail("encrypted", None, data="y")],
         [detail("encrypted", None, data="x"), detail("encrypted", None, data="y")]),
        ([detail("text", text="a", signature="1"), detail("text", text="b"),
          detail("text", signature="2")],
         [detail("text", text="a", signature="1"), detail("text", text="b", signature="2")]),
        ([detail("text", text="a", id="1"), detail("text", text="b", id="2")],
         [detail("text", text="a", id="1"), detail("text", text="b", id="2")]),
    ],
    ids=["signed", "numbered", "of calls", "without index", "signed twice", "by id"],
)  # fmt: skip
@pytest.mark.parametrize("at_once", [True, False])
def test_details_of_the_thinking_go_back_whole_and_in_order(
    pieces: list[dict[str, Any]], whole: list[dict[str, Any]], *, at_once: bool
) -> None:
    rows = [pieces] if at_once else [[piece] for piece in pieces]
    for said in ({"content": "so"}, part("Read", "{}", id="c1", index=0)):
        *found, end = read(*({"reasoning_details": row} for row in rows), said)
        assert isinstance(end, Finished)
        made = tuple(("c1", delta.call) for delta in found if isinstance(delta, CallReady))
        message = AssistantMessage("so", "", made, end.sealed)
        openrouter = Chat(PROVIDERS["openrouter"])
        assert json.loads(openrouter.assistant(message).body)["reasoning_details"] == whole
        assert Anthropic().assistant(message).body, "another dialect passes it over"
        other = AssistantMessage("so", "", (*made, *made, *calls_of("c2")), end.sealed)
        assert b"reasoning_details" not in openrouter.assistant(other).body, "not of this reply"


def calls_of(call_id: str) -> tuple[tuple[str, ModelCall], ...]:
    return ((call_id, ModelCall(call_id, "Read", {})),)


@pytest.mark.parametrize("junk", [None, [], "text", {"type": "x"}, [None, 1, "x", []], 5])
def test_details_that_nobody_can_read_are_passed_over(junk: object) -> None:
    end = read({"reasoning_details": junk, "content": "so"})[-1]
    assert isinstance(end, Finished)
    assert end.sealed is None
