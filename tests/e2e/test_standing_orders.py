"""A yes to every call of a tool that was given in settings: it lasts, and it is said."""

from collections.abc import Callable

import pytest
from talking import Conversation

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio


async def test_an_order_for_commands_is_told_when_it_is_set_and_another_is_not(talk: Talk) -> None:
    async with talk([{"text": "ok"}]) as host:
        await host.ready()
        await host.turn()
        for tool, approve in (("Bash", True), ("Read", True), ("Bash", False)):
            words = {"agent": "main", "tool": tool, "approve_always": approve}
            await host.say(type="set_tool_override", **words)
            assert (await host.hear("command_result"))["ok"] is True
        for status in ("always_allow", "always_allow", "needs_approval"):
            tools = [{"name": "Bash", "status": status}, {"name": "Read", "status": "always_allow"}]
            await host.say(type="set_agent_tools", agent="main", tools=tools)
            assert (await host.hear("command_result"))["ok"] is True
        told = [event["message"] for event in host.of("info")]
        assert [text.split(", until ")[1] for text in told] == [
            "set_tool_override takes it back",
            "set_agent_tools takes it back",
        ]
        assert all("every Bash call of main" in text for text in told)
