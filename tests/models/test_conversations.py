"""Whole conversations with a model behind HTTP: both dialects, the same events."""

import json
from pathlib import Path

import pytest
from models.conftest import Engine
from models.dialects import ANTHROPIC, CHAT, Call, Dialect, Reply, say
from models.serving import Provider, Streamed
from talking import Event

from wcore.vocabulary import Usage

pytestmark = pytest.mark.anyio

READ = Call("call_1", "Read", ('{"file_', 'path": "a.txt"}'))
WRITE = Call("call_2", "Write", ('{"file_path": "b.txt",', ' "content": "x"}'))
CONVERSATION = (
    Reply(thinking=("Let me ", "see."), text=("I will ", "look."), calls=(READ, WRITE),
          usage=Usage(10, 5, 90)),
    Reply(text=("Done", "."), usage=Usage(20, 3, 100)),
    Reply(text=("cut",), finish="length", usage=Usage(30, 2, 110)),
)  # fmt: skip


async def conversation(engine: Engine, provider: Provider, dialect: Dialect) -> list[Event]:
    """Hold it, and return what the host heard after `ready`."""
    provider.will_say(*(say(dialect, reply) for reply in CONVERSATION))
    async with engine(dialect) as host:
        await host.ready()
        await host.message("please")
        await host.hear("tool_request", call_id="call_2")
        await host.approve("call_1")
        await host.hear("tool_result", call_id="call_1")
        await host.deny("call_2", reason="not that one")
        await host.hear("stream_end")
        await host.turn("more", "m2")
    return host.heard[1:]


async def test_both_dialects_make_the_same_events(
    engine: Engine, provider: Provider, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("hello\n")
    heard = [await conversation(engine, provider, dialect) for dialect in (CHAT, ANTHROPIC)]
    assert heard[0] == heard[1]
    kinds = [event["type"] for event in heard[0]]
    assert kinds[:7] == [
        "stream_start", "thinking", "thinking", "text_delta", "text_delta",
        "tool_request", "tool_request",
    ]  # fmt: skip
    ends = [event for event in heard[0] if event["type"] == "stream_end"]
    assert [end["finish_reason"] for end in ends] == ["stop", "length"]
    assert ends[0]["usage"] == {
        "input_tokens": 30, "output_tokens": 8, "cache_read_tokens": 190,
        "context_tokens": 123, "active_window_percent": 0,
    }  # fmt: skip
    assert ends[1]["usage"]["output_tokens"] == 10


async def test_the_model_is_told_results_and_denials_in_call_order(
    engine: Engine, provider: Provider, dialect: Dialect, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("hello\n")
    await conversation(engine, provider, dialect)
    assert {asked.path for asked in provider.asked} == {dialect.path}
    (first, read), (second, denied) = dialect.results(provider.asked[1])
    assert (first, second) == ("call_1", "call_2")
    assert "hello" in read
    assert "not that one" in denied
    assert dialect.texts(provider.asked[2]) == [
        ("user", "please"), ("assistant", "I will look."), ("assistant", "Done."), ("user", "more"),
    ]  # fmt: skip


async def test_one_connection_serves_the_whole_conversation(
    engine: Engine, provider: Provider, dialect: Dialect, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("hello\n")
    await conversation(engine, provider, dialect)
    assert len(provider.asked) == 3
    assert provider.connections == 1


@pytest.mark.parametrize("size", [1, 7])
async def test_chunks_may_be_cut_anywhere(
    engine: Engine, provider: Provider, dialect: Dialect, size: int
) -> None:
    whole = b"".join(dialect.events(Reply(text=("größer ", "👍", "\n")))).replace(b"\n", b"\r\n")
    chunks = [whole[at : at + size] for at in range(0, len(whole), size)]
    provider.will_say(Streamed(chunks))
    async with engine(dialect) as host:
        await host.ready()
        turn = await host.turn()
    said = [event["text"] for event in turn if event["type"] == "text_delta"]
    assert said == ["größer ", "👍", "\n"]


async def test_broken_arguments_go_back_to_the_model_as_an_error(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    broken = Call("call_1", "Read", ('{"file_path": "a', ".txt"))
    provider.will_say(say(dialect, Reply(calls=(broken,))), say(dialect, Reply(text=("sorry",))))
    async with engine(dialect) as host:
        await host.ready()
        turn = await host.turn()
    (result,) = [event for event in turn if event["type"] == "tool_result"]
    assert result["status"] == "error"
    ((call_id, output),) = dialect.results(provider.asked[1])
    assert call_id == "call_1"
    assert "not valid JSON" in output


async def test_repeated_and_odd_ids_and_names_are_sent_back_in_order(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    calls = (Call("same", "No Such Tool!", ("{}",)), Call("same", "Nope", ("{}",)))
    odd = (Call("odd.id/1", "Nope", ("{}",)),)
    provider.will_say(say(dialect, Reply(calls=calls)), say(dialect, Reply(calls=odd)))
    provider.will_say(say(dialect, Reply(text=("ok",))))
    async with engine(dialect) as host:
        await host.ready()
        await host.turn()
    results = [call_id for call_id, _ in dialect.results(provider.asked[2])]
    assert results[0] == "same"
    assert len(set(results)) == 3
    assert all(call_id.replace("-", "").replace("_", "").isalnum() for call_id in results)
    names = json.dumps(provider.asked[2].body["messages"])
    assert "No_Such_Tool_" in names
    assert all(names.count(f'"{call_id}"') == 2 for call_id in results)


async def test_context_goes_into_the_system_prompt_or_stands_where_it_came(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    provider.will_say(*(say(dialect, Reply(text=("ok",))) for _ in range(2)))
    async with engine(dialect, "--system-prompt", "Be brief.") as host:
        await host.ready()
        await host.say(type="init_history", text="Speak like a pirate.")
        await host.turn("one", "m1")
        await host.say(type="init_history", text="The sea is rough.")
        await host.turn("two", "m2")
    for asked in provider.asked:
        body = asked.body
        system = body["system"][0]["text"] if "system" in body else body["messages"][0]["content"]
        assert system == "Be brief.\n\nSpeak like a pirate."
    assert ("user", "<context>\nThe sea is rough.\n</context>") in dialect.texts(provider.asked[1])


async def test_signed_thinking_goes_back_in_its_place(
    engine: Engine, provider: Provider, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("hello\n")
    replies = (Reply(thinking=("hm", "m"), text=("Let me",), calls=(READ,)), Reply(text=("ok",)))
    provider.will_say(*(say(ANTHROPIC, reply) for reply in replies))
    async with engine(ANTHROPIC, "--mode", "read_only") as host:
        await host.ready()
        await host.turn()
    assert provider.asked[1].body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hmm", "signature": "signed"},
        {"type": "text", "text": "Let me"},
        {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"file_path": "a.txt"}},
    ]


async def test_the_prefix_is_marked_for_the_cache(
    engine: Engine, provider: Provider, workspace: Path
) -> None:
    await conversation(engine, provider, ANTHROPIC)
    marked = [
        (message["role"], block["type"])
        for message in provider.asked[2].body["messages"]
        for block in message["content"]
        if "cache_control" in block
    ]
    assert marked == [("user", "tool_result"), ("user", "text")]
    assert "cache_control" in provider.asked[2].body["system"][0]
