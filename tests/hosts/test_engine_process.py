"""The library against engines that misbehave: nothing hangs, everything is said."""

from collections.abc import Callable

import anyio
import pytest
import waiting
from wcore_host import (
    CommandFailedError,
    CommandTooLongError,
    Engine,
    EngineExitedError,
    EngineStartError,
    Event,
    GarbledLine,
    Info,
    StreamEnd,
    StreamStart,
    TextDelta,
    ToolRequest,
    TurnRefusedError,
    UnknownEvent,
    connect,
    process,
)

Fake = Callable[[str], list[str]]


async def turn(command: list[str]) -> list[Event]:
    with waiting.patience():
        async with connect(command) as engine:
            return [event async for event in engine.run_turn("go")]


async def listen(engine: Engine, heard: list[Event]) -> None:
    async for event in engine.run_turn("go"):
        heard.append(event)
        if isinstance(event, ToolRequest):
            await engine.approve(event)


async def test_strange_lines_and_unknown_events_do_not_end_the_conversation(fake: Fake) -> None:
    heard = await turn(fake("strange"))
    garbled = [event for event in heard if isinstance(event, GarbledLine)]
    assert len(garbled) == 7, garbled
    assert [event.type for event in heard if isinstance(event, UnknownEvent)] == [
        "invented_tomorrow"
    ]
    said = next(event for event in heard if isinstance(event, TextDelta))
    assert said.text == "still here"
    assert said.raw["colour"] == "blue", "what this library does not know is still there"
    assert isinstance(heard[-1], StreamEnd)


async def test_a_host_that_is_cancelled_waits_for_no_task_that_was_cancelled_with_it(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wcore_host.engine.FLUSH_S", 2 * waiting.PATIENCE_S)
    with waiting.patience(), anyio.CancelScope() as host:
        async with connect(fake("hasty")) as engine:
            await engine.message("go")
            host.cancel()  # before the message is written
            await anyio.sleep_forever()
    assert host.cancelled_caught


async def test_a_crash_in_a_turn_is_raised_with_exit_code_and_last_words(fake: Fake) -> None:
    heard: list[Event] = []
    with waiting.patience():
        async with connect(fake("crash")) as engine:
            with pytest.raises(EngineExitedError) as crashed:
                await listen(engine, heard)
            assert [type(event) for event in heard] == [StreamStart, TextDelta]
            assert crashed.value.exit_code == 7
            assert "Traceback: the reason" in str(crashed.value)
            with pytest.raises(EngineExitedError):
                await engine.ping()


async def test_an_engine_killed_while_a_card_is_answered_ends_the_turn(fake: Fake) -> None:
    with waiting.patience():
        async with connect(fake("crash_at_card"), attended=True) as engine:
            with pytest.raises(EngineExitedError, match="signal 9"):
                await listen(engine, [])


@pytest.mark.parametrize(
    ("scenario", "problem"),
    [("die_early", "code 3.*no such flag"), ("refuse_start", "no key")],
)
async def test_an_engine_that_does_not_start_says_why(
    fake: Fake, scenario: str, problem: str
) -> None:
    with waiting.patience(), pytest.raises(EngineStartError, match=f"(?s){problem}"):
        async with connect(fake(scenario)):
            raise AssertionError("it must not start")


async def test_an_engine_that_is_never_ready_is_given_up(fake: Fake) -> None:
    with waiting.patience(), pytest.raises(EngineStartError, match=r"not ready within 0\.2 s"):
        async with connect(fake("never_ready"), ready_timeout_s=0.2):
            raise AssertionError("it must not start")


async def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(EngineStartError, match="/nowhere/engine"):
        async with connect(["/nowhere/engine"]):
            raise AssertionError("it must not start")


async def test_a_flooding_engine_and_a_host_that_only_writes_do_not_deadlock(fake: Fake) -> None:
    with waiting.patience():
        async with connect(fake("flood")) as engine:
            for _ in range(40):  # far more than the outbox and the pipe hold
                await engine.message("y" * 1024 * 1024)
            await engine.list_pending()
            async for event in engine:
                assert isinstance(event, Info)
                break


async def test_a_host_that_does_not_read_bounds_what_is_kept(fake: Fake) -> None:
    with waiting.patience():
        async with connect(fake("flood")) as engine:
            inbox = engine._inbox  # pyright: ignore[reportPrivateUsage]
            await waiting.until(lambda: inbox._bytes >= 16 * 1024 * 1024, "a full inbox")  # pyright: ignore[reportPrivateUsage]
            with anyio.move_on_after(0.5):
                await anyio.Event().wait()
            assert inbox._bytes < 19 * 1024 * 1024  # pyright: ignore[reportPrivateUsage]


async def test_an_overlong_line_is_reported_and_skipped(fake: Fake) -> None:
    with waiting.patience():
        async with connect(fake("overlong")) as engine:
            first, second = await anext(engine), await anext(engine)
            assert isinstance(first, GarbledLine)
            assert isinstance(second, Info)
            assert second.message == "after"


async def test_an_overlong_command_is_refused_and_the_engine_goes_on(fake: Fake) -> None:
    with waiting.patience():
        async with connect(fake("strange")) as engine:
            with pytest.raises(CommandTooLongError):
                await engine.message("x" * 8 * 1024 * 1024)
            heard = [event async for event in engine.run_turn("go")]
            assert isinstance(heard[-1], StreamEnd)


async def test_a_log_that_nobody_asked_for_is_drained_and_bounded(fake: Fake) -> None:
    with waiting.patience():
        async with connect(fake("talkative_log")) as engine:
            assert 0 < len(engine.stderr_tail) <= process.STDERR_LINES_KEPT


async def test_an_engine_that_will_not_end_is_killed(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "EOF_GRACE_S", 0.1)
    monkeypatch.setattr(process, "TERM_GRACE_S", 0.1)
    with waiting.patience():
        async with connect(fake("immortal")) as engine:
            pass
        assert engine.exit_code == -9


async def test_introspection_is_refused_where_the_engine_has_none(fake: Fake) -> None:
    with waiting.patience():
        async with connect(fake("baseline")) as engine:
            with pytest.raises(CommandFailedError, match="not_supported"):
                await engine.list_grants()


async def test_an_error_in_the_body_comes_out_as_it_is(fake: Fake) -> None:
    with waiting.patience(), pytest.raises(KeyError, match="mine"):
        async with connect(fake("baseline")):
            raise KeyError("mine")


async def test_an_error_about_a_server_refuses_no_turn_one_about_none_does_while_another_starts(
    fake: Fake,
) -> None:
    with waiting.patience():
        async with connect(fake("server_fails")) as engine:
            for name in ("one", "two", "slow", "one"):
                await engine.send({"type": "add_mcp_server", "name": name, "transport": "stdio"})
            heard = [event async for event in engine.run_turn("go")]
            assert isinstance(heard[-1], StreamEnd)
            with pytest.raises(TurnRefusedError, match="not again"):
                [event async for event in engine.run_turn("go")]
