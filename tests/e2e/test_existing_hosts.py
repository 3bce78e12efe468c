"""Hosts of the protocol family run unmodified: what two of them send, in their order."""

from collections.abc import Callable

import pytest
from talking import Conversation, call

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

RULES = "[Assistant System Rules]\nBe brief."


def bash(call_id: str) -> dict[str, object]:
    return call("Bash", call_id, command="echo hi")


async def test_a_host_that_sends_rules_answers_and_stops(talk: Talk) -> None:
    flags = ("--json-stream", "--max-tokens", "4096", "--max-turns", "20", "--session-id", "s-1")
    replies = [[bash("c1")], [bash("c2")], [bash("c3")], [{"text": "x"}, {"stall": True}], []]
    async with talk(*replies, flags=flags) as host:
        ready = await host.ready()
        assert isinstance(ready["capabilities"], dict)
        await host.say(type="init_history", text=RULES)
        await host.say(type="message", msg_id="m1", content="go", files=[])
        await host.approve((await host.hear("tool_request"))["call_id"], scope="once")
        await host.approve((await host.hear("tool_request"))["call_id"], scope="always")
        await host.hear("call_announced", call_id="c3")
        await host.hear("text_delta")
        await host.say(type="init_history", text="the conversation so far")
        await host.say(type="stop")
        await host.hear("stream_end")
        assert host.of("error") == []
        await host.say(type="set_mode", mode="yolo")
        assert (await host.hear("config_changed"))["capabilities"]["current_mode"] == "yolo"
        await host.turn("again", "m2")


async def test_a_host_that_adds_servers_first_and_pings(talk: Talk) -> None:
    question = call(
        "AskUserQuestion", "q1", question="Which?", header="h", options=[{"label": "a"}]
    )
    async with talk([question], [], flags=("--json-stream",)) as host:
        await host.ready()
        await host.say(
            type="add_mcp_server",
            name="time",
            transport="stdio",
            command="no-such-server",
            args=["--verbose"],
        )
        assert (await host.next())["type"] == "error"
        assert (await host.next())["type"] == "mcp_failed"
        await host.say(type="init_history", text=RULES)
        await host.say(type="set_config", effort="high")
        await host.say(type="ping")
        await host.hear("pong")
        await host.message()
        await host.hear("tool_request")
        assert await host.quiet() == [], "a second card of the same id would replace the question"
        await host.say(type="ping")
        await host.hear("pong")
        await host.approve("q1", answer="a")
        await host.hear("stream_end")
