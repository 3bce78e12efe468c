"""A yes to a server's tool is a yes to this tool of this server, as it was shown."""

from collections.abc import Callable

import pytest
from rogue_servers import approved, connect, ended, tool
from talking import Conversation

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio


async def test_a_yes_counts_until_the_tool_changes(talk: Talk) -> None:
    replies = [
        [tool("echo", "first")],
        [tool("echo", "second")],
        [tool("change", "c1")],
        [tool("echo", "third")],
        [tool("echo", "fourth")],
        [],
    ]
    async with talk(*replies) as host:
        await host.ready()
        await connect(host)
        await host.message()
        await host.hear("tool_request", call_id="first")
        await host.approve("first", scope="always")
        second = await host.hear("call_announced", call_id="second")
        assert second["why"]["row"] == "grant"
        await approved(host, "c1")
        assert "is not what it was" in (await ended(host, "third"))["output"]
        await host.hear("tool_request", call_id="fourth")
        assert "asks again" in host.of("info")[-1]["message"]
        await host.deny("fourth")
        await host.hear("stream_end")


async def test_a_call_that_was_shown_before_the_tool_changed_does_not_run(talk: Talk) -> None:
    async with talk([tool("echo", "old"), tool("change", "c")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        await approved(host, "c")
        while True:
            await host.say(type="list_permissions")
            await host.hear("command_result")
            if any("is not the tool" in e["message"] for e in host.of("info")):
                break
            if host.of("command_result")[200:]:
                break
        await host.approve("old")
        result = await ended(host, "old")
        assert "is not what it was" in result["output"]
        await host.hear("stream_end")


async def test_a_lasting_yes_holds_for_the_same_server_and_no_other(talk: Talk) -> None:
    async with talk([tool("echo")], []) as first:
        await first.ready()
        await connect(first, env={"ROGUE_TOKEN": "one"})
        await first.message()
        await first.hear("tool_request")
        await first.approve("c", scope="always", persist="user")
        await first.hear("stream_end")
        assert first.of("info") == []
    async with talk([tool("echo")], []) as second:
        await second.ready()
        await connect(second, env={"ROGUE_TOKEN": "another"})  # a fresh token, no other server
        await second.turn()
        assert second.of("call_announced")[0]["why"]["row"] == "grant"
    async with talk([tool("echo")], []) as other:
        await other.ready()
        await connect(other, "r", "plain", env={"ROGUE_TOKEN": "one"})
        await other.message()
        await other.hear("tool_request")
        await other.deny("c")
        await other.hear("stream_end")


async def test_a_grant_of_a_servers_tool_is_for_no_built_in_tool(talk: Talk) -> None:
    bash = {"call": {"name": "Bash", "id": "b", "args": {"command": "true"}}}
    async with talk([tool("Bash")], [bash], []) as host:
        await host.ready()
        await connect(host, "r", "odd")
        await host.message()
        await host.hear("tool_request")
        await host.approve("c", scope="always")
        request = await host.hear("tool_request", call_id="b")
        assert request["tool"]["category"] == "exec"
        await host.deny("b")
        await host.hear("stream_end")


async def test_one_yes_covers_all_tools_of_a_server_as_they_were_on_the_card(talk: Talk) -> None:
    replies = [
        [tool("echo", "first")],
        [tool("roots", "second"), tool("echo", "other", server="s")],
        [tool("change", "third")],
        [tool("roots", "shown")],
        [tool("roots", "fourth")],
        [],
    ]
    async with talk(*replies) as host:
        await host.ready()
        await connect(host)
        await connect(host, "s", "plain")
        await host.message()
        card = await host.hear("tool_request", call_id="first")
        assert card["suggestions"] == [{"always_server": {"server": "r"}}]
        await host.approve("first", scope=card["suggestions"][0])
        await host.hear("call_announced", call_id="second")
        await host.hear("tool_request", call_id="other")
        await host.deny("other")
        await host.hear("call_announced", call_id="third")
        assert "is not what it was" in (await ended(host, "shown"))["output"]
        await host.hear("tool_request", call_id="fourth")
        (told,) = [e["message"] for e in host.of("info") if "granted any more" in e["message"]]
        assert told.endswith("they ask again")
        await host.deny("fourth")
        await host.hear("stream_end")


async def test_a_lasting_yes_to_a_server_holds_for_what_it_had_and_for_no_other_launch(
    talk: Talk,
) -> None:
    server = {"always_server": {"server": "r"}}
    async with talk([tool("echo")], []) as first:
        await first.ready()
        await connect(first)
        await first.message()
        await first.hear("tool_request")
        await first.approve("c", scope=server, persist="user")
        await first.hear("stream_end")
    async with talk([tool("roots")], []) as second:
        await second.ready()
        await connect(second)
        await second.turn()
        assert second.of("call_announced")[0]["why"]["row"] == "grant"
    async with talk([tool("roots")], []) as other:
        await other.ready()
        await connect(other, "r", "plain")
        await other.message()
        await other.hear("tool_request")
        await other.deny("c")
        await other.hear("stream_end")


async def test_hints_of_a_server_change_no_verdict(talk: Talk) -> None:
    async with talk([tool("die")], [], flags=("--mode", "auto_edit")) as host:
        await host.ready()
        await connect(host)
        await host.message()
        request = await host.hear("tool_request")  # though it says that it only reads
        assert "may destroy" in request["preview"]["text"]
        await host.deny("c")
        await host.hear("stream_end")


async def test_tools_of_a_server_stay_offered_where_only_other_tools_have_a_tier(
    talk: Talk,
) -> None:
    async with talk([tool("echo", "e")], [], []) as host:
        await host.ready()
        await connect(host)
        rows = [{"name": "Delete", "status": "blocked"}]
        await host.say(type="set_agent_tools", agent="main", tools=rows)
        (listed,) = (await host.hear("command_result"))["agents"]
        found = {each["name"]: each["status_source"] for each in listed["tools"]}
        assert found.pop("Delete") == "explicit"
        assert found
        assert all(name.startswith("mcp__") for name in found)
        await host.message()
        assert (await host.hear("tool_request", call_id="e"))["why"]["row"] == "default"
        await host.deny("e")
        await host.hear("stream_end")
        await host.turn()
        told = [e["message"] for e in host.of("info") if "follow rules and mode" in e["message"]]
        assert len(told) == 1
