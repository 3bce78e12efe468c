"""Conversations about approvals: what asks, what an answer does, and what it does not."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from talking import Conversation, Event, call

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

BASH = call("Bash", "c1", command="echo hi >> ran")


def ran(host: Conversation) -> int:
    """How many times the command of `BASH` really ran."""
    path = host.workspace / "ran"
    return path.read_text().count("hi") if path.exists() else 0


async def test_a_call_waits_for_the_host_and_runs_after_the_yes(talk: Talk) -> None:
    async with talk([BASH], [{"text": "ok"}]) as host:
        await host.ready()
        await host.message()
        asked = await host.hear("tool_request")
        assert asked["tool"] == {
            "name": "Bash",
            "category": "exec",
            "args": {"command": "echo hi >> ran"},
            "description": "Execute: echo hi >> ran",
        }
        assert asked["preview"] == {
            "kind": "command", "text": "echo hi >> ran", "truncated": False,
        }  # fmt: skip
        assert asked["why"]["row"] == "default"
        assert 290 <= asked["expires_in_s"] <= 300  # what is left of 300 when it is told
        assert await host.quiet() == []
        assert ran(host) == 0
        await host.approve("c1")
        await host.hear("stream_end")
        assert ran(host) == 1
        assert host.kinds()[-5:] == [
            "call_settled", "tool_running", "tool_result", "text_delta", "stream_end",
        ]  # fmt: skip


async def test_a_denied_call_never_runs_and_the_model_hears_the_reason(talk: Talk) -> None:
    async with talk([BASH], [{"echo": True}]) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.deny("c1", reason="use make instead")
        assert (await host.hear("tool_cancelled"))["reason"] == "use make instead"
        told = json.loads((await host.hear("text_delta"))["text"])
        assert told[0]["status"] == "error"
        assert "use make instead" in told[0]["output"]
        await host.hear("stream_end", finish_reason="stop")
        assert ran(host) == 0
        assert "tool_running" not in host.kinds()
        assert host.of("call_settled")[0]["outcome"] == "denied"


async def test_a_denial_without_a_reason_has_one_of_our_own(talk: Talk) -> None:
    async with talk([BASH], [BASH], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.deny("c1")
        assert (await host.hear("tool_cancelled"))["reason"] == "denied by the user"
        await host.approve((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")
        assert ran(host) == 1, "a denial says nothing about the next call"


async def test_once_is_once(talk: Talk) -> None:
    async with talk([BASH], [BASH], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.approve("c1", scope="once")
        await host.deny((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")
        assert ran(host) == 1


async def test_always_covers_the_tools_name_and_no_other_tool(talk: Talk) -> None:
    write = call("Write", "w1", file_path="a.txt", content="a")
    async with talk([BASH], [BASH, write], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.approve("c1", scope="always")
        await host.hear("tool_request", call_id="w1")
        await host.deny("w1")
        await host.hear("stream_end")
        assert ran(host) == 2
        announced = host.of("call_announced")
        assert [event["why"]["row"] for event in announced] == ["grant"]


async def test_a_prefix_covers_later_commands_of_the_same_tool_only(talk: Talk) -> None:
    async with talk(
        [call("Bash", "c1", command="echo one")],
        [call("Bash", "c2", command="echo two && echo three")],
        [call("Bash", "c3", command="echo four; rm -f x")],
        [call("Bash", "c4", command="echofoo five")],
        [],
    ) as host:
        await host.ready()
        await host.message()
        suggested = (await host.hear("tool_request"))["suggestions"]
        assert suggested[0] == {"always_exact": {"command": "echo one"}}
        assert [next(iter(scope)) for scope in suggested[1:]] == ["always_prefix"]
        await host.approve("c1", scope={"always_prefix": {"prefix": "echo "}})
        await host.hear("tool_result", call_id="c2")
        asked = await host.hear("tool_request", call_id="c3")
        assert asked["why"]["code"] == "no_grant"
        assert "echo four; rm -f x"[slice(*asked["why"]["span"])].startswith("rm")
        await host.deny("c3")
        await host.hear("tool_request", call_id="c4")
        await host.deny("c4")
        await host.hear("stream_end")


@pytest.mark.parametrize("prefix", ["", " ", "/", "*", "rm ", "echo; ", "ech"])
async def test_a_prefix_that_cannot_be_kept_is_a_yes_for_once(talk: Talk, prefix: str) -> None:
    async with talk([BASH], [BASH], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.approve("c1", scope={"always_prefix": {"prefix": prefix}})
        assert "once only" in (await host.hear("info"))["message"]
        await host.deny((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")
        assert ran(host) == 1


async def test_a_prefix_means_nothing_for_a_tool_without_commands(talk: Talk) -> None:
    write = call("Write", "w1", file_path="a.txt", content="a")
    async with talk([write], [BASH], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.approve("w1", scope={"always_prefix": {"prefix": "echo "}})
        await host.hear("info")
        await host.deny((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")
        assert (host.workspace / "a.txt").read_text() == "a"


async def test_an_unknown_scope_is_one_error_and_the_call_stays_parked(talk: Talk) -> None:
    async with talk([BASH], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        unknown: list[object] = ["forever", {"always_tool": {}}, 7]
        for scope in unknown:
            await host.approve("c1", scope=scope)
            assert (await host.next())["error"]["code"] == "protocol_error"
        assert ran(host) == 0
        await host.approve("c1")
        await host.hear("stream_end")
        assert ran(host) == 1


async def test_answers_to_nothing_change_nothing_and_get_one_info(talk: Talk) -> None:
    async with talk([BASH], []) as host:
        await host.ready()
        await host.approve("c1")
        await host.deny("nothing")
        assert [e["type"] for e in await host.quiet()] == ["info", "info"]
        await host.message()
        await host.hear("tool_request")
        assert ran(host) == 0, "an early answer approves nothing"
        await host.approve("c1")
        await host.hear("stream_end")
        await host.approve("c1")
        await host.deny("c1")
        late = await host.quiet()
        assert [e["type"] for e in late] == ["info", "info"]
        assert {e["msg_id"] for e in late} == {""}
        assert ran(host) == 1


async def test_the_first_of_two_answers_wins(talk: Talk) -> None:
    async with talk([BASH], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        deny, approve = ({"type": f"tool_{word}", "call_id": "c1"} for word in ("deny", "approve"))
        await host.say_raw(f"{json.dumps(deny)}\n{json.dumps(approve)}\n".encode())
        await host.hear("stream_end")
        assert ran(host) == 0
        assert len(host.of("info")) == 1
        assert len(host.of("tool_cancelled")) == 1


async def test_an_answer_in_the_same_instant_is_never_lost(talk: Talk) -> None:
    count = 300
    lines = [call("LS", f"c{n}", path=".") for n in range(count)]
    async with talk(lines, []) as host:
        await host.ready()
        await host.message()
        for _ in range(count):
            await host.approve((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")
        assert len(host.of("tool_result")) == count


async def test_silence_is_a_no_after_the_time_to_live(talk: Talk) -> None:
    async with talk([BASH], [{"echo": True}], flags=("--approval-ttl", "0.2")) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        ended = await host.hear("tool_cancelled")
        assert ended["reason"] == "approval timed out (no host response)"
        assert host.of("call_settled")[0]["outcome"] == "expired"
        assert host.of("call_settled")[0]["by"] == "timeout"
        await host.hear("stream_end", finish_reason="stop")
        await host.approve("c1")
        assert [e["type"] for e in await host.quiet()] == ["info"]
        assert ran(host) == 0


async def test_two_calls_are_answered_in_any_order_and_told_in_their_own(talk: Talk) -> None:
    two = [call("Bash", "c1", command="echo one"), call("Bash", "c2", command="echo two")]
    async with talk(two, [{"echo": True}]) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="c1")
        await host.hear("tool_request", call_id="c2")
        await host.deny("c2", reason="no two")
        await host.approve("c1")
        told = json.loads((await host.hear("text_delta"))["text"])
        assert [(each["id"], each["status"]) for each in told] == [
            ("c1", "success"), ("c2", "error"),
        ]  # fmt: skip
        await host.hear("stream_end")


async def test_a_denial_with_stop_ends_the_turn(talk: Talk) -> None:
    two = [BASH, call("Bash", "c2", command="echo two")]
    async with talk(two, [{"text": "never said"}]) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="c2")
        await host.deny("c1", reason="stop it", stop=True)
        await host.hear("stream_end", finish_reason="stop")
        reasons = {e["call_id"]: e["reason"] for e in host.of("tool_cancelled")}
        assert reasons == {"c1": "stop it", "c2": "stopped by the user"}
        assert {e["call_id"]: e["by"] for e in host.of("call_settled")} == {
            "c1": "user", "c2": "stop",
        }  # fmt: skip
        assert host.of("text_delta") == []


async def test_with_nobody_to_ask_every_question_is_a_counted_denial(talk: Talk) -> None:
    read = call("Read", "r1", file_path="a.txt")
    async with talk(
        [BASH, read], [BASH], flags=("--prompts", "none", "--mode", "read_only")
    ) as host:
        ready = await host.ready()
        assert "prompts" not in ready["capabilities"]
        (host.workspace / "a.txt").write_text("a")
        turn = await host.turn()
        assert "tool_request" not in host.kinds()
        assert turn[-1]["denied_unasked"] == 2
        assert len(host.of("tool_result")) == 1
        assert "--prompts none" in host.of("tool_cancelled")[0]["reason"]
        assert ran(host) == 0


# --- edited arguments -------------------------------------------------------------------------


async def edited(host: Conversation, args: Event, **more: object) -> Event:
    await host.ready()
    await host.message()
    asked = await host.hear("tool_request")
    await host.approve(asked["call_id"], args=args, **{"digest": asked["digest"], **more})
    return asked


async def test_changed_arguments_run_instead_and_the_model_is_told(talk: Talk) -> None:
    async with talk([BASH], [{"echo": True}]) as host:
        await edited(host, {"command": "echo changed"})
        settled = await host.hear("call_settled")
        assert settled["args"] == {"command": "echo changed"}
        assert settled["digest"].startswith("v2:")
        assert (await host.hear("tool_result"))["output"] == "changed\n"
        assert "the user changed the arguments" in (await host.hear("text_delta"))["text"]
        await host.hear("stream_end")
        assert ran(host) == 0


async def test_changed_arguments_need_the_digest_that_was_shown(talk: Talk) -> None:
    async with talk([BASH], []) as host:
        await edited(host, {"command": "echo x"}, digest="v2:other")
        assert "digest" in (await host.hear("info"))["message"]
        await host.approve("c1", args={"command": "echo x"})
        assert "digest" in (await host.hear("info"))["message"]
        await host.deny("c1")
        await host.hear("stream_end")
        assert ran(host) == 0


async def test_changed_arguments_that_are_wrong_leave_the_call_parked(talk: Talk) -> None:
    async with talk([BASH], []) as host:
        asked = await edited(host, {"command": 7})
        assert (await host.hear("error"))["error"]["code"] == "refused"
        await host.approve("c1", digest=asked["digest"])
        await host.hear("stream_end")
        assert ran(host) == 1


async def test_changed_arguments_cannot_reach_a_path_that_was_not_on_the_card(talk: Talk) -> None:
    write = call("Write", "w1", file_path="a.txt", content="a")
    async with talk([write], []) as host:
        outside = host.workspace.parent / "outside.txt"
        await edited(host, {"file_path": str(outside), "content": "a"})
        assert "was not on the card" in (await host.hear("info"))["message"]
        await host.deny("w1")
        await host.hear("stream_end")
        assert not outside.exists()


async def test_changed_arguments_that_a_rule_denies_are_denied_with_that_rule(talk: Talk) -> None:
    write = call("Write", "w1", file_path="a.txt", content="a")
    async with talk([write], []) as host:
        await edited(host, {"file_path": ".wcore/policy.toml", "content": "a"})
        assert (await host.hear("tool_cancelled"))["reason"].startswith("denied by policy: ")
        await host.hear("stream_end")
        assert not (host.workspace / ".wcore").exists()


# --- files ------------------------------------------------------------------------------------


async def test_a_file_that_changed_since_the_card_is_not_overwritten(talk: Talk) -> None:
    edit = call("Edit", "e1", file_path="a.txt", old_string="old", new_string="new")
    async with talk([edit], []) as host:
        path = host.workspace / "a.txt"
        path.write_text("old\n")
        await host.ready()
        await host.message()
        asked = await host.hear("tool_request")
        assert asked["preview"]["kind"] == "diff"
        assert "-old" in asked["preview"]["text"]
        path.write_text("old, but somebody wrote here\n")
        await host.approve("e1")
        assert (await host.hear("tool_result"))["status"] == "error"
        await host.hear("stream_end")
        assert path.read_text() == "old, but somebody wrote here\n"


async def test_an_edit_answers_with_its_diff_and_its_path(talk: Talk) -> None:
    edit = call("Edit", "e1", file_path="a.txt", old_string="old", new_string="new")
    async with talk([edit], [], flags=("--mode", "auto_edit")) as host:
        (host.workspace / "a.txt").write_text("old\n")
        await host.ready()
        await host.turn()
        result = host.of("tool_result")[0]
        assert result["output_type"] == "diff"
        assert result["metadata"]["file_path"] == str(host.workspace / "a.txt")
        assert "+new" in result["output"]


async def test_a_folder_outside_can_be_granted_for_reading_only(talk: Talk, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.txt").write_text("from outside")
    read = [call("Read", file_path=str(data / "a.txt"))]
    write = [call("Write", "w", file_path=str(data / "b.txt"), content="b")]
    async with talk(read, read, write, [], flags=("--mode", "auto_edit")) as host:
        await host.ready()
        await host.message()
        asked = await host.hear("tool_request")
        assert asked["why"]["row"] == "outside"
        scope = {"always_path": {"root": str(data), "write": False}}
        assert asked["suggestions"] == [scope]
        await host.approve(asked["call_id"], scope=scope)
        await host.hear("tool_result")
        await host.hear("tool_result")
        await host.deny((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")
        assert not (data / "b.txt").exists()


@pytest.mark.parametrize(("root", "write"), [("/", False), ("~", False), ("{data}", True)])
async def test_a_folder_that_may_not_be_granted_is_a_yes_for_once(
    talk: Talk, tmp_path: Path, root: str, write: bool
) -> None:
    data = tmp_path / "home" / "data"
    data.mkdir(parents=True)
    (data / "a.txt").write_text("a")
    read = [call("Read", file_path=str(data / "a.txt"))]
    async with talk(read, read, []) as host:
        await host.ready()
        await host.message()
        scope = {"always_path": {"root": root.format(data=data), "write": write}}
        await host.approve((await host.hear("tool_request"))["call_id"], scope=scope)
        await host.hear("info")
        await host.deny((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")


async def test_a_protected_path_asks_although_the_tool_was_granted(talk: Talk) -> None:
    reads = [[call("Read", file_path=name)] for name in ("a.txt", "b.txt", ".env")]
    async with talk(*reads, []) as host:
        for name in ("a.txt", "b.txt", ".env"):
            (host.workspace / name).write_text(name)
        await host.ready()
        await host.message()
        await host.approve((await host.hear("tool_request"))["call_id"], scope="always")
        asked = await host.hear("tool_request")
        assert asked["why"]["row"] == "protected"
        await host.deny(asked["call_id"])
        await host.hear("stream_end")
        assert len(host.of("call_announced")) == 1


async def test_our_own_files_are_never_written_in_any_mode(talk: Talk) -> None:
    write = call("Write", "w1", file_path=".wcore/policy.toml", content="allow = all")
    shell = call("Bash", "c1", command="echo x > .wcore/policy.toml")
    async with talk([write, shell], [], flags=("--force",)) as host:
        await host.ready()
        await host.turn()
        assert {e["why"]["row"] for e in host.of("call_announced")} == {"safety"}
        assert len(host.of("tool_cancelled")) == 2
        assert not (host.workspace / ".wcore").exists()


async def test_the_write_limit_holds_for_calls_of_one_reply(talk: Talk) -> None:
    writes: list[object] = [
        call("Write", f"w{n}", file_path=f"{n}.txt", content="x") for n in range(10)
    ]
    async with talk(writes, [], flags=("--mode", "auto_edit", "--max-writes", "3")) as host:
        await host.ready()
        await host.turn()
        assert len(list(host.workspace.iterdir())) == 3
        assert [e["status"] for e in host.of("tool_result")].count("error") == 7


async def test_what_is_hidden_in_a_command_is_shown_on_the_card(talk: Talk) -> None:
    command = "echo safe\u202e; rm -rf \u200b~"
    async with talk([call("Bash", "c1", command=command)], []) as host:
        await host.ready()
        await host.message()
        asked = await host.hear("tool_request")
        assert "⟨U+202E⟩" in asked["tool"]["description"]
        assert "⟨U+200B⟩" in asked["preview"]["text"]
        assert asked["tool"]["args"]["command"] == command
        await host.deny("c1")
        await host.hear("stream_end")
