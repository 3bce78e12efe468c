"""Leaving: what an engine that was told to exit still does, and what it begins no more."""

import signal
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from talking import Conversation

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio


async def test_an_engine_that_leaves_starts_no_turn(talk: Talk) -> None:
    async with talk([{"stall": True}]) as host:
        await host.ready()
        await host.say_raw(b"x\n" * 5000)  # more answers than a pipe holds; nobody reads them yet
        await at_rest(host)
        host.signal(signal.SIGTERM)
        await at_rest(host)
        await host.message()
        host.killed = True  # on a busy machine it is read too late: the last line may be cut off
        assert await host.ended() == 143
        assert len(host.of("stream_start")) == len(host.of("stream_end"))


async def at_rest(host: Conversation) -> None:
    """Wait until an engine waits: twice looked at, it sleeps and has not been awake between."""
    before = None
    with host.patience("the engine at rest"):
        while (now := _waits(host.process.pid)) != before or not now[0].startswith("S"):
            before = now
            await anyio.sleep(0.05)


def _waits(pid: int) -> tuple[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    told = dict(line.split(":\t", 1) for line in lines)
    return told["State"], told["voluntary_ctxt_switches"]
