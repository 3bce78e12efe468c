"""A model that asks for too much: too many calls at once, or the same denied call for ever."""

from collections.abc import Callable
from pathlib import Path

import pytest
from talking import Conversation, call

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

CALLS_MAX = 1024
KIB_A_CALL = 64  # of an unknown call, all in all; with a list of its own each had 40 KiB more


def kib_of(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0])


async def test_calls_beyond_the_limit_are_announced_and_not_run(talk: Talk) -> None:
    calls: list[object] = [call("LS", f"c{n}") for n in range(CALLS_MAX + 3)]
    async with talk(calls, [{"echo": True}], flags=("--mode", "read_only")) as host:
        await host.ready()
        turn = await host.turn()
    results = {event["call_id"]: event for event in turn if event["type"] == "tool_result"}
    assert [r["call_id"] for r in results.values() if r["status"] == "error"] == [
        f"c{n}" for n in range(CALLS_MAX, CALLS_MAX + 3)
    ]
    announced = [event["call_id"] for event in turn if event["type"] == "call_announced"]
    assert sorted(announced) == sorted(results)
    assert "1024 calls" in results[f"c{CALLS_MAX}"]["output"]


async def test_memory_grows_with_the_calls_and_not_with_their_square(talk: Talk) -> None:
    grown: list[int] = []
    for count in (1000, 5000):
        calls: list[object] = [call("Nothing", f"c{n}") for n in range(count)]
        async with talk([{"text": "first"}], calls, [{"text": "ok"}]) as host:
            await host.ready()
            await host.turn()
            before = kib_of(host.process.pid)
            await host.turn(msg_id="m2")
            grown.append(kib_of(host.process.pid) - before)
    assert grown[1] < 5000 * KIB_A_CALL // 4, grown


@pytest.mark.parametrize("flags", [("--prompts", "none"), ()])
async def test_a_call_that_is_denied_again_and_again_ends_the_turn(
    talk: Talk, flags: tuple[str, ...]
) -> None:
    same: list[object] = [call("Bash", command="echo one")]
    other: list[object] = [call("Bash", command="echo two")]
    replies = [same, other, *[same] * 14, [{"text": "never said"}]]
    async with talk(*replies, flags=flags) as host:
        await host.ready()
        await host.message()
        denied = 0
        while (event := await host.next())["type"] != "stream_end":
            if event["type"] == "tool_request":
                await host.deny(event["call_id"])
            denied += event["type"] == "tool_cancelled"
        infos = [event["message"] for event in host.of("info")]
        assert (event["finish_reason"], denied) == ("stop", 11)
        assert infos == ["the turn was ended: the model asked 10 times for a call that was denied"]
        await host.say(type="get_history", request_id="h")
        history = await host.hear("command_result")
        told = [m["output"] for m in history["messages"] if m["role"] == "tool"]
        assert [text.partition("(denied ")[2][:1] for text in told] == [
            *("", "", ""),  # the first, another call, the second
            *"3456789",
            "1",
        ]
        await host.message(msg_id="m2")  # a new turn begins at nothing
        await host.hear("tool_request" if not flags else "tool_cancelled")
        await host.say(type="stop")
        await host.hear("stream_end")


async def test_different_calls_may_be_denied_as_often_as_they_like(talk: Talk) -> None:
    replies = [[call("Bash", command=f"echo {n}")] for n in range(15)]
    async with talk(*replies, [{"text": "done"}], flags=("--prompts", "none")) as host:
        await host.ready()
        turn = await host.turn()
    assert sum(event["type"] == "tool_cancelled" for event in turn) == 15
    assert [event["text"] for event in turn if event["type"] == "text_delta"] == ["done"]
