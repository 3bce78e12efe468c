"""Parked calls: answered once, never after the deadline, whatever comes first."""

import sys
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import anyio
import anyio.lowlevel
import pytest
import trio.testing
import waiting
from unit.approval.parking import Clock, Parking, always

from wcore.approval import manager as room
from wcore.approval.manager import (
    DEFAULT_APPROVAL_TTL,
    DEFAULT_REAP_INTERVAL,
    ApprovalManager,
    ApprovalResult,
    Approved,
    Denied,
    Pending,
    move_of,
)
from wcore.approval.table import Ledger, Move, State, UnknownCallError
from wcore.policy import shell
from wcore.policy.grants import Grant, GrantBook
from wcore.vocabulary import AlwaysPrefix, By, Category, Mode

TIMED_OUT: Final = Denied("approval timed out (no host response)", By.TIMEOUT)
NO: Final = Denied("no")

HOURS_S: Final = 10_000.0  # of virtual time: longer than anything takes, and free

Value = TypeVar("Value")


async def heard(entry: Pending) -> ApprovalResult:
    """Return the result of a call; a lost answer fails the test and does not hang it."""
    with waiting.patience("an answer"):
        return await entry


async def heard_later(entry: Pending) -> ApprovalResult:
    """Do the same in virtual time."""
    with anyio.fail_after(HOURS_S):
        return await entry


def in_virtual_time(main: Callable[[], Awaitable[Value]]) -> Value:
    """Run `main` on a clock that jumps to the next deadline whenever everybody waits."""
    clock = trio.testing.MockClock(autojump_threshold=0)
    return anyio.run(main, backend="trio", backend_options={"clock": clock})


def real() -> ApprovalManager:
    """A manager with the default times, on the clock of the loop, which may be virtual."""
    ledger = Ledger()
    for number in range(9):
        ledger.propose(f"c{number}")
    return ApprovalManager(ledger, GrantBook(), clock=anyio.current_time)


def ask(manager: ApprovalManager, call_id: str = "c1") -> Pending:
    return manager.request_approval(call_id, Category.EXEC, "Bash")


# --- the deadline -----------------------------------------------------------------------------


def test_the_default_times_are_five_minutes_and_thirty_seconds() -> None:
    assert (DEFAULT_APPROVAL_TTL, DEFAULT_REAP_INTERVAL) == (300.0, 30.0)
    assert Parking().park().deadline == 1300.0


async def test_an_answer_just_before_the_deadline_counts() -> None:
    parking = Parking()
    entry = parking.park()
    parking.clock.now += 299.9
    assert parking.manager.try_resolve("c1", Approved("yes")) is True
    assert await heard(entry) == Approved("yes")
    assert parking.ledger.state("c1") is State.CLEARED


@pytest.mark.parametrize("late_s", [300.0, 300.1, 86_400.0])
async def test_an_answer_at_the_deadline_or_later_does_not_count_even_unswept(
    late_s: float,
) -> None:
    parking = Parking()
    entry = parking.park()
    parking.clock.now += late_s
    assert parking.manager.try_resolve("c1", Approved()) is False
    assert await heard(entry) == TIMED_OUT, "the late answer found it expired, and expired it"
    assert parking.ledger.state("c1") is None
    assert len(parking.manager) == 0


async def test_a_late_approval_grants_nothing() -> None:
    parking = Parking()
    entry = parking.park()
    parking.clock.now += 300
    with pytest.raises(UnknownCallError):
        parking.manager.approve("c1", (always(),))
    assert await heard(entry) == TIMED_OUT
    assert len(parking.grants) == 0


async def test_a_late_denial_is_a_timeout() -> None:
    parking = Parking()
    entry = parking.park()
    parking.clock.now += 300
    assert parking.manager.try_resolve("c1", NO) is False
    assert await heard(entry) == TIMED_OUT


async def test_looking_at_an_expired_call_expires_it() -> None:
    parking = Parking()
    entry = parking.park()
    parking.clock.now += 299.9
    assert parking.manager.pending("c1") is entry
    parking.clock.now += 0.1
    assert parking.manager.pending("c1") is None
    assert await heard(entry) == TIMED_OUT


async def test_a_sweep_denies_what_has_expired_and_nothing_else() -> None:
    parking = Parking()
    early = parking.park("early")
    parking.clock.now += 100
    late = parking.park("late")
    assert parking.manager.reap_now() == 0
    parking.clock.now += 200
    assert parking.manager.reap_now() == 1
    assert await heard(early) == TIMED_OUT
    assert late.result is None
    assert parking.manager.reap_now() == 0
    assert parking.manager.try_resolve("late", Approved()) is True


def test_the_time_left_is_whole_seconds_and_never_negative() -> None:
    parking = Parking()
    entry = parking.park()
    seen: list[int] = []
    for passed in (0, 100, 199, 1, 5):
        parking.clock.now += passed
        seen.append(parking.manager.expires_in_s(entry))
    assert seen == [300, 200, 1, 0, 0]
    assert all(type(left) is int for left in seen)


# --- answers ----------------------------------------------------------------------------------


async def test_an_answer_that_comes_before_anybody_waits_is_not_lost() -> None:
    parking = Parking()
    entry = parking.park()
    parking.manager.approve("c1", answer="blue")
    assert await heard(entry) == Approved("blue")


@pytest.mark.parametrize("first", [Approved(), NO])
@pytest.mark.parametrize("second", [Approved("other"), Denied("other")])
async def test_of_two_answers_the_first_counts_and_the_second_changes_nothing(
    first: Approved | Denied, second: Approved | Denied
) -> None:
    parking = Parking()
    entry = parking.park()
    assert parking.manager.try_resolve("c1", first) is True
    state = parking.ledger.state("c1")
    assert parking.manager.try_resolve("c1", second) is False
    assert parking.ledger.state("c1") is state
    assert await heard(entry) == first


@pytest.mark.parametrize("call_id", ["never", "", "C1", "c1 ", "rt-0"])
def test_an_answer_to_an_unknown_call_is_false_and_touches_nobody(call_id: str) -> None:
    parking = Parking()
    entry = parking.park("c1")
    assert parking.manager.try_resolve(call_id, Approved()) is False
    with pytest.raises(UnknownCallError):
        parking.manager.resolve(call_id, Approved())
    with pytest.raises(UnknownCallError):
        parking.manager.approve(call_id, (always(),))
    assert entry.result is None
    assert len(parking.grants) == 0


def test_a_second_approval_grants_nothing() -> None:
    parking = Parking()
    parking.park()
    parking.manager.approve("c1")
    with pytest.raises(UnknownCallError):
        parking.manager.approve("c1", (always(),))
    assert len(parking.grants) == 0


def test_an_answer_for_one_call_leaves_the_others_parked() -> None:
    parking = Parking()
    entries = [parking.park(f"c{number}") for number in range(3)]
    parking.manager.approve("c1")
    assert [entry.result for entry in entries] == [None, Approved(), None]


async def test_stop_and_the_like_deny_everything_oldest_first() -> None:
    parking = Parking()
    entries = [parking.park(f"c{number}") for number in range(3)]
    order: list[str] = []

    async def wait(entry: Pending) -> None:
        assert await heard(entry) == Denied("stopped", By.STOP)
        order.append(entry.call_id)

    async with anyio.create_task_group() as tasks:
        for entry in entries:
            tasks.start_soon(wait, entry)
        await anyio.lowlevel.checkpoint()
        assert parking.manager.resolve_all("stopped", By.STOP) == 3
    assert order == ["c0", "c1", "c2"]
    assert parking.manager.resolve_all("stopped", By.STOP) == 0
    assert all(parking.ledger.state(entry.call_id) is None for entry in entries)


def test_a_call_is_registered_before_the_request_returns() -> None:
    parking = Parking()
    entry = parking.park()
    assert parking.manager.pending("c1") is entry
    assert parking.ledger.state("c1") is State.WAITING
    assert len(parking.manager) == 1


def test_only_a_proposed_call_can_be_parked() -> None:
    parking = Parking()
    parking.park("c1")
    for call_id in ("c1", "never"):
        with pytest.raises(UnknownCallError):
            parking.manager.request_approval(call_id, Category.EXEC, "Bash")
    assert len(parking.manager) == 1


@pytest.mark.parametrize(
    ("result", "move"),
    [
        (Approved(), Move.APPROVE),
        (Denied("no"), Move.DENY),
        (Denied("rule", By.POLICY), Move.DENY),
        (TIMED_OUT, Move.EXPIRE),
        (Denied("gone", By.HOST_GONE), Move.CANCEL),
        (Denied("stop", By.STOP), Move.CANCEL),
        (Denied("signal", By.SIGNAL), Move.CANCEL),
    ],
)
def test_every_way_to_end_a_question_is_one_move(result: Approved | Denied, move: Move) -> None:
    assert move_of(result) is move


# --- tokens -----------------------------------------------------------------------------------


def test_tokens_are_all_different_and_unrelated_to_call_ids() -> None:
    parking = Parking()
    tokens = {parking.park(f"c{number}", suspend=True).resume_token for number in range(50)}
    assert len(tokens) == 50
    for token in tokens:
        assert token
        assert not any(
            f"c{number}" == token or token.endswith(f"-c{number}") for number in range(50)
        )
        assert len(token) >= 32, "128 bits"


def test_a_token_stands_for_its_call_until_the_call_is_settled() -> None:
    parking = Parking()
    one = parking.park("c1", suspend=True).resume_token
    two = parking.park("c2", suspend=True).resume_token
    assert one
    assert two
    assert parking.manager.call_of_token(one) == "c1"
    parking.manager.approve("c1")
    assert parking.manager.call_of_token(one) is None
    assert parking.manager.call_of_token(two) == "c2"


@pytest.mark.parametrize("ending", ["deny", "expire", "stop", "look"])
def test_a_token_dies_with_every_ending(ending: str) -> None:
    parking = Parking()
    token = parking.park(suspend=True).resume_token or ""
    match ending:
        case "deny":
            parking.manager.resolve("c1", NO)
        case "expire":
            parking.clock.now += 300
            parking.manager.reap_now()
        case "look":
            parking.clock.now += 300
            parking.manager.pending("c1")
        case _:
            parking.manager.resolve_all("stop", By.STOP)
    assert parking.manager.call_of_token(token) is None


def test_call_ids_and_parts_of_tokens_are_no_tokens() -> None:
    parking = Parking()
    token = parking.park(suspend=True).resume_token or ""
    for text in ("c1", "", token[:-1], token[3:], token + "0", token.upper()):
        assert parking.manager.call_of_token(text) is None


def test_a_call_that_does_not_suspend_has_no_token() -> None:
    assert Parking().park().resume_token is None


# --- grants and the mode ----------------------------------------------------------------------


def test_an_approval_with_a_scope_grants_the_name_of_that_tool_only() -> None:
    parking = Parking()
    parking.park()
    assert not parking.manager.is_tool_name_auto_approved("Bash")
    parking.manager.approve("c1", (always(),))
    assert parking.manager.is_tool_name_auto_approved("Bash")
    assert not parking.manager.is_tool_name_auto_approved("Spawn"), "another exec tool"


def test_prefix_grants_cover_commands_of_their_own_tool() -> None:
    parking = Parking()
    parking.park()
    prefix = shell.parse_grant("cargo ")
    assert isinstance(prefix, shell.PrefixGrant)
    scope = AlwaysPrefix("cargo")
    grant = Grant("g1", "Bash", scope, "2026-01-01T00:00:00Z", "c1", prefix=prefix)
    parking.manager.approve("c1", (grant,))
    manager = parking.manager
    assert manager.is_auto_approved_cmd("Bash", shell.analyse("cargo test --lib"))
    assert not manager.is_auto_approved_cmd("Bash", shell.analyse("cargofoo x"))
    assert not manager.is_auto_approved_cmd("Bash", shell.analyse("cargo b; curl x"))
    assert not manager.is_auto_approved_cmd("mcp__a__b", shell.analyse("cargo test"))
    assert not manager.is_tool_name_auto_approved("Bash")


def test_without_grants_no_command_is_covered_not_even_an_empty_one() -> None:
    manager = Parking().manager
    for text in ("", " ; ", "ls"):
        assert not manager.is_auto_approved_cmd("Bash", shell.analyse(text))


def test_a_change_of_mode_answers_nothing_that_is_parked() -> None:
    parking = Parking()
    entry = parking.park()
    assert parking.manager.mode is Mode.DEFAULT
    parking.manager.set_mode(Mode.FORCE)
    assert parking.manager.mode is Mode.FORCE
    assert entry.result is None
    assert parking.manager.reap_now() == 0


# --- the reaper, in virtual time ------------------------------------------------------------------


def test_five_minutes_of_silence_are_a_no_at_exactly_five_minutes() -> None:
    async def main() -> float:
        manager = real()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run_reaper)
            entry = ask(manager)
            start = anyio.current_time()
            assert await heard_later(entry) == TIMED_OUT
            tasks.cancel_scope.cancel()
            return anyio.current_time() - start
        raise AssertionError

    assert in_virtual_time(main) == 300.0


@pytest.mark.parametrize(("after_s", "counts"), [(299.9, True), (300.0, False), (300.1, False)])
def test_the_answer_decides_by_the_clock_where_no_reaper_runs(after_s: float, counts: bool) -> None:
    async def main() -> None:
        manager = real()
        entry = ask(manager)
        await anyio.sleep(after_s)
        assert manager.try_resolve("c1", Approved()) is counts
        assert await heard_later(entry) == (Approved() if counts else TIMED_OUT)

    in_virtual_time(main)


def test_the_reaper_wakes_for_a_deadline_nearer_than_its_interval() -> None:
    async def main() -> list[float]:
        ledger = Ledger()
        manager = ApprovalManager(ledger, GrantBook(), ttl_s=7, clock=anyio.current_time)
        ended: list[float] = []
        start = anyio.current_time()

        async def wait(entry: Pending) -> None:
            assert await heard_later(entry) == TIMED_OUT
            ended.append(anyio.current_time() - start)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run_reaper, 1000.0)
            await anyio.sleep(3)  # the reaper is asleep until 1000
            for number in range(3):
                ledger.propose(f"c{number}")
                tasks.start_soon(wait, ask(manager, f"c{number}"))
                await anyio.sleep(2)
            await anyio.sleep(20)
            tasks.cancel_scope.cancel()
        return ended

    assert in_virtual_time(main) == [10.0, 12.0, 14.0]


def test_the_reaper_collects_a_call_whose_requester_was_cancelled() -> None:
    async def main() -> None:
        manager = real()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run_reaper)
            entry = ask(manager)
            kept = ask(manager, "c2")
            with anyio.move_on_after(1):
                await heard_later(entry)
            assert entry.abandoned
            assert len(manager) == 2
            await anyio.sleep(DEFAULT_REAP_INTERVAL)
            assert len(manager) == 1
            assert entry.result == TIMED_OUT
            assert kept.result is None
            assert manager.try_resolve("c1", Approved()) is False
            tasks.cancel_scope.cancel()

    in_virtual_time(main)


def test_a_requester_cancelled_after_the_answer_has_abandoned_nothing() -> None:
    async def main() -> None:
        manager = real()
        entry = ask(manager)
        with anyio.CancelScope() as scope:
            manager.approve("c1")
            scope.cancel()
            await heard_later(entry)
        assert entry.result == Approved()
        assert not entry.abandoned

    in_virtual_time(main)


@pytest.mark.parametrize("break_after_s", [0.0, 1.0, 30.0, 299.0])
def test_the_reaper_survives_a_clock_that_raises_once(break_after_s: float) -> None:
    async def main() -> float:
        clock = Clock()
        ledger = Ledger()
        ledger.propose("c1")

        def now() -> float:
            clock.now = anyio.current_time()
            return clock()

        manager = ApprovalManager(ledger, GrantBook(), clock=now)
        async with anyio.create_task_group() as tasks:
            entry = ask(manager)
            start = anyio.current_time()
            tasks.start_soon(manager.run_reaper)
            if break_after_s:
                await anyio.sleep(break_after_s)
            clock.broken = True
            assert await heard_later(entry) == TIMED_OUT
            tasks.cancel_scope.cancel()
            return anyio.current_time() - start
        raise AssertionError

    assert 300.0 <= in_virtual_time(main) <= 300.0 + DEFAULT_REAP_INTERVAL


def test_one_entry_that_cannot_be_swept_neither_stops_nor_spins_the_reaper() -> None:
    readings = 0

    def now() -> float:
        nonlocal readings
        readings += 1
        if readings > 1000:
            pytest.fail("the reaper spins")
        return anyio.current_time()

    async def main() -> None:
        ledger = Ledger()
        manager = ApprovalManager(ledger, GrantBook(), clock=now)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run_reaper)
            for call_id in ("broken", "c1"):
                ledger.propose(call_id)
            ask(manager, "broken")
            entry = ask(manager)
            ledger.move("broken", Move.CANCEL)  # a bug of ours, elsewhere
            with anyio.move_on_after(DEFAULT_APPROVAL_TTL + DEFAULT_REAP_INTERVAL + 1):
                await heard_later(entry)
            assert entry.result == TIMED_OUT
            tasks.cancel_scope.cancel()

    in_virtual_time(main)


async def test_the_reaper_runs_on_asyncio_too() -> None:
    ledger = Ledger()
    ledger.propose("c1")
    manager = ApprovalManager(ledger, GrantBook(), ttl_s=0.01)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(manager.run_reaper)
        assert await heard(ask(manager)) == TIMED_OUT
        tasks.cancel_scope.cancel()


def test_the_reason_for_silence_is_the_protocols_own_sentence() -> None:
    assert room.REASON_TIMEOUT == "approval timed out (no host response)"


CLOCKS: Final = """
import time
clocks = {{time.CLOCK_BOOTTIME: 0.0, time.CLOCK_MONOTONIC: 0.0}}
time.clock_gettime = clocks.__getitem__
ticking = time.{ticking}
{change}
from wcore.approval.manager import ApprovalManager
from wcore.approval.table import Ledger
from wcore.policy.grants import GrantBook
from wcore.vocabulary import Category
ledger = Ledger()
ledger.propose("c")
manager = ApprovalManager(ledger, GrantBook(), ttl_s=300)
entry = manager.request_approval("c", Category.EXEC, "Bash")
clocks[ticking] += 300
assert manager.pending("c") is None
"""


@pytest.mark.parametrize(
    ("ticking", "change"),
    [("CLOCK_BOOTTIME", ""), ("CLOCK_MONOTONIC", "del time.CLOCK_BOOTTIME")],
    ids=["a machine that sleeps", "one that does not tell"],
)
def test_time_that_the_machine_slept_counts(ticking: str, change: str) -> None:
    """CLOCK_MONOTONIC stands still in a closed laptop, CLOCK_BOOTTIME does not."""
    code = CLOCKS.format(ticking=ticking, change=change)
    assert not waiting.run([sys.executable, "-c", code]).stderr
