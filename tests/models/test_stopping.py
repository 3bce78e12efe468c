"""Cancelling in the middle of a reply closes the connection at once."""

import signal

import pytest
import waiting
from models.conftest import Engine
from models.dialects import Dialect, Reply, say
from models.serving import Provider, Streamed, Whole

pytestmark = pytest.mark.anyio


async def test_stop_in_the_middle_of_a_word_closes_the_connection(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    events = dialect.events(Reply(text=("half ", "way")))
    at = next(at for at, event in enumerate(events) if b"way" in event)
    half = events[at][: len(events[at]) // 2]
    provider.will_say(Streamed([*events[:at], half], stalls=True))
    provider.will_say(say(dialect, Reply(text=("again",))))
    async with engine(dialect) as host:
        await host.ready()
        await host.message()
        await host.hear("text_delta", text="half ")
        await provider.stalled.wait()
        await host.say(type="stop")
        end = await host.hear("stream_end")
        assert end["finish_reason"] == "stop"
        with waiting.patience():
            await provider.closed.wait()
        assert host.of("error") == []
        await host.turn(msg_id="m2")
    assert ("assistant", "half ") in dialect.texts(provider.asked[1])


async def test_stop_before_the_first_byte_closes_the_connection(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    provider.will_say(Streamed([], stalls=True))
    async with engine(dialect) as host:
        await host.ready()
        await host.message()
        await provider.stalled.wait()
        await host.say(type="stop")
        await host.hear("stream_end", finish_reason="stop")
        with waiting.patience():
            await provider.closed.wait()


async def test_a_signal_in_the_middle_of_a_reply_ends_engine_and_connection(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    provider.will_say(Streamed(dialect.events(Reply(text=("x",)))[:3], stalls=True))
    async with engine(dialect) as host:
        await host.ready()
        await host.message()
        await provider.stalled.wait()
        host.signal(signal.SIGTERM)
        assert await host.ended() == 128 + signal.SIGTERM
        with waiting.patience():
            await provider.closed.wait()
    assert host.kinds()[-1] == "stream_end"


async def test_stop_while_waiting_to_try_again_ends_the_turn(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    provider.will_say(Whole(503, {}, {"retry-after": "59"}))
    async with engine(dialect) as host:
        await host.ready()
        await host.message()
        await host.hear("info", msg_id="m1")
        await host.say(type="stop")
        await host.hear("stream_end", finish_reason="stop")
    assert len(provider.asked) == 1
