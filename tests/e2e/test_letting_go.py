"""Conversations about a yes that covers more than the card it was given on: what waits goes on."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import waiting
from talking import Conversation, Event, call

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

ECHO = {"always_prefix": {"prefix": "echo"}}
LARGE = 16 * 1024 * 1024  # bytes; looked at to its end before a changed call is weighed


def write(call_id: str, name: str) -> dict[str, object]:
    return call("Write", call_id, file_path=name, content=name)


def bash(call_id: str, command: str) -> dict[str, object]:
    return call("Bash", call_id, command=command)


async def cards(host: Conversation, count: int) -> dict[str, Event]:
    """Return the next cards by the id of their call."""
    found = [await host.hear("tool_request") for _ in range(count)]
    return {card["call_id"]: card for card in found}


async def begun(host: Conversation, count: int) -> dict[str, Event]:
    await host.ready()
    await host.message()
    return await cards(host, count)


async def waiting_calls(host: Conversation) -> list[str]:
    await host.say(type="list_pending")
    return [each["call_id"] for each in (await host.hear("command_result"))["calls"]]


async def audit(host: Conversation, tmp_path: Path) -> list[Event]:
    """Return the rows of the audit from the command line."""
    done = await waiting.run_process(
        [sys.executable, "-m", "wcore", "audit", "list", "--json"],
        env={"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"},
        cwd=host.workspace,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def settled(host: Conversation) -> dict[str, tuple[str, str]]:
    return {e["call_id"]: (e["outcome"], e["by"]) for e in host.of("call_settled")}


async def test_what_the_grant_covers_goes_on_and_what_it_does_not_waits(talk: Talk) -> None:
    reply = [
        bash("b1", "echo one"),
        bash("b2", "echo two"),
        bash("b3", "echo three; rm -f x"),
        write("w1", "a.txt"),
        call("AskUserQuestion", "q1", question="Why?", header="W", options=[{"label": "a"}]),
    ]
    async with talk(reply, []) as host:
        await begun(host, 5)
        await host.approve("b1", scope=ECHO)
        await host.hear("tool_result", call_id="b2")
        assert settled(host) == {"b1": ("approved", "user"), "b2": ("approved", "policy")}
        assert await waiting_calls(host) == ["b3", "w1", "q1"]
        await host.say(type="list_grants")
        assert (await host.hear("command_result"))["grants"][0]["uses"] == 1
        await host.say(type="stop")
        await host.hear("stream_end")
        order = [e["call_id"] for e in host.heard if e["type"] in ("tool_running", "tool_result")]
        assert order == ["b1", "b1", "b2", "b2"], "commands go one after the other"


async def test_files_of_one_reply_go_with_the_first(talk: Talk) -> None:
    names = ["a.txt", "b.txt", ".env", "c.txt"]
    reply = [write(name, name) for name in names]
    async with talk(reply, []) as host:
        await begun(host, 4)
        await host.approve("a.txt", scope="always")
        await host.hear("tool_result", call_id="c.txt")
        while not (host.workspace / "b.txt").exists():
            await host.hear("tool_result")
        assert await waiting_calls(host) == [".env"], "a protected path asks whatever was granted"
        await host.deny(".env")
        await host.hear("stream_end")


async def test_a_file_that_has_changed_meanwhile_is_not_written(talk: Talk) -> None:
    async with talk([write("w1", "a.txt"), write("w2", "b.txt")], []) as host:
        await begun(host, 2)
        (host.workspace / "b.txt").write_text("somebody else's")
        await host.approve("w1", scope="always")
        ended = await host.hear("tool_result", call_id="w2")
        assert ended["status"] == "error"
        await host.hear("stream_end")
        assert (host.workspace / "b.txt").read_text() == "somebody else's"


async def test_a_mode_lets_nothing_go_also_after_a_grant(talk: Talk) -> None:
    async with talk([bash("b1", "echo 1"), write("w1", "a.txt")], []) as host:
        await begun(host, 2)
        await host.say(type="set_mode", mode="force")
        await host.approve("b1", scope=ECHO)
        await host.hear("tool_result", call_id="b1")
        assert await waiting_calls(host) == ["w1"]
        await host.deny("w1")
        await host.hear("stream_end")


async def test_an_override_lets_nothing_go_also_after_a_grant(talk: Talk) -> None:
    async with talk([bash("b1", "echo 1"), write("w1", "a.txt")], []) as host:
        await begun(host, 2)
        await host.say(type="set_tool_override", agent="main", tool="Write", approve_always=True)
        await host.hear("command_result")
        await host.approve("b1", scope=ECHO)
        await host.hear("tool_result", call_id="b1")
        assert await waiting_calls(host) == ["w1"]
        await host.deny("w1")
        await host.hear("stream_end")


async def test_a_command_waits_for_those_before_it_and_may_be_answered_all_the_while(
    talk: Talk,
) -> None:
    reply = [write("w1", "a.txt"), bash("b1", "echo 1"), bash("b2", "echo 2")]
    async with talk(reply, []) as host:
        await begun(host, 3)
        await host.approve("b1", scope=ECHO)
        await host.hear("tool_result", call_id="b1")
        assert await waiting_calls(host) == ["w1", "b2"], "the write before it has not ended"
        await host.deny("b2", reason="no more")
        await host.hear("tool_cancelled", call_id="b2")
        await host.deny("w1")
        await host.hear("stream_end")
        assert settled(host)["b2"] == ("denied", "user")


async def test_a_grant_taken_back_before_its_turn_lets_nothing_go(talk: Talk) -> None:
    reply = [write("w1", "a.txt"), bash("b1", "echo 1"), bash("b2", "echo 2")]
    async with talk(reply, []) as host:
        await begun(host, 3)
        await host.approve("b1", scope=ECHO)
        await host.hear("tool_result", call_id="b1")
        await host.say(type="list_grants")
        (grant,) = (await host.hear("command_result"))["grants"]
        await host.say(type="revoke_grant", grant_id=grant["grant_id"])
        await host.hear("command_result")
        await host.deny("w1")
        await host.hear("tool_cancelled", call_id="w1")
        assert await waiting_calls(host) == ["b2"]
        await host.deny("b2")
        await host.hear("stream_end")


async def test_a_script_changed_while_its_card_waits_is_not_let_go(talk: Talk) -> None:
    text = "sh run.sh"
    reply = [bash("b1", text), write("w1", "a.txt"), bash("b2", text)]
    async with talk(reply, []) as host:
        (host.workspace / "run.sh").write_text("echo 1")
        await begun(host, 3)
        await host.approve("b1", scope={"always_exact": {"command": text}})
        await host.hear("tool_result", call_id="b1")
        (host.workspace / "run.sh").write_text("echo 2")
        await host.approve("w1")
        await host.hear("tool_result", call_id="w1")
        assert await waiting_calls(host) == ["b2"]
        await host.deny("b2")
        await host.hear("stream_end")


async def test_what_was_let_go_is_the_grants_doing_in_the_audit_and_in_the_journal(
    talk: Talk, tmp_path: Path
) -> None:
    async with talk([bash("b1", "echo 1"), bash("b2", "echo 2")], []) as host:
        await begun(host, 2)
        await host.approve("b1", scope=ECHO, persist="project")
        await host.hear("stream_end")
    rows = {row["tool_call_id"]: row for row in await audit(host, tmp_path)}
    assert (rows["b1"]["source"], rows["b2"]["source"]) == ("user", "grant")
    assert rows["b2"]["decision"] == "approved"
    assert rows["b2"]["rule_id"].startswith("g-")


async def test_a_grant_does_not_overtake_changed_arguments(talk: Talk, workspace: Path) -> None:
    for n in range(8):
        (workspace / f"big{n}").touch()
        os.truncate(workspace / f"big{n}", LARGE)
    writes = [call("Write", f"w{n}", file_path=f"{n}.txt", content="x") for n in range(8)]
    async with talk(
        [*writes, call("Write", "last", file_path="last.txt", content="x")], []
    ) as host:
        await host.ready()
        await host.message()
        cards = [await host.hear("tool_request", call_id=f"w{n}") for n in range(8)]
        await host.hear("tool_request", call_id="last")
        for n, card in enumerate(cards):
            changed = {"file_path": f"big{n}", "content": card["call_id"]}
            await host.approve(card["call_id"], args=changed, digest=card["digest"])
        await host.approve("last", scope="always")
        await host.hear("stream_end")
        settled = {e["call_id"]: e for e in host.of("call_settled")}
    for n, card in enumerate(cards):
        answer = settled[card["call_id"]]
        assert (answer["outcome"], answer["by"]) == ("approved", "user")
        assert answer["args"]["file_path"] == f"big{n}"
    assert sorted(os.listdir(workspace)) == [*(f"big{n}" for n in range(8)), "last.txt"]
