"""The async face: one worker, in order, finished even when the caller is cancelled."""

import sqlite3
import threading
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
import waiting
from store.samples import AGENT, KEY, USER, decided, granted, record

from wcore.store import (
    Kind,
    LoadedGrants,
    Location,
    NoStoreError,
    PermissionStatus,
    SessionBusyError,
    SessionJournal,
    Store,
    StoreError,
    StoreLostError,
    ToolPermission,
)
from wcore.store.audit import newest_first
from wcore.store.audit_verify import verify
from wcore.store.database import BUSY_S_MAX, Database, Lock
from wcore.store.errors import StoreLockedError
from wcore.store.opening import opened

pytestmark = pytest.mark.anyio


async def test_a_whole_life_through_the_engines_door(location: Location) -> None:
    with waiting.patience():
        async with Store(location) as store:
            await store.open()
            await store.set_agent_tools(AGENT, [ToolPermission("Bash", PermissionStatus.BLOCKED)])
            await store.set_tool_override(USER, AGENT, "Read", approve_always=True)
            snapshot = await store.preload_for_agent(AGENT, USER)
            assert snapshot.blocked == {"Bash"}
            assert snapshot.user_overrides == {"Read"}
            grant = await store.add_grant(KEY, granted(created_at="2026-11-21T10:00:00.000000Z"))
            assert (await store.load_grants(KEY)).grants == (grant,)
            journal = await SessionJournal.begin(store, USER, "s1", "/w")
            assert await journal.append(record(Kind.TURN_STARTED), record(Kind.DECIDED)) == 2
            store.record_decision(decided())
            await journal.release()
        async with Store(location) as store:
            assert await store.latest_session(USER, "/w") == "s1"
            journal = await SessionJournal.resume(store, USER, "s1")
            assert journal.resumed is not None
            assert journal.resumed.state == "in_turn"
            assert len((await journal.read()).records) == 2
            assert await store.revoke_grant(KEY, grant.grant_id)
            assert (await store.run(verify)).rows == 1


async def test_grants_that_cannot_be_read_are_none_with_a_reason(location: Location) -> None:
    with opened(location) as database, database.writing():
        database.change("DROP TABLE grants")
    async with Store(location) as store:
        loaded = await store.load_grants(KEY)
        assert loaded.grants == ()
        assert loaded.problem is not None
        assert location.name in loaded.problem
        assert store.is_kept, "the database answers, only these rows do not"


async def test_tiers_that_cannot_be_read_fail_the_preload(location: Location) -> None:
    with opened(location) as database, database.writing():
        database.change("DROP TABLE agent_tool_sets")
    async with Store(location) as store:
        with pytest.raises(StoreError) as told:
            await store.preload_for_agent(AGENT, USER)
        assert not isinstance(told.value, StoreLostError)
        assert store.is_kept


async def test_a_lost_store_is_told_once_and_not_used_again(tmp_path: Path) -> None:
    path = tmp_path / "wcore.db"
    path.write_text("something else")
    store = Store(Location(str(path), str(path)))
    told: list[str] = []
    store.on_loss = lambda: told.append(str(store.problem))
    with waiting.patience():
        with pytest.raises(StoreLostError, match="move it away"):
            await store.preload_for_agent(AGENT, USER)
        path.unlink()
        with pytest.raises(NoStoreError):
            await store.preload_for_agent(AGENT, USER)
        assert await store.load_grants(KEY) == LoadedGrants(())
        store.record_decision(decided())
        await store.aclose()
    assert len(told) == 1
    assert str(path) in told[0]
    assert not path.exists()


async def test_calls_are_carried_out_one_at_a_time_and_in_order(location: Location) -> None:
    async with Store(location) as store:
        order: list[int] = []
        inside: list[int] = []

        def job(number: int, database: Database) -> None:
            inside.append(number)
            assert len(inside) == 1
            database.query("SELECT 1")
            order.append(inside.pop())

        async def call(number: int) -> None:
            await store.run(lambda database: job(number, database))

        with waiting.patience():
            await store.open()
            async with anyio.create_task_group() as tasks:
                for number in range(20):
                    tasks.start_soon(call, number)
        assert order == list(range(20))


async def test_a_write_that_has_begun_is_finished_when_its_caller_is_cancelled(
    location: Location,
) -> None:
    begun, may_end = threading.Event(), threading.Event()
    async with Store(location) as store:
        journal = await SessionJournal.begin(store, USER, "s1", "/w")

        def wait(_: Database) -> None:
            begun.set()
            may_end.wait(waiting.PATIENCE_S)

        async def write() -> None:
            await store.run(wait)
            await anyio.lowlevel.checkpoint()
            pytest.fail("the caller was cancelled")

        with waiting.patience():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write)
                await anyio.to_thread.run_sync(begun.wait)
                tasks.start_soon(journal.append, record(Kind.COMMANDED))
                tasks.cancel_scope.cancel()
                may_end.set()
            assert await journal.append(record(Kind.COMMANDED)) == 1


async def test_many_appends_at_once_get_numbers_of_their_own(location: Location) -> None:
    async with Store(location) as store:
        journal = await SessionJournal.begin(store, USER, "s1", "/w")
        numbers: list[int] = []

        async def write() -> None:
            numbers.append(await journal.append(record(Kind.COMMANDED)))

        with waiting.patience():
            async with anyio.create_task_group() as tasks:
                for _ in range(30):
                    tasks.start_soon(write)
        assert sorted(numbers) == list(range(1, 31))


async def test_one_session_has_one_engine(location: Location) -> None:
    with waiting.patience():
        async with Store(location) as one, Store(location) as other:
            held = await SessionJournal.begin(one, USER, "s1", "/w")
            with pytest.raises(SessionBusyError):
                await SessionJournal.resume(other, USER, "s1")
            await held.renew()
            await held.append(record(Kind.COMMANDED))
            await held.release()
            await SessionJournal.resume(other, USER, "s1")


async def test_retention_purges_old_sessions(location: Location) -> None:
    with waiting.patience():
        async with Store(location) as store:
            held = await SessionJournal.begin(store, USER, "s1", "/w")
            await held.append(record(Kind.COMMANDED))
            await held.release()
            assert (await store.purge_older(USER, 1)).purged == ()
            assert (await store.purge_older(USER, -1)).purged == ("s1",)
            assert await store.list_sessions(USER) == []


async def test_a_locked_store_does_not_hold_up_the_caller_of_the_audit(tmp_path: Path) -> None:
    path = tmp_path / "wcore.db"
    location = Location(str(path), str(path))
    with waiting.patience():
        async with Store(location) as store:
            await store.open()
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            store.record_decision(decided())  # returns although nothing can be written
            assert (await store.load_grants(KEY)).problem is None  # nor does it block the worker
            other.execute("COMMIT")
            other.close()
        async with Store(location) as store:
            found = await store.run(lambda db: list(newest_first(db, "0001-01-01T00:00:00Z")))
            assert len(found) == 1


@pytest.mark.clock
async def test_a_lock_of_another_program_is_waited_for_once(location: Location) -> None:
    with waiting.patience():
        async with Store(location) as store:
            held = await SessionJournal.begin(store, USER, "s1", "/w")
            with opened(location) as other, other.writing():
                other.change("UPDATE sessions SET last_at = last_at")
                with pytest.raises(StoreLockedError, match="locked by another program"):
                    await held.append(record(Kind.COMMANDED))
                with anyio.fail_after(BUSY_S_MAX - 1), pytest.raises(StoreError):
                    await held.append(record(Kind.COMMANDED))
            with waiting.patience():
                while True:
                    try:
                        assert await held.append(record(Kind.COMMANDED)) == 1
                        break
                    except StoreError:
                        await anyio.sleep(0.05)


async def test_a_row_of_the_audit_that_found_a_lock_is_tried_once_more(
    location: Location, caplog: pytest.LogCaptureFixture
) -> None:
    with waiting.patience():
        async with Store(location) as store:
            await store.open()
            with opened(location) as other, other.writing(Lock.AUDIT):
                store.record_decision(decided())
                while "audit.retried" not in caplog.text:  # noqa: ASYNC110 - told by a thread
                    await anyio.sleep(0.05)
            while not (await store.run(verify)).rows:  # noqa: ASYNC110 - written by a thread
                await anyio.sleep(0.05)
