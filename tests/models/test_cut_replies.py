"""Replies that come in pieces cut anywhere, and replies that end too early."""

import json
from pathlib import Path

import pytest
from models.conftest import Engine
from models.dialects import CHAT, Call, Dialect, Reply, say
from models.serving import Provider, Streamed

from wcore.vocabulary import Usage

pytestmark = pytest.mark.anyio

OK = Reply(text=("ok",))
HIGH, LOW = "\ud83d", "\ude00"  # of one character


async def test_halves_of_a_character_in_two_pieces_are_one(
    engine: Engine, provider: Provider, dialect: Dialect, workspace: Path
) -> None:
    (workspace / "\U0001f600.txt").write_text("found it\n")
    first = Reply(
        thinking=(f"x{HIGH}", f"{LOW}y{HIGH}"),
        text=(f"{LOW}a{HIGH}", LOW, f"{HIGH}{LOW}{HIGH}"),
        calls=[Call("c1", "Read", (f'{{"file_path": "{HIGH}', f'{LOW}.txt"}}'))],
    )
    provider.will_say(say(dialect, first), say(dialect, OK))
    async with engine(dialect, "--mode", "read_only") as host:
        await host.ready()
        turn = await host.turn()
    said = {
        kind: "".join(event["text"] for event in turn if event["type"] == kind)
        for kind in ("thinking", "text_delta")
    }
    text = "\ufffda\U0001f600\U0001f600\ufffd"
    assert said == {"thinking": "x\U0001f600y\ufffd", "text_delta": text + "ok"}
    (result,) = [event for event in turn if event["type"] == "tool_result"]
    assert "found it" in result["output"]
    told = json.dumps(provider.asked[1].body, ensure_ascii=False)
    assert text in told
    assert "\U0001f600.txt" in told
    told.encode()


@pytest.mark.parametrize("raw", ['{"file_path": "a.txt", "content": "and so', "", " ", '{"fi'])
async def test_a_call_that_the_output_limit_cut_says_so_to_the_model(
    engine: Engine, provider: Provider, dialect: Dialect, workspace: Path, raw: str
) -> None:
    (workspace / "b.txt").write_text("whole\n")
    whole = Call("c1", "Read", ('{"file_path": "b.txt"}',))
    cut = Reply(calls=[whole, Call("c2", "Write", (raw,))], finish="length")
    provider.will_say(say(dialect, cut), say(dialect, OK))
    async with engine(dialect, "--force") as host:
        await host.ready()
        await host.turn()
    (_, first), (_, second) = dialect.results(provider.asked[1])
    assert "whole" in first
    assert "its output limit" in second
    assert "send less" in second
    assert not (workspace / "a.txt").exists()


async def test_what_is_no_json_is_no_matter_of_length_where_the_reply_ended(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    calls = [Call("c1", "Write", ("{bad",)), Call("c2", "LS", ("{}",))]
    provider.will_say(say(dialect, Reply(calls=calls[:1])), say(dialect, OK))
    provider.will_say(say(dialect, Reply(calls=calls, finish="length")), say(dialect, OK))
    async with engine(dialect, "--force") as host:
        await host.ready()
        await host.turn()
        await host.turn(msg_id="m2")
    for asked in provider.asked[1::2]:
        outputs = [output for _, output in dialect.results(asked)]
        assert all("output limit" not in output for output in outputs)
        assert "not valid JSON" in outputs[0]


FULL = "model_context_window_exceeded"
OLD = "old " * 4_000


async def test_a_reply_that_the_window_cut_is_told_and_the_next_request_is_shorter(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    for thinking, text in (((), ("I star",)), (("hm",), ())):
        cut = Reply(thinking=thinking, text=text, finish=FULL, usage=Usage(5_000, 3))
        provider.asked.clear()
        provider.will_say(say(dialect, OK), say(dialect, cut), say(dialect, OK))
        async with engine(dialect, "--system-prompt", "x") as host:
            await host.ready()
            await host.turn(OLD, "m1")
            assert (await host.turn("two", "m2"))[-1]["finish_reason"] == "length"
            turn = await host.turn("three", "m3")
        assert turn[-1]["finish_reason"] == "stop"
        assert [event["type"] for event in turn].count("info") == 1
        assert OLD in str(dialect.texts(provider.asked[1]))
        assert OLD not in str(dialect.texts(provider.asked[-1]))


async def test_where_the_window_leaves_no_room_for_any_reply_it_is_tried_shorter_at_once(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    none = Reply(finish=FULL, usage=Usage(5_000, 1))
    provider.will_say(say(dialect, OK), say(dialect, none), say(dialect, OK), say(dialect, none))
    async with engine(dialect, "--system-prompt", "x") as host:
        await host.ready()
        await host.turn(OLD, "m1")
        turn = await host.turn("two", "m2")
        assert turn[-1]["finish_reason"] == "stop"
        assert turn[-1]["usage"]["output_tokens"] == 1, "what said nothing costs as well"
        assert OLD not in str(dialect.texts(provider.asked[-1]))
    async with engine(dialect, "--system-prompt", "x") as host:
        await host.ready()
        turn = await host.turn(OLD, "m1")
    (error,) = [event["error"] for event in turn if event["type"] == "error"]
    assert error["code"] == "context_overflow"


NO = "I cannot help with that."


def declining_chat() -> list[bytes]:
    deltas = [{"content": "Well. "}, {"refusal": NO[:5]}, {"refusal": NO[5:]}, {"content": None}]
    choices: list[dict[str, object]] = [{"index": 0, "delta": delta} for delta in deltas]
    choices[-1]["finish_reason"] = "stop"
    return [event({"choices": [choice]}) for choice in choices]


def declining_responses() -> list[bytes]:
    reply: dict[str, object] = {"id": "r", "object": "response", "created_at": 1, "model": "m"}
    reply |= {"output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    at = {"item_id": "i", "output_index": 0, "content_index": 0}
    return [
        event({"type": kind, "sequence_number": number, **more})
        for number, (kind, more) in enumerate([
            ("response.created", {"response": reply | {"status": "in_progress"}}),
            ("response.refusal.delta", {**at, "delta": NO[:5]}),
            ("response.refusal.delta", {**at, "delta": NO[5:]}),
            ("response.refusal.done", {**at, "refusal": NO}),
            ("response.completed", {"response": reply | {"status": "completed"}}),
        ])
    ]  # fmt: skip


def event(value: dict[str, object]) -> bytes:
    return f"event: {value.get('type', 'x')}\ndata: {json.dumps(value)}\n\n".encode()


async def test_what_a_model_says_when_it_declines_is_shown_and_told_apart(
    engine: Engine, provider: Provider
) -> None:
    for name, events in (("openai", declining_chat()), ("openai-responses", declining_responses())):
        provider.will_say(Streamed(events), Streamed(events))
        async with engine(CHAT, "--provider", name) as host:
            await host.ready()
            for msg_id in ("m1", "m2"):
                turn = await host.turn(msg_id=msg_id)
                said = "".join(e["text"] for e in turn if e["type"] == "text_delta")
                assert said.removeprefix("Well. ") == NO
                (info,) = [e["message"] for e in turn if e["type"] == "info"]
                assert "the model declined to go on with this" in info
                assert turn[-1]["finish_reason"] == "stop"
        assert NO in provider.asked[-1].raw.decode(), "the model knows that it said so"
