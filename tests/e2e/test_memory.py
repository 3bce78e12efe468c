"""What outlives an engine: lasting grants and the audit, and what happens without a store."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import waiting
from talking import Conversation, Event, call

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

ECHO = [call("Bash", command="echo hi")]
PREFIX = {"always_prefix": {"prefix": "echo hi"}}


async def asked(host: Conversation) -> Event:
    await host.ready()
    await host.message()
    return await host.hear("tool_request")


async def grants(host: Conversation) -> list[Event]:
    await host.say(type="list_grants")
    found: list[Event] = (await host.hear("command_result"))["grants"]
    return found


async def audit(host: Conversation, tmp_path: Path) -> list[Event]:
    """Return the rows of the audit, oldest first, from the command line."""
    done = await waiting.run_process(
        [sys.executable, "-m", "wcore", "audit", "list", "--json"],
        env={"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"},
        cwd=host.workspace,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return sorted(rows, key=lambda row: row["seq"])


@pytest.mark.parametrize("persist", ["project", "user"])
async def test_a_lasting_yes_holds_for_the_next_engine_until_it_is_revoked(
    talk: Talk, persist: str
) -> None:
    async with talk(ECHO, []) as first:
        request = await asked(first)
        await first.approve(request["call_id"], scope=PREFIX, persist=persist)
        await first.hear("stream_end")
        assert first.of("info") == []
        (grant,) = await grants(first)
        assert (grant["kind"], grant["prefix"], grant["persist"]) == ("prefix", "echo hi", persist)
    async with talk(ECHO, ECHO, []) as second, talk([]) as third:
        await second.ready()
        await third.ready()
        await third.turn()
        await second.turn()
        assert [e["why"]["row"] for e in second.of("call_announced")] == ["grant", "grant"]
        await third.say(type="revoke_grant", grant_id=(await grants(third))[0]["grant_id"])
        assert (await third.hear("command_result"))["revoked"] is True
        assert await grants(third) == []
    async with talk(ECHO, []) as last:
        await last.deny((await asked(last))["call_id"])
        await last.hear("stream_end")


async def test_the_uses_of_a_lasting_grant_are_counted_over_all_engines(talk: Talk) -> None:
    async with talk(ECHO, []) as first:
        request = await asked(first)
        await first.approve(request["call_id"], scope=PREFIX, persist="user")
        await first.hear("stream_end")
    for _ in range(2):
        async with talk(ECHO, []) as host:
            await host.ready()
            await host.turn()
    async with talk([]) as last:
        await last.ready()
        await last.turn()
        assert [grant["uses"] for grant in await grants(last)] == [2]


async def test_a_revoke_by_another_engine_counts_from_the_next_decision(talk: Talk) -> None:
    async with talk(ECHO, []) as first:
        request = await asked(first)
        await first.approve(request["call_id"], scope=PREFIX, persist="user")
        await first.hear("stream_end")
    wait = [call("Bash", "w", command="until [ -e go ]; do sleep 0.02; done")]
    async with talk(ECHO, wait, ECHO, []) as runs, talk([]) as other:
        await runs.ready()
        await runs.message()
        await runs.hear("tool_result")
        await runs.approve((await runs.hear("tool_request"))["call_id"])
        await other.ready()
        await other.turn()
        await other.say(type="revoke_grant", grant_id=(await grants(other))[0]["grant_id"])
        await other.hear("command_result")
        (runs.workspace / "go").write_text("")
        await runs.deny((await runs.hear("tool_request"))["call_id"])
        await runs.hear("stream_end")


async def test_a_yes_to_every_command_lasts_no_longer_than_the_session(talk: Talk) -> None:
    async with talk(ECHO, []) as first:
        request = await asked(first)
        await first.approve(request["call_id"], scope="always", persist="user")
        assert "session only" in (await first.hear("info"))["message"]
        await first.hear("stream_end")
        assert [grant["persist"] for grant in await grants(first)] == ["session"]
    async with talk(ECHO, []) as second:
        await second.deny((await asked(second))["call_id"])
        await second.hear("stream_end")


async def test_every_decision_leaves_one_row_and_no_arguments(talk: Talk, tmp_path: Path) -> None:
    calls = [call("Bash", f"c{n}", command="echo SECRET-ARGUMENT") for n in range(4)]
    inside = call("LS", "l", path=".")
    async with talk([*calls, inside], [], flags=("--mode", "read_only")) as host:
        await host.ready()
        await host.message()
        for n in range(4):
            await host.hear("tool_request", call_id=f"c{n}")
        while not any(event.get("call_id") == "l" for event in host.of("tool_result")):
            await host.next()  # else the stop may overtake it, and it is never decided
        await host.approve("c0")
        await host.deny("c1", reason="not now")
        await host.deny("c2")
        await host.say(type="stop")
        await host.hear("stream_end")
        await host.finish()
        rows = await audit(host, tmp_path)
        assert {(r["tool_call_id"], r["decision"], r["source"], r["reason"]) for r in rows} == {
            ("c0", "approved", "user", None),
            ("c1", "denied_with_reason", "user", "not now"),
            ("c2", "denied", "user", None),
            ("c3", "denied", "stop", None),
            ("l", "approved", "mode", None),
        }
        assert "SECRET-ARGUMENT" not in json.dumps(rows)


async def test_tiers_and_overrides_outlive_the_engine(talk: Talk, tmp_path: Path) -> None:
    tools = [{"name": "Bash"}, {"name": "LS", "status": "always_allow"}, {"name": "Read"}]
    async with talk([]) as first:
        await first.ready()
        await first.say(type="set_agent_tools", agent="main", tools=tools)
        assert (await first.hear("command_result"))["ok"] is True
        await first.say(type="set_tool_override", agent="main", tool="Bash", approve_always=True)
        assert (await first.hear("command_result"))["ok"] is True
    calls = [
        call("LS", "l", path="."),
        call("Bash", "b", command="echo hi"),
        call("Glob", "g", pattern="*"),
    ]
    async with talk(calls, []) as second:
        await second.ready()
        await second.say(type="list_permissions")
        (agent,) = (await second.hear("command_result"))["agents"]
        assert {
            (t["name"], t["status"], t["status_source"], t["override"]) for t in agent["tools"]
        } == {
            ("Bash", "needs_approval", "default", True),
            ("LS", "always_allow", "explicit", False),
            ("Read", "always_allow", "default", False),
        }
        await second.turn()
        rows = {e["call_id"]: e["why"]["row"] for e in second.of("call_announced")}
        assert rows == {"l": "tier", "b": "grant", "g": "blocked"}
        await second.finish()
        found = {row["tool_call_id"]: row for row in await audit(second, tmp_path)}
        assert found["b"]["source"] == "override"
        assert found["b"]["with_override"] is True
        assert found["g"]["decision"] == "denied"


async def test_a_store_in_the_workspace_is_refused_at_start(workspace: Path) -> None:
    done = await waiting.run_process(
        [sys.executable, "-m", "wcore", "--store", "memory.db"], cwd=workspace, check=False
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "init_failed"
