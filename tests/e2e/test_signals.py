"""Signals that a tool may send to its engine: none ends it without a word, none makes it deaf."""

import signal
import sys
from collections.abc import Callable
from typing import Final

import pytest
from supervising import SUPERVISOR
from talking import Conversation, call

from wcore.engine.ports import ENDING

Talk = Callable[..., Conversation]
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="the numbers are those of Linux"),
]

STOPPING: Final = ("TSTP", "TTIN", "TTOU")
ENDS: Final = ("TERM INT HUP QUIT USR1 USR2 ALRM VTALRM PROF XCPU IO PWR STKFLT").split()


def bash(command: str, **more: object) -> list[object]:
    return [call("Bash", "c1", command=command, **more)]


def test_what_ends_a_program_by_default_ends_the_engine_in_order() -> None:
    named = {signal.Signals[f"SIG{name}"] for name in ENDS}
    assert set(ENDING) == {*named, *range(signal.SIGRTMIN, signal.SIGRTMAX + 1)}


@pytest.mark.parametrize("name", ["QUIT", "USR1", "ALRM", "PROF", "RTMIN", "RTMAX"])
async def test_a_signal_ends_the_engine_in_order(talk: Talk, name: str) -> None:
    number: signal.Signals = getattr(signal, f"SIG{name}")
    async with talk(bash("echo up; sleep 1000"), flags=("--force",)) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_chunk")
        host.signal(number)
        await host.hear("tool_cancelled", call_id="c1")
        await host.hear("stream_end")
        assert await host.ended() == 128 + number


async def test_signals_that_stop_a_program_do_not_stop_the_engine(talk: Talk) -> None:
    async with talk(bash("echo up; sleep 1000"), [{"text": "on"}], flags=("--force",)) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_chunk")
        for name in STOPPING:
            host.signal(signal.Signals[f"SIG{name}"])
        await host.say(type="ping")
        await host.hear("pong")
        await host.say(type="stop")
        await host.hear("stream_end")


ENGINE: Final = f"e=$(cut -d' ' -f4 /proc/{SUPERVISOR}/stat); "


async def test_a_stopped_engine_goes_on_when_its_call_is_over_its_time(talk: Talk) -> None:
    again = f"{ENGINE}while :; do kill -STOP $e; echo x >>beat; sleep 0.05; done"
    async with talk(bash(again, timeout_s=1), [{"text": "on"}], flags=("--force",)) as host:
        await host.ready()
        await host.message()
        result = await host.hear("tool_result")
        assert result["metadata"]["timed_out"] is True
        assert "timed out after 1 s" in result["output"]
        beats = (host.workspace / "beat").read_bytes()
        await host.hear("stream_end")
        assert (host.workspace / "beat").read_bytes() == beats


@pytest.mark.parametrize(
    ("then", "output", "code"),
    [
        ("echo up; exit 3", "up\n[exit code 3]", 3),
        (
            "sleep 1000 >/dev/null 2>&1 & echo up",
            "up\n[1 process that was still running when the command ended: ended too]",
            0,
        ),
    ],
)
async def test_how_a_call_ended_in_time_is_told_by_an_engine_that_was_stopped(
    talk: Talk, then: str, output: str, code: int
) -> None:
    """It is woken when the time is over, and until then knows nothing; three seconds are plenty."""
    stop = f"{ENGINE}kill -STOP $e; {then}"
    async with talk(bash(stop, timeout_s=3), [{"text": "on"}], flags=("--force",)) as host:
        await host.ready()
        await host.message()
        result = await host.hear("tool_result")
        assert result["output"] == output
        assert "timed_out" not in result["metadata"]
        assert result["metadata"]["exit_code"] == code
        await host.hear("stream_end")


async def test_a_stopped_engine_outlives_no_call(talk: Talk) -> None:
    """Nobody need wake it: the call ends when its time is over."""
    command = "echo up; while :; do echo x >>beat; sleep 0.05; done"
    async with talk(bash(command, timeout_s=1), [{"text": "on"}], flags=("--force",)) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_chunk")
        host.signal(signal.SIGSTOP)
        assert (await host.hear("tool_result"))["metadata"]["timed_out"] is True
        await host.hear("stream_end")
