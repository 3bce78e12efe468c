"""A session of today, whatever happened in it, replays to the same events, and touches nothing."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from models.dialects import CHAT, Reply, say
from models.serving import Streamed, Whole, serving
from replaying.recordings import is_identical, names
from talking import Conversation, call

from wcore.vocabulary import Usage

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

AT_ONCE = {"retry-after": "0"}
ECHO = call("Bash", "e", command="echo hi")
WAITS = call("Bash", "w", command="echo begun; sleep 60")


def write(call_id: str, path: str, content: str = "new\n") -> dict[str, object]:
    return call("Write", call_id, file_path=path, content=content)


async def denied(host: Conversation, msg_id: str) -> None:
    """Hold a turn in which every question gets a no."""
    await host.message(msg_id=msg_id)
    while (event := await host.next())["type"] != "stream_end":
        if event["type"] == "tool_request":
            await host.deny(event["call_id"])


async def test_words_and_thoughts(talk: Talk) -> None:
    said = [
        {"thinking": "hm", "subject": "s"},
        {"text": "Good "},
        {"text": "d\u00e4y \U0001f600\x1b[2J"},
    ]
    async with talk(said, [{"text": "more", "repeat": 40}]) as host:
        await host.ready()
        await host.say(type="init_history", text="before")
        await host.turn()
        await host.say(type="init_history", text="between")
        await host.turn(msg_id="m2")
        await host.say(type="get_history")
        await host.hear("command_result")
    told = await is_identical(host)
    assert told["engines"] == 1
    assert told["open_end"] is False
    assert told["events"] == len(host.heard) - 1  # all but `ready`


async def test_what_was_answered_in_every_way(talk: Talk, workspace: Path) -> None:
    (workspace / "old.txt").write_text("old\n")
    asked = ["yes", "no", "why", "edit", "late"]
    async with talk([write(name, f"{name}.txt") for name in asked], [ECHO], [ECHO], []) as host:
        await host.ready()
        await host.message()
        digests = {
            name: (await host.hear("tool_request", call_id=name))["digest"] for name in asked
        }
        await host.say(type="list_pending")
        await host.hear("command_result")
        await host.approve("yes", digest="another")
        await host.approve("yes")
        await host.approve("yes")
        await host.deny("no")
        await host.deny("why", reason="because \u202e it is")
        wrong = {"file_path": 7}
        await host.approve("edit", digest=digests["edit"], args=wrong)
        await host.hear("error")
        outside = {"file_path": "/etc/x", "content": ""}
        await host.approve("edit", digest=digests["edit"], args=outside)
        await host.hear("info")
        edited = {"file_path": "other.txt", "content": "edited"}
        await host.approve("edit", digest=digests["edit"], args=edited)
        await host.hear("tool_result", call_id="edit")
        await host.deny("late")
        prefix = {"always_prefix": {"prefix": "echo hi"}}
        await host.approve((await host.hear("tool_request"))["call_id"], scope=prefix)
        await host.hear("stream_end")
        await host.say(type="list_grants")
        await host.hear("command_result")
    assert (workspace / "other.txt").exists()
    (workspace / "other.txt").unlink()
    (workspace / "yes.txt").write_text("of a person")
    await is_identical(host)
    assert names(workspace) == ["old.txt", "yes.txt"]
    assert (workspace / "yes.txt").read_text() == "of a person"


async def test_an_answer_that_came_too_late(talk: Talk) -> None:
    async with talk([ECHO, write("w", "a")], [], flags=("--approval-ttl", "0.2")) as host:
        await host.ready()
        await host.turn()
        await host.approve("e")
        await host.hear("info")
    assert [event["outcome"] for event in host.of("call_settled")] == ["expired"] * 2
    await is_identical(host)


async def test_questions_by_answer_and_by_token(talk: Talk) -> None:
    question = {"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}
    asks = [call("AskUserQuestion", name, **question) for name in ("q1", "q2", "q3")]
    async with talk(asks, [], flags=("--hitl-suspend",)) as host:
        await host.ready()
        await host.message()
        tokens = [(await host.hear("approval_required"))["resume_token"] for _ in asks]
        await host.approve("q1", answer="a")
        resume = {"type": "approval_resume", "approved": True}
        await host.say(**resume, resume_token=tokens[1], modifications={"answer": "b"})
        await host.say(**resume, resume_token="rt-guessed")
        await host.say(type="approval_resume", approved=False, resume_token=tokens[2])
        await host.hear("stream_end")
    await is_identical(host)


async def test_calls_that_run_together_and_wait_for_each_other(talk: Talk) -> None:
    edits = [write(f"w{number}", "same.txt", f"{number}\n") for number in range(3)]
    others = [write(f"o{number}", f"{number}.txt") for number in range(4)]
    runs = [call("Bash", f"b{number}", command=f"printf %s {number}; ls") for number in range(4)]
    reads = [call("Read", f"r{number}", file_path="same.txt") for number in range(3)]
    nothing = [
        call("Nothing", "n"),
        call("Write", "bad", file_path=1),
        call("Read", "no", file_path="no"),
    ]
    calls = [*edits, *others, *runs, *reads, *nothing, call("Glob", "", pattern="*")]
    async with talk(calls, [*runs, *edits], [], flags=("--force",)) as host:
        await host.ready()
        await host.turn()
    await is_identical(host)


async def test_a_host_that_talks_all_the_time(talk: Talk) -> None:
    """Commands fall between the steps of calls that run: the record says where."""
    runs = [call("Bash", f"b{number}", command="echo $RANDOM; ls") for number in range(4)]
    writes = [write(f"w{number}", f"{number}.txt") for number in range(4)]
    async with talk([*runs, *writes], [*runs, *writes], [], flags=("--force",)) as host:
        await host.ready()
        for number in range(4):
            await host.message(msg_id=f"m{number}")
            for _ in range(60):
                await host.say(type="ping")
                await host.say(type="list_pending")
                await host.say_raw(b"rubbish \xff\n\n[]\n")
            await host.hear("stream_end")
    await is_identical(host)


async def test_stop_in_the_middle_of_words_of_a_question_and_of_a_program(talk: Talk) -> None:
    stalls: list[object] = [{"text": "one "}, {"stall": True}]
    async with talk(stalls, [ECHO, write("x", "x")], [WAITS], [], [ECHO]) as host:
        await host.ready()
        await host.message(msg_id="m1")
        await host.hear("text_delta")
        await host.say(type="stop")
        await host.hear("stream_end")
        await host.message(msg_id="m2")
        await host.hear("tool_request", call_id="x")
        await host.deny("e", stop=True)
        await host.hear("stream_end")
        await host.message(msg_id="m3")
        await host.approve((await host.hear("tool_request"))["call_id"])
        await host.hear("tool_chunk")
        await host.say(type="stop")
        await host.hear("stream_end")
        await host.say(type="stop")
        await host.message(msg_id="m4")
        await host.say(type="stop")
        await host.hear("stream_end")
    await is_identical(host)


async def test_end_of_file_and_signals_while_a_call_waits(talk: Talk) -> None:
    async with talk([ECHO, ECHO], [ECHO], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
    await is_identical(host)
    async with talk([WAITS], []) as other:
        await other.ready()
        await other.message()
        await other.approve((await other.hear("tool_request"))["call_id"])
        await other.hear("tool_chunk")
        other.signal(signal.SIGTERM)
        assert await other.ended() == 128 + signal.SIGTERM
    await is_identical(other)


async def test_a_host_that_went_away(talk: Talk) -> None:
    async with talk([{"text": "x" * 100, "repeat": 3000}], []) as host:
        await host.ready()
        await host.message()
        await host.hear("text_delta")
        host.close_stdout()
        await host.process.wait()
        host.killed, host.exit_code = True, host.process.returncode
    await is_identical(host)


async def test_modes_and_settings(talk: Talk) -> None:
    async with talk([ECHO], [ECHO], [WAITS], [], flags=("--max-mode", "auto_edit")) as host:
        await host.ready()
        for mode in ("read_only", "force", "yolo"):
            await host.say(type="set_mode", mode=mode)
        await host.message()
        await host.hear("tool_request")
        await host.say(type="set_mode", mode="auto_edit")
        await host.say(type="set_config", thinking="enabled", effort="high", compaction="safe")
        await host.say(type="set_config", model="no-such-model")
        await host.say(type="set_config", model="offline")
        await host.deny("e")
        await host.hear("tool_request")
        await host.say(type="stop")
        await host.hear("stream_end")
        await host.say(type="set_config", model="script:nowhere.jsonl")
        await host.hear("error")
        await host.turn("list", "m2")
    await is_identical(host)


async def test_policies_trust_tiers_and_overrides_that_change(
    talk: Talk, tmp_path: Path, workspace: Path
) -> None:
    policy = tmp_path / "home" / ".config" / "wcore" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('[[rule]]\nmatch = "Write(src/**)"\ndo = "allow"\n')
    (workspace / "real").mkdir()
    (workspace / "src").symlink_to("real")
    calls = [write("a", "src/a.txt"), write("b", "b.txt"), ECHO]
    async with talk(*([[*calls], []] * 4)) as host:
        await host.ready()
        await host.say(type="set_tool_override", agent="main", tool="Bash", approve_always=True)
        await host.hear("command_result")
        await denied(host, "m1")
        policy.write_text('deny = ["Write"]\n[[rule]]\nmatch = "Bash"\ndo = "ask"\n')
        await host.say(type="list_permissions")
        await host.say(type="set_tool_override", agent="main", tool="Bash", approve_always=False)
        await host.hear("command_result", command="set_tool_override")
        await host.message(msg_id="m2")
        await host.hear("tool_request")
        tools = [{"name": "Write", "status": "always_allow"}, {"name": "Read"}]
        await host.say(type="set_agent_tools", agent="main", tools=tools)
        await host.hear("stream_end")
        policy.write_text("rubbish")
        await denied(host, "m3")
        policy.write_text("")
        (workspace / ".wcore").mkdir()
        (workspace / ".wcore" / "policy.toml").write_text('[[rule]]\nmatch = "*"\ndo = "allow"\n')
        await host.say(type="trust_workspace", trusted=True)
        listed = await host.hear("command_result", command="trust_workspace")
        await host.say(type="trust_workspace", trusted=True, digest="wrong")
        await host.say(type="trust_workspace", trusted=True, digest=listed["digest"])
        await denied(host, "m4")
    policy.write_text('deny = ["*"]\n')
    (workspace / "src").unlink()
    await is_identical(host)


async def test_lasting_grants_that_come_and_go(talk: Talk) -> None:
    prefix = {"always_prefix": {"prefix": "echo hi"}}
    async with talk([ECHO], [ECHO], [], [ECHO], []) as host, talk([]) as other:
        await host.ready()
        await host.message()
        await host.approve(
            (await host.hear("tool_request"))["call_id"], scope=prefix, persist="user"
        )
        await host.hear("stream_end")
        await host.say(type="list_grants")
        grant = (await host.hear("command_result"))["grants"][0]["grant_id"]
        await other.ready()
        await other.turn()
        await other.say(type="revoke_grant", grant_id=grant)
        await other.hear("command_result")
        await host.message(msg_id="m2")
        await host.approve(
            (await host.hear("tool_request"))["call_id"], scope="always", persist="user"
        )
        await host.hear("stream_end")
        await host.say(type="revoke_grant", grant_id="g-none")
        await host.hear("command_result")
    await is_identical(host)
    await is_identical(other)


async def test_agents_that_work_side_by_side(talk: Talk, workspace: Path) -> None:
    folder = workspace / ".wcore" / "agents"
    folder.mkdir(parents=True)
    (folder / "reviewer.md").write_text("---\ntools: [Read, Bash]\ntiers: {Bash: blocked}\n---\nx")
    (folder / "other.md").write_text("---\nmodel: none-such\n---\nx")
    spawns = [call("Spawn", f"s{n}", task=f"task {n}") for n in range(3)]
    more = [
        call("Spawn", "r", task="t", agent="reviewer"),
        call("Spawn", "o", task="t", agent="other"),
    ]
    says: list[object] = [{"text": "I ", "repeat": 3}, call("Bash", "", command="echo hi")]
    async with talk([*spawns, *more], *[says] * 12, [], flags=("--force",)) as host:
        await host.ready()
        await host.turn()
    assert len(host.of("sub_agent_event")) > 20
    await is_identical(host)


async def test_a_provider_that_fails_and_is_tried_again(talk: Talk) -> None:
    busy = Whole(503, {"error": {"message": "busy"}}, AT_ONCE)
    async with serving() as provider:
        ok = say(CHAT, Reply(text=("fi", "ne"), usage=Usage(135_950, 50)))
        broken = Streamed(ok.chunks[:2], breaks=True)
        provider.will_say(
            busy, busy, ok, Whole(404, {"error": {"message": "no \x1b[2J"}}), broken, ok
        )
        flags = ("--provider", CHAT.provider, "--model", CHAT.model, "--base-url", provider.url)
        env = {"NO_PROXY": "*", "OPENAI_API_KEY": "sk-test-0123456789abcdef"}
        async with talk(flags=flags, env=env) as host:
            await host.ready()
            for number in range(4):
                await host.turn(msg_id=f"m{number}")
    ends = [event["finish_reason"] for event in host.of("stream_end")]
    assert ends == ["stop", "error", "error", "stop"]
    assert host.of("stream_end")[1]["usage"]["active_window_percent"] == 50
    await is_identical(host)


async def test_a_session_that_was_killed_and_resumed(talk: Talk, workspace: Path) -> None:
    name = ("--session-id", "s")
    async with talk([ECHO, WAITS, write("x", "x")], flags=name) as first:
        await first.ready()
        await first.message()
        await first.hear("tool_request", call_id="x")
        await first.approve("w")
        await first.hear("tool_chunk")
        await first.approve("x")
        await first.hear("tool_result")
        await first.kill()
    half = await is_identical(first)
    assert half["open_end"] is True
    async with talk([], flags=("--resume", "s")) as second:
        await second.ready()
        await second.say(type="resume_turn", action="continue")
        await second.approve((await second.hear("tool_request"))["call_id"])
        await second.hear("stream_end")
    async with talk([ECHO], [{"text": "x"}], flags=("--resume", "s")) as third:
        await third.ready()
        await third.message(msg_id="m9")
        await third.hear("tool_request")
        await third.kill()
    async with talk([], flags=("--resume", "s")) as last:
        await last.ready()
        await last.say(type="resume_turn", action="cancel")
        await last.hear("command_result")
        await last.turn(msg_id="m10")
    (workspace / "x").unlink()
    told = await is_identical(last, "s")
    assert told["engines"] == 4
    assert not (workspace / "x").exists()


async def test_limits_that_are_reached(talk: Talk) -> None:
    flags = ("--yolo", "--max-writes", "1", "--max-turns", "2")
    async with talk(*[[write("", "a"), write("", "b")]] * 3, flags=flags) as host:
        await host.ready()
        await host.turn()
        await host.say(type="set_config")  # what the host is told of the mode is compared as well
        await host.say(type="set_mode", mode="acceptEdits")
        await host.turn(msg_id="m2")
    assert host.of("stream_end")[0]["finish_reason"] == "max_turns"
    await is_identical(host)


async def test_nobody_to_ask(talk: Talk) -> None:
    async with talk([ECHO, write("w", "w")], [], flags=("--prompts", "none")) as host:
        await host.ready()
        await host.turn()
    await is_identical(host)
