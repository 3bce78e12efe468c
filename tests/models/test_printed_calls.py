"""A model that writes its calls as text is told so once, and nothing of it runs."""

import json

import pytest
from models.conftest import Engine
from models.dialects import CHAT, Call, Reply, say
from models.serving import Provider

from wcore.models.printed_calls import REMINDER, TOLD_HOST

pytestmark = pytest.mark.anyio

PRINTED = Reply(
    text=(
        '<tool_call>\n{"name": "Read", "arguments": ',
        '{"file_path": "x"}}',
    )
)
NEW = ("--session-id", "s1")
AGAIN = ("--resume", "s1")


async def test_a_call_that_was_written_is_not_run_and_the_model_is_told_once(
    engine: Engine, provider: Provider
) -> None:
    calls = Reply(calls=[Call("c1", "Read", (json.dumps({"file_path": "x"}),))])
    provider.will_say(say(CHAT, PRINTED), say(CHAT, calls), say(CHAT, PRINTED), say(CHAT, PRINTED))
    async with engine(CHAT, "--mode", "read_only", *NEW) as host:
        await host.ready()
        turn = await host.turn()
    kinds = [event["type"] for event in turn]
    assert [event["message"] for event in turn if event["type"] == "info"] == [TOLD_HOST]
    assert kinds.count("call_announced") == 1, "the one that was called"
    assert turn[-1]["finish_reason"] == "stop"
    told = [[text for _, text in CHAT.texts(asked)] for asked in provider.asked]
    assert len(told) == 3
    assert REMINDER in told[1][-1]
    provider.will_say(say(CHAT, Reply(text=("fine",))))
    async with engine(CHAT, *AGAIN) as host:  # the conversation is the same when it is resumed
        await host.ready()
        await host.turn(msg_id="m2")
    assert CHAT.texts(provider.asked[-1])[:-2] == CHAT.texts(provider.asked[-2])[:]


async def test_thinking_that_stands_in_the_text_is_thinking(
    engine: Engine, provider: Provider
) -> None:
    thinks = Reply(text=("<thi", "nk>hm</th", "ink>\n\nfi", "ne"))
    provider.will_say(say(CHAT, thinks), say(CHAT, Reply(text=("more",))))
    async with engine(CHAT) as host:
        await host.ready()
        turn = await host.turn()
        await host.turn(msg_id="m2")
    texts = "".join(event["text"] for event in turn if event["type"] == "text_delta")
    assert texts == "fine"
    assert "".join(event["text"] for event in turn if event["type"] == "thinking") == "hm"
    assert ("assistant", "fine") in CHAT.texts(provider.asked[1])
