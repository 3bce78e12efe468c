"""Signals that a tool may send to its engine: none ends it without a word, none makes it deaf."""

import signal
import sys
from collections.abc import Callable
from typing import Final

import pytest
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


async def test_a_stopped_engine_goes_on_when_its_call_is_over_its_time(talk: Talk) -> None:
    supervisor = "$(cut -d' ' -f4 /proc/$PPID/stat)"
    engine = f"$(cut -d' ' -f4 /proc/{supervisor}/stat)"
    again = f"e={engine}; while :; do kill -STOP $e; echo x >>beat; sleep 0.05; done"
    async with talk(bash(again, timeout_s=1), [{"text": "on"}], flags=("--force",)) as host:
        await host.ready()
        await host.message()
        result = await host.hear("tool_result")
        assert result["metadata"]["timed_out"] is True
        assert "timed out after 1 s" in result["output"]
        beats = (host.workspace / "beat").read_bytes()
        await host.hear("stream_end")
        assert (host.workspace / "beat").read_bytes() == beats


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
