"""Turns: how they start, stop and end, whoever ends them, and what may be said meanwhile."""

import os
import signal
from collections.abc import Callable

import pytest
from talking import Conversation, call

from wcore.vocabulary import OUTPUT_BYTES_MAX

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

PARKED = call("Bash", "c1", command="echo x > ran")
SLEEP = call("Bash", "c1", command="sleep 61 & echo $! $$; wait")
FORCE = ("--force",)


def dead(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def sleeping(host: Conversation) -> list[int]:
    """Wait until `SLEEP` runs; return its two process ids."""
    await host.ready()
    await host.message()
    return [int(pid) for pid in (await host.hear("tool_chunk"))["chunk"].split()]


async def test_a_turn_streams_increments_under_one_msg_id(talk: Talk) -> None:
    said = [{"thinking": "hm", "subject": "s"}, {"text": "a"}, {"text": "b"}]
    async with talk([*said, {"usage": {"input_tokens": 3, "output_tokens": 2}}]) as host:
        await host.ready()
        turn = await host.turn(msg_id="m-7")
        assert [event["type"] for event in turn] == [
            "stream_start", "thinking", "text_delta", "text_delta", "stream_end",
        ]  # fmt: skip
        assert {event["msg_id"] for event in turn} == {"m-7"}
        assert turn[1]["subject"] == "s"
        assert turn[-1]["usage"] == {"input_tokens": 3, "output_tokens": 2}
        assert turn[-1]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("resume_turn", {"action": "cancel"}),
        ("remove_mcp_server", {"name": "s"}),
        ("trust_workspace", {"trusted": False}),
        ("accept_changes", {"digest": "d"}),
    ],
)
async def test_what_would_change_a_running_turn_is_told_to_wait(
    talk: Talk, command: str, fields: dict[str, object]
) -> None:
    async with talk([PARKED], [{"text": "done"}]) as host:
        await host.ready()
        await host.message()
        card = await host.hear("tool_request")
        await host.say(type=command, request_id="1", **fields)
        refused = await host.hear("command_result")
        assert refused["error"]["code"] == "busy"
        await host.say(type="tool_deny", call_id=card["call_id"])
        await host.hear("stream_end")


async def test_the_second_turn_sees_the_first_and_usage_adds_up(talk: Talk) -> None:
    reply = [{"text": "x"}, {"usage": {"input_tokens": 3, "output_tokens": 2}}]
    async with talk(reply, reply) as host:
        await host.ready()
        await host.turn("first", "m1")
        end = (await host.turn("second", "m2"))[-1]
        assert end["usage"] == {"input_tokens": 6, "output_tokens": 4}
        await host.say(type="get_history", request_id="h")
        history = (await host.hear("command_result"))["messages"]
        assert [message.get("text") for message in history] == ["first", "x", "second", "x"]


async def test_a_second_message_during_a_turn_is_busy_and_disturbs_nothing(talk: Talk) -> None:
    async with talk([PARKED], [], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.message(msg_id="m2")
        (busy,) = await host.quiet()
        assert busy["error"]["code"] == "busy"
        assert "msg_id" not in busy
        await host.approve("c1")
        await host.hear("stream_end", msg_id="m1")
        await host.turn(msg_id="m3")


async def test_a_message_may_follow_the_end_of_a_turn_at_once(talk: Talk) -> None:
    async with talk(*[[{"text": "x"}]] * 50) as host:
        await host.ready()
        for n in range(50):
            await host.turn(msg_id=f"m{n}")
        assert host.of("error") == []


async def test_ping_is_answered_while_parked_streaming_and_running(talk: Talk) -> None:
    async with talk([PARKED, {"text": "x"}], [{"stall": True}]) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.quiet()
        await host.deny("c1")
        await host.hear("tool_cancelled")
        await host.quiet()
        await host.say(type="stop")
        await host.hear("stream_end")
    async with talk([SLEEP], flags=FORCE) as host:
        await sleeping(host)
        await host.quiet()
        await host.say(type="stop")
        await host.hear("stream_end")


async def test_stop_while_parked_cancels_the_call_and_the_session_lives(talk: Talk) -> None:
    async with talk([PARKED], [{"text": "alive"}]) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.say(type="stop")
        await host.hear("stream_end", finish_reason="stop")
        assert host.kinds()[-3:] == ["call_settled", "tool_cancelled", "stream_end"]
        assert host.of("call_settled")[0]["outcome"] == "cancelled"
        assert host.of("tool_cancelled")[0]["reason"] == "stopped by the user"
        await host.turn(msg_id="m2")
        assert not (host.workspace / "ran").exists()


async def test_stop_while_a_tool_runs_kills_its_whole_tree_before_it_says_so(talk: Talk) -> None:
    async with talk([SLEEP], [{"text": "alive"}], flags=FORCE) as host:
        pids = await sleeping(host)
        assert not any(dead(pid) for pid in pids)
        await host.say(type="stop")
        await host.hear("tool_cancelled")
        assert all(dead(pid) for pid in pids)
        await host.hear("stream_end", finish_reason="stop")
        assert host.of("tool_result") == []
        await host.turn(msg_id="m2")


async def test_stop_while_text_streams_ends_it_once(talk: Talk) -> None:
    async with talk([{"text": "begin"}, {"stall": True}], [{"text": "alive"}]) as host:
        await host.ready()
        await host.message()
        await host.hear("text_delta")
        await host.say(type="stop")
        await host.hear("stream_end", finish_reason="stop")
        assert await host.quiet() == []
        await host.turn(msg_id="m2")


async def test_idle_stop_is_silent_also_before_the_first_message(talk: Talk) -> None:
    async with talk([], []) as host:
        await host.ready()
        await host.say(type="stop")
        assert await host.quiet() == []
        await host.turn()
        await host.say(type="stop")
        assert await host.quiet() == []


async def test_context_sent_with_a_stop_is_taken_without_complaint(talk: Talk) -> None:
    async with talk([{"text": "x"}, {"stall": True}], [{"text": "y"}]) as host:
        await host.ready()
        await host.message()
        await host.hear("text_delta")
        await host.say(type="init_history", text="the last twenty messages")
        await host.say(type="stop")
        await host.hear("stream_end")
        assert host.of("error") == []
        assert len(host.of("stream_end")) == 1
        await host.turn(msg_id="m2")
        await host.say(type="get_history")
        history = (await host.hear("command_result"))["messages"]
        assert "the last twenty messages" in [message.get("text") for message in history]


async def test_end_of_file_denies_what_waits_and_what_would_ask_later(talk: Talk) -> None:
    again = call("Bash", "c2", command="echo y > ran")
    async with talk([PARKED], [again], [{"text": "done"}]) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        assert await host.finish() == 0
        assert host.kinds()[-1] == "stream_end"
        assert [event["call_id"] for event in host.of("tool_cancelled")] == ["c1", "c2"]
        assert all("closed" in event["reason"] for event in host.of("tool_cancelled"))
        assert host.of("call_settled")[0]["by"] == "host_gone"
        assert host.of("text_delta"), "the turn runs on to its end"
        assert not (host.workspace / "ran").exists()


async def test_end_of_file_lets_an_allowed_turn_finish(talk: Talk) -> None:
    run = [call("Bash", "c1", command="echo x > ran")]
    async with talk(run, [{"text": "done"}], flags=FORCE) as host:
        await host.ready()
        await host.message()
        assert await host.finish() == 0
        assert host.kinds()[-1] == "stream_end"
        assert (host.workspace / "ran").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("state", ["idle", "parked", "running", "streaming"])
async def test_a_signal_ends_everything_in_order(
    talk: Talk, number: signal.Signals, state: str
) -> None:
    replies: dict[str, list[list[object]]] = {
        "idle": [[]],
        "parked": [[PARKED]],
        "running": [[SLEEP]],
        "streaming": [[{"text": "x"}, {"stall": True}]],
    }
    async with talk(*replies[state], flags=FORCE if state == "running" else ()) as host:
        pids: list[int] = []
        match state:
            case "running":
                pids = await sleeping(host)
            case "idle":
                await host.ready()
            case _:
                await host.ready()
                await host.message()
                await host.hear("tool_request" if state == "parked" else "text_delta")
        host.signal(number)
        assert await host.ended() == 128 + number
        assert all(dead(pid) for pid in pids)
        if state != "idle":
            assert host.kinds()[-1] == "stream_end"
        if state in ("parked", "running"):
            assert host.of("tool_cancelled")[0]["reason"] == "the engine was told to exit"
        assert not (host.workspace / "ran").exists()


async def test_a_signal_ends_an_engine_whose_host_does_not_read(talk: Talk) -> None:
    endless = [{"repeat": 100_000, "text": "x" * 100}]
    async with talk(endless) as host:
        await host.ready()
        await host.message()
        await host.hear("text_delta")
        host.signal(signal.SIGTERM)
        with host.patience("its end"):
            host.exit_code = await host.process.wait()
        assert host.exit_code == 143
        host.heard.clear()  # the end of this conversation was never read


async def test_a_provider_that_fails_ends_the_turn_and_not_the_session(talk: Talk) -> None:
    fails = [{"text": "x"}, {"error": {"message": "no more", "retryable": True}}]
    async with talk(fails, [{"text": "alive"}]) as host:
        await host.ready()
        turn = await host.turn()
        assert [event["type"] for event in turn[-2:]] == ["error", "stream_end"]
        assert turn[-2]["error"] == {
            "code": "provider_error", "message": "no more", "retryable": True,
        }  # fmt: skip
        assert "msg_id" not in turn[-2]
        assert turn[-1]["finish_reason"] == "error"
        await host.turn(msg_id="m2")


async def test_calls_before_a_failure_of_the_model_are_not_run(talk: Talk) -> None:
    fails = [call("Bash", "c1", command="echo x > ran"), {"error": {"message": "cut"}}]
    async with talk(fails, flags=FORCE) as host:
        await host.ready()
        await host.turn()
        assert "call_announced" not in host.kinds()
        assert not (host.workspace / "ran").exists()


async def test_a_turn_has_a_limit_of_rounds(talk: Talk) -> None:
    again = [call("LS", path=".")]
    async with talk(again, again, again, flags=("--force", "--max-turns", "2")) as host:
        await host.ready()
        assert (await host.turn())[-1]["finish_reason"] == "max_turns"
        assert len(host.of("tool_result")) == 2


async def test_a_cut_reply_says_length(talk: Talk) -> None:
    async with talk([{"text": "x"}, {"finish": "length"}]) as host:
        await host.ready()
        assert (await host.turn())[-1]["finish_reason"] == "length"


async def test_every_call_in_the_history_has_one_result_after_a_stop(talk: Talk) -> None:
    two = [PARKED, call("Bash", "c2", command="echo y")]
    async with talk(two, [{"text": "x"}]) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="c2")
        await host.say(type="stop")
        await host.hear("stream_end")
        await host.turn(msg_id="m2")
        await host.say(type="get_history")
        history = (await host.hear("command_result"))["messages"]
        calls = [each["call_id"] for m in history for each in m.get("calls", [])]
        assert calls == [m["call_id"] for m in history if m["role"] == "tool"] == ["c1", "c2"]


async def test_a_call_in_the_history_has_the_arguments_that_were_announced(talk: Talk) -> None:
    content = "x" * 200_000
    big = call("Write", "big", file_path="b.txt", content=content, more=[content])
    long = call("Write", "long", file_path="c.txt", content=content, more=content)
    raw = {"call": {"name": "Bash", "id": "raw", "raw": "no JSON"}}
    async with talk([PARKED], [raw], [long], [big], []) as host:
        await host.ready()
        await host.message()
        card = await host.hear("tool_request")
        await host.deny("c1")
        while (event := await host.next())["type"] != "stream_end":
            if event["type"] == "tool_request":
                await host.deny(event["call_id"])
        await host.say(type="get_history")
        history = (await host.hear("command_result"))["messages"]
    args = {each["call_id"]: each.get("args") for m in history for each in m.get("calls", [])}
    cut = "x" * 1024 + "…"
    assert args["c1"] == card["tool"]["args"]
    assert args["raw"] is None
    assert args["long"] == {"file_path": "c.txt", "content": cut, "more": cut}
    assert args["big"] == {"file_path": "b.txt", "content": cut, "more": [content]}


async def test_the_history_fits_into_lines_whatever_the_arguments_are(talk: Talk) -> None:
    many = [call("Nope", f"c{n}", more=["x" * 300_000]) for n in range(20)]
    async with talk(many, many[:1], [{"text": "done"}]) as host:
        await host.ready()
        await host.turn()
        await host.say(type="get_history")
        result = await host.hear("command_result")
        assert result["ok"] is True
        calls = [each for m in result["messages"] for each in m.get("calls", [])]
        assert len(calls) == 21
        assert not [each for each in calls if "args" in each]


async def test_history_pages_backwards(talk: Talk) -> None:
    async with talk(*[[{"text": f"reply {n}"}] for n in range(3)]) as host:
        await host.ready()
        for n in range(3):
            await host.turn(f"message {n}", f"m{n}")
        await host.say(type="get_history", limit=4)
        page = await host.hear("command_result")
        assert [m["seq"] for m in page["messages"]] == [2, 3, 4, 5]
        assert page["more"] is True
        await host.say(type="get_history", before=2)
        page = await host.hear("command_result")
        assert [m["seq"] for m in page["messages"]] == [0, 1]
        assert page["more"] is False


@pytest.mark.clock
async def test_a_tool_that_is_silent_shows_that_it_lives(talk: Talk) -> None:
    run = [call("Bash", "c1", command="sleep 10.5")]
    async with talk(run, [], flags=FORCE) as host:
        await host.ready()
        await host.turn()
        assert len(host.of("tool_running")) == 2


@pytest.mark.parametrize("way", ["stop", "signal"])
@pytest.mark.parametrize("flood", ["", "seq 60000;"], ids=["little", "much"])
async def test_of_a_command_that_is_broken_off_the_model_hears_what_it_wrote(
    talk: Talk, way: str, flood: str
) -> None:
    """In the form of one that is over its time; what it did not end with a newline as well."""
    command = f"echo first; {flood} printf last; sleep 1000"
    flags = ("--force", "--session-id", "s1")
    async with talk([call("Bash", "c1", command=command)], flags=flags) as host:
        await host.ready()
        await host.message()
        while not (await host.hear("tool_chunk"))["chunk"].endswith("last"):
            pass
        if way == "stop":
            await host.say(type="stop")
        else:
            host.signal(signal.SIGTERM)
        await host.hear("stream_end")
        reason = host.of("tool_cancelled")[0]["reason"]
        await host.ended() if way == "signal" else await host.finish()
    async with talk(flags=("--resume", "s1")) as host:
        await host.ready()
        await host.say(type="get_history")
        told = (await host.hear("command_result"))["messages"][-1]["output"]
    end = f"last\n[{reason} while it ran; what it had done by then stays done]"
    assert told.startswith("first\n")
    assert told.endswith(end)
    assert ("…" in told) is bool(flood), "its middle is left out"
    assert len(told) <= OUTPUT_BYTES_MAX


async def test_what_was_stopped_while_it_ran_is_not_called_denied(talk: Talk) -> None:
    async with talk([call("Bash", "c1", command="sleep 1000")], flags=FORCE) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_running")
        await host.say(type="stop")
        await host.hear("stream_end")
        await host.say(type="get_history")
        told = (await host.hear("command_result"))["messages"][-1]["output"]
    assert told == "[stopped by the user while it ran; what it had done by then stays done]"


SILENT: dict[str, tuple[list[list[object]], int]] = {
    "nothing": ([[]], 1),
    "blanks": ([[{"text": " \n"}]], 1),
    "thinking": ([[{"thinking": "hm"}]], 1),
    "cut off in its thinking": ([[{"thinking": "hm"}, {"finish": "length"}]], 1),
    "a call, then nothing": ([[call("LS")], []], 0),
    "text, a call, then nothing": ([[{"text": "so"}, call("LS")], []], 0),
    "an error": ([[{"error": {"message": "no"}}]], 0),
}


@pytest.mark.parametrize("said", SILENT)
async def test_a_turn_without_a_word_says_so_once(talk: Talk, said: str) -> None:
    replies, times = SILENT[said]
    async with talk(*replies, [{"text": "a word"}], flags=FORCE) as host:
        await host.ready()
        await host.turn()
        if times:
            assert host.heard[-2]["message"].startswith("The model answered nothing. ")
            assert host.heard[-2]["msg_id"] == "m1"
        await host.turn(msg_id="m2")
        assert len(host.of("info")) == times
