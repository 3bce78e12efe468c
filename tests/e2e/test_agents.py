"""Sub-agents: asked for like all calls, and able to do no more than their parent."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rogue_servers import asked
from talking import Conversation, Event, call

Talk = Callable[..., Conversation]
Replies = tuple[list[object], ...]
pytestmark = pytest.mark.anyio

FORCE = ("--force",)
FILES = 4
LARGE = 12 * 1024 * 1024  # bytes; reading it again takes longer than both answers to arrive
REVIEWER = """\
---
description: reads and judges
tools: [Read, Grep, Bash]
tiers: {Bash: needs_approval}
---
You review.
"""


def spawn(call_id: str = "s1", task: str = "look at a.txt", agent: str = "") -> dict[str, object]:
    return call("Spawn", call_id, task=task, **({"agent": agent} if agent else {}))


def read(call_id: str) -> dict[str, object]:
    return call("Read", call_id, file_path="a.txt")


def bash(call_id: str, command: str) -> dict[str, object]:
    return call("Bash", call_id, command=command)


def text(said: str) -> dict[str, object]:
    return {"text": said}


def define(workspace: Path, name: str, content: str) -> None:
    folder = workspace / ".wcore" / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(content)


def inner(heard: list[Event]) -> list[Event]:
    return [event["inner"] for event in heard if event["type"] == "sub_agent_event"]


async def ended(host: Conversation) -> list[Event]:
    await host.hear("stream_end")
    return host.heard


async def test_an_agent_works_and_reports(talk: Talk, workspace: Path) -> None:
    (workspace / "a.txt").write_text("hello\n")
    replies: Replies = (
        [spawn()],
        [read("r1")],
        [text("it says "), text("hello")],
        [{"echo": True}],
    )
    async with talk(*replies) as host:
        ready = await host.ready()
        assert ready["capabilities"]["sub_agent_traces"] is True
        await host.message("go", "m7")
        card = await host.hear("tool_request", call_id="s1")
        assert card["tool"]["category"] == "exec"
        assert "look at a.txt" in card["preview"]["text"]
        assert "agent" not in card
        await host.approve("s1")
        card = await host.hear("tool_request", call_id="r1")
        assert (card["agent"], card["msg_id"]) == (["general"], "m7")
        await host.say(type="list_pending")
        (pending,) = (await host.hear("command_result"))["calls"]
        assert pending["agent"] == ["general"]
        await host.approve("r1")
        settled = await host.hear("call_settled", call_id="r1")
        assert settled["agent"] == ["general"]
        result = await host.hear("tool_result", call_id="s1")
        assert (result["status"], result["output"]) == ("success", "it says hello")
        heard = await ended(host)
    said = [e for e in heard if e["type"] == "sub_agent_event"]
    assert {(e["parent_call_id"], e["agent_name"]) for e in said} == {("s1", "general")}
    kinds = [event["type"] for event in inner(heard)]
    assert kinds == ["stream_start", "text_delta", "text_delta", "stream_end"]
    assert {event["msg_id"] for event in inner(heard)} == {"m7"}
    assert "".join(e["text"] for e in heard if e["type"] == "text_delta").count("it says hello")


async def test_an_agent_is_offered_what_its_file_and_its_parent_offer(
    talk: Talk, workspace: Path
) -> None:
    define(workspace, "reviewer", REVIEWER)
    write = call("Write", "w1", file_path="b.txt", content="x")
    async with talk(
        [spawn(agent="reviewer")], [write, bash("b1", "true")], [], [], flags=FORCE
    ) as host:
        await host.ready()
        await host.message()
        heard = await ended(host)
    blocked = next(e for e in heard if e["type"] == "call_announced" and e["call_id"] == "w1")
    assert blocked["why"]["row"] == "blocked"
    assert not (workspace / "b.txt").exists()
    assert any(e["type"] == "tool_result" and e["call_id"] == "b1" for e in heard)


async def test_what_the_parent_may_not_do_the_agent_may_not_either(
    talk: Talk, workspace: Path
) -> None:
    folder = workspace / ".wcore"
    folder.mkdir()
    (folder / "policy.toml").write_text(
        '[[rule]]\nmatch = "Bash(touch *)"\ndo = "deny"\nagent = "main"\n'
    )
    replies: Replies = ([spawn()], [bash("b1", "touch x")], [], [bash("b2", "touch y")], [])
    async with talk(*replies, flags=FORCE) as host:
        await host.ready()
        await host.message()
        heard = await ended(host)
    assert [e["call_id"] for e in heard if e["type"] == "tool_cancelled"] == ["b1", "b2"]
    assert not {"x", "y"} & set(os.listdir(workspace))


async def test_a_yes_to_the_parent_is_none_to_the_agent_nor_the_other_way_round(
    talk: Talk, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("hello\n")
    replies: Replies = (
        [read("r1")],
        [spawn("s1")],
        [read("r2")],
        [],
        [spawn("s2")],
        [read("r3")],
        [],
        [],
    )
    async with talk(*replies) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="r1")
        await host.approve("r1", scope="always")
        await host.hear("tool_request", call_id="s1")
        await host.approve("s1")
        await host.hear("tool_request", call_id="r2")
        await host.approve("r2", scope="always", persist="user")
        assert "sub-agent" in (await host.hear("info"))["message"]
        await host.say(type="list_grants")
        grants = (await host.hear("command_result"))["grants"]
        assert [grant.get("agent") for grant in grants] == [None, "general"]
        await asked(host, "s2")
        await host.approve("s2")
        again = await host.hear("call_announced", call_id="r3")
        assert again["why"]["row"] == "grant"
        await ended(host)


async def test_stop_ends_the_agent_and_all_it_started(talk: Talk, workspace: Path) -> None:
    replies: Replies = ([spawn()], [bash("b1", "echo up; sleep 1000; touch late"), read("r1")], [])
    async with talk(*replies) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="s1")
        await host.approve("s1")
        await host.hear("tool_request", call_id="b1")
        await host.approve("b1")
        await host.hear("tool_chunk", call_id="b1")
        await host.say(type="stop")
        heard = await ended(host)
    gone = [e["call_id"] for e in heard if e["type"] == "tool_cancelled"]
    assert set(gone) == {"b1", "r1", "s1"}
    assert gone[-1] == "s1", "the agent's calls end before the agent"
    assert [e["type"] for e in inner(heard)][-1] == "stream_end"
    assert not (workspace / "late").exists()


async def test_agents_work_side_by_side_but_not_for_ever_below_each_other(talk: Talk) -> None:
    replies: Replies = ([spawn("s1")], [spawn("s2")], [spawn("s3")], [spawn("s4")], [], [], [], [])
    async with talk(*replies, flags=FORCE) as host:
        await host.ready()
        await host.message()
        heard = await ended(host)
    names = [e["agent"] for e in heard if e["type"] == "call_announced" and "agent" in e]
    assert names == [["general"], ["general"] * 2, ["general"] * 3]
    last = next(e for e in heard if e["type"] == "call_announced" and e["call_id"] == "s4")
    assert last["why"]["row"] == "blocked", "three deep is deep enough"
    ends = {
        e["call_id"]: e["type"] for e in heard if e["type"] in ("tool_result", "tool_cancelled")
    }
    assert ends.keys() == {"s1", "s2", "s3", "s4"}


async def test_an_agent_that_fails_is_told_as_a_failed_call(talk: Talk) -> None:
    broken = [{"error": {"code": "provider_error", "message": "no more"}}]
    async with talk([spawn()], broken, [text("sorry")], flags=FORCE) as host:
        await host.ready()
        await host.message()
        result = await host.hear("tool_result", call_id="s1")
        assert result["status"] == "error"
        assert "no more" in result["output"]
        end = (await ended(host))[-1]
        assert end["finish_reason"] == "stop", "the turn of its parent goes on"


async def test_an_unknown_agent_and_a_broken_file_are_told(talk: Talk, workspace: Path) -> None:
    define(workspace, "broken", "no front matter")
    async with talk([spawn(agent="broken")], [], flags=FORCE) as host:
        await host.ready()
        await host.message()
        told = await host.hear("info")
        assert "agent broken is not used" in told["message"]
        result = await host.hear("tool_result", call_id="s1")
        assert "there is no agent `broken`; there are general" in result["output"]
        await ended(host)


async def test_what_an_untrusted_project_says_of_an_agent_only_narrows(
    talk: Talk, workspace: Path
) -> None:
    define(workspace, "eager", "---\ntiers: {Bash: always_allow}\nmodel: other\n---\n")
    async with talk([spawn(agent="eager")], [bash("b1", "true")], [], []) as host:
        await host.ready()
        await host.message()
        card = await host.hear("tool_request", call_id="s1")
        assert "always_allow" not in card["preview"]["text"]
        assert "model" not in card["preview"]["text"]
        await host.approve("s1")
        await host.hear("tool_request", call_id="b1")
        await host.deny("b1")
        await ended(host)


async def test_the_writes_of_agents_count_for_the_turn(talk: Talk, workspace: Path) -> None:
    def write(name: str) -> dict[str, object]:
        return call("Write", name, file_path=name, content="x")

    replies: Replies = ([write("one"), spawn()], [write("two")], [], [])
    async with talk(*replies, flags=(*FORCE, "--max-writes", "1")) as host:
        await host.ready()
        await host.message()
        await ended(host)
    assert (workspace / "one").exists()
    assert not (workspace / "two").exists()


async def test_an_agent_cut_off_is_an_outcome_unknown_and_its_calls_are_forgotten(
    talk: Talk, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("hello\n")
    begun = ("--session-id", "s")
    replies: Replies = ([spawn()], [read("r1"), bash("b1", "touch x")])
    async with talk(*replies, flags=begun) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="s1")
        await host.approve("s1")
        await host.hear("tool_request", call_id="b1")
        await host.kill()
    async with talk([{"echo": True}], flags=("--resume", "s")) as host:
        left = (await host.ready())["interrupted_turn"]
        assert (left["pending"], left["unknown"]) == ([], ["s1"])
        await host.say(type="resume_turn", action="continue")
        await host.hear("stream_end")
        calls = {e["call_id"] for e in host.heard if e["type"] == "call_announced"}
        assert calls == {"s1"}
        assert "outcome unknown" in next(
            e["output"] for e in host.heard if e["type"] == "tool_result"
        )
    assert not (workspace / "x").exists()


async def test_a_persons_yes_to_an_agent_outlives_the_session_for_this_agent_only(
    talk: Talk, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("hello\n")
    define(workspace, "reviewer", REVIEWER)
    replies: Replies = ([spawn(agent="reviewer")], [read("r1")], [], [])
    async with talk(*replies) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="s1")
        await host.approve("s1")
        await host.hear("tool_request", call_id="r1")
        await host.approve("r1", scope="always", persist="project")
        await ended(host)
    again: Replies = ([spawn(agent="reviewer"), read("main1")], [read("r1")], [], [])
    async with talk(*again) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="main1")
        await host.deny("main1")
        await host.approve("s1")
        assert (await host.hear("call_announced", call_id="r1"))["why"]["row"] == "grant"
        await ended(host)
    define(workspace, "reviewer", REVIEWER + "Read everything.")
    async with talk(*replies) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="s1")
        await host.approve("s1")
        await host.hear("tool_request", call_id="r1")
        await host.deny("r1")
        await ended(host)


async def test_an_agent_asks_nobody_when_the_host_is_gone(talk: Talk, workspace: Path) -> None:
    (workspace / "a.txt").write_text("hello\n")
    reads = [[call("Read", name, file_path="a.txt")] for name in ("r1", "r2")]
    spawn = [call("Spawn", "s1", task="look")]
    async with talk(spawn, *reads, [], [], flags=("--approval-ttl", "5")) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="s1")
        await host.approve("s1")
        await host.hear("tool_request", call_id="r1")
        assert await host.finish() == 0
    asked = [event["call_id"] for event in host.of("tool_request")]
    assert asked == ["s1", "r1"], "r2 came after the host had gone"
    why = {event["call_id"]: event["reason"] for event in host.of("tool_cancelled")}
    assert why.keys() == {"r1", "r2"}
    assert len(set(why.values())) == 1
    assert "nobody can answer" in why["r2"]


async def test_of_two_writes_of_one_file_at_once_one_finds_it_changed(
    talk: Talk, workspace: Path
) -> None:
    names = [f"f{n}.bin" for n in range(FILES)]
    for name in names:
        (workspace / name).write_bytes(b"\0" * LARGE)  # no text: it is not compared, only hashed

    def write(name: str, call_id: str) -> dict[str, object]:
        return call("Write", call_id, file_path=name, content=call_id)

    one = [write(name, f"a{n}") for n, name in enumerate(names)]
    two = [write(name, f"b{n}") for n, name in enumerate(names)]
    spawns = [call("Spawn", "s1", task="one"), call("Spawn", "s2", task="two")]
    async with talk(spawns, one, two, [], [], []) as host:
        await host.ready()
        await host.message()
        for each in ("s1", "s2"):
            await host.hear("tool_request", call_id=each)
        for each in ("s1", "s2"):
            await host.approve(each)
        ids = [f"{which}{n}" for n in range(FILES) for which in "ab"]
        while not set(ids) <= {e["call_id"] for e in host.of("tool_request")}:
            await host.next()
        for each in ids:
            await host.approve(each)
        await host.hear("stream_end", msg_id="m1")
        results = {e["call_id"]: e for e in host.of("tool_result")}
    for n, name in enumerate(names):
        fates = sorted(results[f"{which}{n}"]["status"] for which in "ab")
        assert fates == ["error", "success"], f"{name}: the second undid the first"
