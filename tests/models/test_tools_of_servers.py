"""Tools of MCP servers as strict providers get them: none costs more than itself."""

from typing import Any

import pytest
from models.conftest import Engine
from models.dialects import ANTHROPIC, Call, Dialect, Reply, say
from models.serving import Asked, Provider, Whole
from rogue_servers import approved, connect

pytestmark = pytest.mark.anyio

OK = Reply(text=("ok",))
EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


def schemas(asked: Asked) -> dict[str, Any]:
    """Return what is sent of the tools of servers."""
    tools = [tool.get("function", tool) for tool in asked.body["tools"]]
    return {
        tool["name"].removeprefix("mcp__r__"): tool.get("input_schema") or tool["parameters"]
        for tool in tools
        if tool["name"].startswith("mcp__")
    }


async def test_schemas_that_providers_refuse_go_out_as_ones_that_they_take(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    provider.will_say(say(dialect, OK), say(dialect, OK))
    async with engine(dialect) as host:
        await host.ready()
        assert (await connect(host, "r", "schemas"))["type"] == "mcp_ready"
        infos = [e["message"] for e in await host.turn() if e["type"] == "info"]
        assert not [e for e in await host.turn(msg_id="m2") if e["type"] == "info"]
    sent = schemas(provider.asked[0])
    dollar = sent.pop("dollar", None)
    assert sent == {
        **dict.fromkeys(("bare", "anything", "untyped", "nullable"), EMPTY),
        "either": {
            "type": "object",
            "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "number"}]}, "b": {}},
            "required": ["a"],
        },
    }
    told = [each for each in infos if "mcp__r__dollar" in each and "$.x" in each]
    assert (dollar is None, len(told)) == (dialect is ANTHROPIC, dialect is ANTHROPIC)


async def test_a_tool_that_is_refused_after_it_was_called_is_left_out_and_the_turn_goes_on(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    calls = [Call("c1", "mcp__r__echo", ('{"n": 1}',))]
    provider.will_say(say(dialect, Reply(calls=calls)))
    words = "Invalid schema for function 'mcp__r__echo': In context=(), nobody knows why"
    provider.will_say(Whole(400, {"error": {"message": words}}), say(dialect, OK))
    async with engine(dialect) as host:
        await host.ready()
        await connect(host)
        await host.say(type="message", msg_id="m1", content="go")
        call_id = (await host.hear("tool_request"))["call_id"]
        await approved(host, call_id)
        info = await host.hear("info")
        assert "mcp__r__echo" in info["message"]
        assert "nobody knows why" in info["message"]
        await host.hear("stream_end", finish_reason="stop")
    before, after = schemas(provider.asked[1]), schemas(provider.asked[2])
    assert before.keys() - after.keys() == {"echo"}
    assert [output for _, output in dialect.results(provider.asked[2])] == ['{"n": 1}']
