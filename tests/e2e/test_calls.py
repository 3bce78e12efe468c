"""Several calls in one reply, odd calls of a badly behaved model, and their order."""

import json
from collections.abc import Callable

import pytest
from talking import Conversation, call

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

FORCE = ("--force",)


def bash(call_id: str, command: str) -> dict[str, object]:
    return call("Bash", call_id, command=command)


async def test_all_questions_of_a_reply_are_asked_at_once(talk: Talk) -> None:
    many: list[object] = [bash(f"c{n}", f"echo {n}") for n in range(100)]
    async with talk(many, [{"echo": True}]) as host:
        await host.ready()
        await host.message()
        asked = [(await host.hear("tool_request"))["call_id"] for _ in range(100)]
        assert asked == [f"c{n}" for n in range(100)]
        for call_id in reversed(asked):
            await host.approve(call_id)
        told = json.loads((await host.hear("text_delta"))["text"])
        assert [each["output"].strip() for each in told] == [str(n) for n in range(100)]
        await host.hear("stream_end")


async def test_a_call_on_a_file_waits_for_the_call_that_changes_it(talk: Talk) -> None:
    calls = [
        call("Write", "w1", file_path="a.txt", content="one\n"),
        call("Edit", "e1", file_path="a.txt", old_string="one", new_string="two"),
        call("Read", "r1", file_path="./a.txt"),
        call("Write", "w2", file_path="b.txt", content="other\n"),
    ]
    async with talk(calls, []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="w1")
        await host.hear("tool_request", call_id="w2")
        assert await host.quiet() == [], "the edit is not even prepared yet"
        await host.approve("w1")
        edit = await host.hear("tool_request", call_id="e1")
        assert "-one" in edit["preview"]["text"]
        await host.approve("e1")
        await host.hear("tool_request", call_id="r1")
        await host.approve("r1")
        assert "two" in (await host.hear("tool_result", call_id="r1"))["output"]
        await host.deny("w2")
        await host.hear("stream_end")


async def test_allowed_commands_run_one_after_the_other_and_are_announced_late(talk: Talk) -> None:
    calls = [
        bash("c1", "echo 1 >> log"),
        bash("c2", "cat log; echo 2 >> log"),
        bash("c3", "cat log"),
    ]
    async with talk(calls, [], flags=FORCE) as host:
        await host.ready()
        await host.turn()
        order = [
            (event["type"], event["call_id"])
            for event in host.heard
            if event["type"] in ("call_announced", "tool_result")
        ]
        assert order == [
            (kind, each)
            for each in ("c1", "c2", "c3")
            for kind in ("call_announced", "tool_result")
        ]
        assert host.of("tool_result")[2]["output"] == "1\n2\n"


async def test_an_allowed_command_waits_for_an_earlier_question(talk: Talk) -> None:
    first = [bash("g", "true")]
    calls = [call("Write", "w1", file_path="a.txt", content="x"), bash("c2", "cat a.txt")]
    async with talk(first, calls, []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="g")
        await host.approve("g", scope="always")
        await host.hear("tool_request", call_id="w1")
        assert await host.quiet() == [], "the granted command is held, unannounced"
        await host.approve("w1")
        await host.hear("call_announced", call_id="c2")
        assert (await host.hear("tool_result", call_id="c2"))["output"].startswith("x")
        await host.hear("stream_end")


async def test_a_held_command_is_decided_anew(talk: Talk) -> None:
    calls = [call("Write", "w1", file_path="a.txt", content="x"), bash("c2", "echo two")]
    async with talk(calls, [], flags=FORCE) as host:
        await host.ready()
        await host.say(type="set_mode", mode="default")
        await host.hear("config_changed")
        await host.message()
        await host.hear("tool_request", call_id="w1")
        await host.hear("tool_request", call_id="c2")
        await host.say(type="set_mode", mode="force")
        assert [e["type"] for e in await host.quiet()] == ["info"], "parked calls stay parked"
        await host.deny("w1")
        await host.deny("c2")
        await host.hear("stream_end")
    granted = [bash("g", "true")]
    async with talk(granted, calls, []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="g")
        await host.approve("g", scope="always")
        await host.hear("tool_request", call_id="w1")
        await host.say(type="list_grants")
        grant = (await host.hear("command_result"))["grants"][0]["grant_id"]
        await host.say(type="revoke_grant", grant_id=grant)
        assert (await host.hear("command_result"))["revoked"] is True
        await host.deny("w1")
        await host.hear("tool_request", call_id="c2")
        await host.deny("c2")
        await host.hear("stream_end")


async def test_a_held_command_overtaken_by_stop_is_announced_and_cancelled(talk: Talk) -> None:
    calls = [bash("c1", "sleep 60"), bash("c2", "echo two > ran")]
    async with talk(calls, flags=FORCE) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_running")
        await host.say(type="stop")
        await host.hear("stream_end")
        assert [e["call_id"] for e in host.of("call_announced")] == ["c1", "c2"]
        assert {e["call_id"] for e in host.of("tool_cancelled")} == {"c1", "c2"}
        assert not (host.workspace / "ran").exists()


async def test_reading_runs_beside_a_running_command(talk: Talk) -> None:
    calls = [bash("c1", "until [ -e go ]; do sleep 0.05; done"), call("LS", "l1", path=".")]
    async with talk(calls, [], flags=FORCE) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_result", call_id="l1")
        (host.workspace / "go").write_text("")
        await host.hear("tool_result", call_id="c1")
        await host.hear("stream_end")


# --- a badly behaved model --------------------------------------------------------------------


async def test_repeated_and_empty_ids_become_unique_ones(talk: Talk) -> None:
    ids = ("x", "x", "", "a b")
    calls = [{"call": {"id": each, "name": "LS", "args": {"path": "."}}} for each in ids]
    async with talk(calls, calls, [{"echo": True}], flags=FORCE) as host:
        await host.ready()
        turn = await host.turn()
        minted = [event["call_id"] for event in host.of("call_announced")]
        assert len(set(minted)) == 8
        assert minted[0] == "x"
        told = json.loads(next(event for event in turn if event["type"] == "text_delta")["text"])
        assert [each["id"] for each in told] == list(ids)


async def test_an_old_answer_never_releases_a_new_call_of_the_same_id(talk: Talk) -> None:
    async with talk([bash("x", "echo 1 >> ran")], [bash("x", "echo 2 >> ran")], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.approve("x")
        second = (await host.hear("tool_request"))["call_id"]
        assert second != "x"
        await host.approve("x")
        assert [e["type"] for e in await host.quiet()] == ["info"]
        await host.deny(second)
        await host.hear("stream_end")
        assert (host.workspace / "ran").read_text() == "1\n"


async def test_what_cannot_be_prepared_is_announced_raw_and_fails(talk: Talk) -> None:
    calls = [
        call("NoSuchTool", "c1", a=1),
        {"call": {"id": "c2", "name": "Bash", "raw": "{broken"}},
        {"call": {"id": "c3", "name": "Bash", "raw": "[1]"}},
        call("Bash", "c4", command=7, extra="x"),
        call("Read", "c5", file_path="a\0b"),
        call("Edit", "c6", file_path="a.txt", old_string="x", new_string="y"),
    ]
    async with talk(calls, [{"echo": True}], flags=FORCE) as host:
        await host.ready()
        await host.turn()
        announced = {event["call_id"]: event for event in host.of("call_announced")}
        assert list(announced) == ["c1", "c2", "c3", "c4", "c5", "c6"]
        assert all("why" not in event for event in announced.values())
        assert announced["c1"]["tool"]["category"] == "exec"
        assert announced["c2"]["tool"]["args"] == {}
        assert announced["c4"]["tool"]["args"] == {"command": 7, "extra": "x"}
        assert {event["status"] for event in host.of("tool_result")} == {"error"}
        assert "tool_running" not in host.kinds()
        assert "Bash" in host.of("tool_result")[0]["output"], "it says which tools there are"


async def test_a_call_too_large_to_be_shown_does_not_run(talk: Talk, tmp_path: object) -> None:
    huge = {"call": {"id": "w1", "name": "Write", "raw": json.dumps(
        {"file_path": "a.txt", "content": "\x01" * (LINE_BYTES_MAX // 6 + 1000)}
    )}}  # fmt: skip
    for flags in ((), FORCE):
        async with talk([huge], [], flags=flags) as host:
            await host.ready()
            await host.turn()
            assert host.of("call_announced")[0]["tool"]["args"] == {}
            assert host.of("tool_result")[0]["status"] == "error"
            assert list(host.workspace.iterdir()) == []


LINE_BYTES_MAX = 8 * 1024 * 1024


async def test_a_command_that_looks_like_an_option_is_still_the_command(talk: Talk) -> None:
    async with talk([bash("c1", "-i"), bash("c2", "-c 'echo x > ran'")], [], flags=FORCE) as host:
        await host.ready()
        await host.turn()
        assert all("command not found" in event["output"] for event in host.of("tool_result"))
        assert not (host.workspace / "ran").exists()


async def test_a_command_runs_as_written_whatever_the_encoding_of_file_names(talk: Talk) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    calls: list[object] = [bash("c1", "printf %s hé | od -An -tx1"), bash("c2", "echo plain")]
    async with talk(calls, [], flags=FORCE, env=ascii_only) as host:
        await host.ready()
        heard = await host.turn()
        results = [each for each in heard if each["type"] == "tool_result"]
        assert [each["output"].split() for each in results] == [["68", "c3", "a9"], ["plain"]]
