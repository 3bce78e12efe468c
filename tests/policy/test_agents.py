"""Agents other than main: their rules, tiers and overrides are theirs alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from policy.asking import explain
from talking import Conversation, call

Talk = Callable[..., Conversation]

RULES = """\
[[rule]]
match = "Bash(git)"
do = "allow"
agent = "reviewer"
[[rule]]
match = "Write"
do = "deny"
agent = "*/reviewer"
"""


async def ask(host: Conversation, kind: str, **fields: object) -> dict[str, Any]:
    await host.say(type=kind, request_id="r", **fields)
    return await host.hear("command_result", command=kind)


@pytest.mark.parametrize(
    ("agent", "bash", "write"),
    [
        ("main", "ask", "ask"),
        ("reviewer", "allow", "ask"),
        ("planner/reviewer", "ask", "deny"),
        ("reviewer/planner", "ask", "ask"),
        ("Reviewer", "ask", "ask"),
    ],
)
def test_a_rule_with_an_agent_counts_for_the_whole_joined_name(
    workspace: Path, tmp_path: Path, agent: str, bash: str, write: str
) -> None:
    path = tmp_path / "home" / ".config" / "wcore" / "policy.toml"
    path.parent.mkdir(parents=True)
    path.write_text(RULES)
    assert explain("git log", "--agent", agent, cwd=workspace)["verdict"] == bash
    told = explain("--tool", "Write", "a", "--agent", agent, cwd=workspace)
    assert told["verdict"] == write


async def test_tiers_and_overrides_of_an_agent_are_its_own_and_last(talk: Talk) -> None:
    tools = [{"name": "Read"}, {"name": "Bash", "status": "blocked"}]
    async with talk([call("Bash", "c", command="true")], []) as host:
        await host.ready()
        for agent in ("reviewer", "planner/reviewer"):
            listed = await ask(host, "set_agent_tools", agent=agent, tools=tools)
            assert listed["agents"][0]["agent"] == agent
        await ask(
            host, "set_tool_override", agent="planner/reviewer", tool="Read", approve_always=True
        )
        await host.message()
        await host.hear("tool_request", call_id="c")  # main may still use Bash
        await host.deny("c")
        await host.hear("stream_end")
    async with talk([]) as host:
        await host.ready()
        for agent, override in (("reviewer", False), ("planner/reviewer", True)):
            (listed,) = (await ask(host, "list_permissions", agent=agent))["agents"]
            found = {t["name"]: (t["status"], t["status_source"]) for t in listed["tools"]}
            assert found == {
                "Read": ("always_allow", "default"),
                "Bash": ("blocked", "explicit"),
            }
            assert [t.get("override") for t in listed["tools"] if t["name"] == "Read"] == [override]
        (main,) = (await ask(host, "list_permissions"))["agents"]
        assert {tool["status_source"] for tool in main["tools"]} == {"none"}
