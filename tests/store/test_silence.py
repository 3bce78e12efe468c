"""A store that hangs, wherever it does: the engine stops, ends, and runs nothing unwritten."""

import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
import waiting
from anyio import to_thread
from store.samples import USER, record
from store.server import Server
from store.stalling import StallingProxy
from talking import Conversation, call

from wcore.store import Kind, Location, SessionJournal, Store, StoreError
from wcore.store.database import Database
from wcore.store.errors import StoreLostError, StoreSilentError
from wcore.store.sqlite import SqliteDatabase
from wcore.store.worker import COMMAND_S_MAX, HURRY_S_MAX, Worker

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

OBEYS_S = 8.0  # it takes `HURRY_S_MAX`; more for a busy machine, less than an ordinary wait

#: What the engine is doing when the server falls silent, and how one knows.
MOMENTS = {
    "open": b"wcore",
    "begin": b"INSERT INTO sessions",
    "turn_started": b"turn_started",
    "tiers": b"FROM agent_tool_sets",
    "versions": b"FROM store_versions",
    "grants": b"FROM grants",
    "decided": b"\0\0\0\7decided",
    "started": b"\0\0\0\7started",
    "ended": b"\0\0\0\5ended",
    "audit": b"INSERT INTO agent_tool_approval_audit",
}


@pytest.fixture
def proxy(request: pytest.FixtureRequest, server: Server) -> Iterator[StallingProxy]:
    with (
        tempfile.TemporaryDirectory() as folder,
        StallingProxy(Path(folder), server.new_schema(), request.param) as made,
    ):
        yield made


def moments(*names: str) -> pytest.MarkDecorator:
    chosen = {name: at for name, at in MOMENTS.items() if not names or name in names}
    return pytest.mark.parametrize("proxy", chosen.values(), ids=chosen, indirect=True)


def hanging(talk: Talk, proxy: StallingProxy) -> Conversation:
    replies = [[call("Bash", command="echo x >> ran")], [{"text": "ok"}]]
    return talk(*replies, *replies, flags=("--mode", "force", "--store", proxy.url))


async def until_it_hangs(host: Conversation, proxy: StallingProxy) -> None:
    await host.ready()
    await host.message()
    await to_thread.run_sync(proxy.wait_until_it_hangs)


def ran(host: Conversation) -> bool:
    return (host.workspace / "ran").exists()


@pytest.mark.clock
@moments()
async def test_stop_is_obeyed_while_the_store_hangs(
    talk: Talk, proxy: StallingProxy, request: pytest.FixtureRequest
) -> None:
    async with hanging(talk, proxy) as host:
        await until_it_hangs(host, proxy)
        with anyio.fail_after(OBEYS_S):
            await host.say(type="stop")
            await host.hear("stream_end")
        name = request.node.callspec.id
        if name != "audit":  # which is written beside the call
            assert ran(host) is (name == "ended"), "what cannot be written down does not run"
        proxy.recover()
        for number in (2, 3):  # the first may be the rest of the stopped one
            heard = await host.turn("again", f"m{number}")
            assert not [event for event in heard if event["type"] == "error"]
        assert ran(host)


@pytest.mark.clock
@moments()
async def test_a_signal_ends_the_engine_while_the_store_hangs(
    talk: Talk, proxy: StallingProxy
) -> None:
    async with hanging(talk, proxy) as host:
        await until_it_hangs(host, proxy)
        with anyio.fail_after(OBEYS_S):
            host.signal(signal.SIGTERM)
            assert await host.ended() == 128 + signal.SIGTERM


@moments("open", "decided", "audit")
async def test_the_end_of_stdin_ends_the_engine_while_the_store_hangs(
    talk: Talk, proxy: StallingProxy
) -> None:
    async with hanging(talk, proxy) as host:
        await until_it_hangs(host, proxy)
        assert await host.finish() == 0


@pytest.mark.clock
@moments("decided", "started")
async def test_a_closed_stdout_ends_the_engine_while_the_store_hangs(
    talk: Talk, proxy: StallingProxy
) -> None:
    async with hanging(talk, proxy) as host:
        await until_it_hangs(host, proxy)
        host.killed = True
        host.close_stdout()
        with anyio.fail_after(OBEYS_S):
            await host.say(type="ping")
            host.exit_code = await host.process.wait()
        assert not ran(host)


@pytest.mark.clock
@pytest.mark.parametrize("proxy", [b"lease_owner = NULL"], ids=["release"], indirect=True)
@pytest.mark.parametrize("end", ["stdin", "signal"])
async def test_a_store_that_hangs_at_the_very_end_does_not_keep_the_engine(
    talk: Talk, proxy: StallingProxy, end: str
) -> None:
    async with hanging(talk, proxy) as host:
        await host.ready()
        await host.turn()
        with anyio.fail_after(OBEYS_S) if end == "signal" else waiting.patience():
            if end == "signal":
                host.signal(signal.SIGTERM)
                await host.ended()
            else:
                await host.finish()
        proxy.wait_until_it_hangs()


@pytest.mark.clock
@moments("decided")
async def test_commands_are_obeyed_while_the_store_hangs(talk: Talk, proxy: StallingProxy) -> None:
    async with hanging(talk, proxy) as host:
        await until_it_hangs(host, proxy)
        with anyio.fail_after(OBEYS_S):
            await host.say(type="list_permissions", request_id="r")
            await host.say(type="revoke_grant", request_id="r2", grant_id="g-1")
            await host.say(type="stop")
            await host.hear("stream_end")
        proxy.recover()


@moments("decided")
async def test_a_store_that_hangs_is_lost_after_its_limit_and_not_used_again(
    talk: Talk, proxy: StallingProxy
) -> None:
    async with hanging(talk, proxy) as host:
        await until_it_hangs(host, proxy)
        told = await host.hear("info")
        await host.hear("stream_end")
        assert "does not answer" in told["message"]
        assert not ran(host), "what may have been written down would be offered again"
        proxy.recover()
        await host.turn("again", "m2")
        assert ran(host)
        assert len(host.of("info")) == 1
        assert [e["capabilities"].get("store") for e in host.of("config_changed")] == ["memory"]


# --- the worker itself, with a thread that really hangs -------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Location:
    return Location("the store", str(tmp_path / "x.db"))


async def test_who_waits_behind_a_job_that_hangs_is_told_at_once_and_never_runs(
    place: Location,
) -> None:
    may_end, ran_late = threading.Event(), threading.Event()
    async with Store(place) as store:
        await store.open()
        errors: list[StoreError] = []

        async def ask(job: Callable[[Database], object]) -> None:
            try:
                await store.run(job)
            except StoreError as error:
                errors.append(error)

        def waits(_: Database) -> None:
            may_end.wait(waiting.PATIENCE_S)

        def runs(_: Database) -> None:
            ran_late.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, waits)
            tasks.start_soon(ask, runs)
            await anyio.wait_all_tasks_blocked()
            store.hurry()
        assert len(errors) == 2
        with pytest.raises(StoreSilentError):
            await store.run(lambda _: None)
        may_end.set()
        store.calm()
        with waiting.patience():
            while True:  # until the thread has come back
                try:
                    await store.run(lambda database: database.query("SELECT 1"))
                    break
                except StoreSilentError:
                    await anyio.sleep(0.01)
    assert not ran_late.is_set()


async def test_a_write_that_was_given_up_does_not_count(place: Location) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def write(database: Database) -> None:
        with database.writing():
            database.change("UPDATE store_versions SET version = 77")
            begun.set()
            may_end.wait(waiting.PATIENCE_S)

    async with Store(place) as store:
        await store.open()
        store.hurry()
        with pytest.raises(StoreSilentError):
            await store.run(write)
        assert begun.is_set()
        may_end.set()
        store.calm()
        held = None
        with waiting.patience():
            while held is None:
                try:
                    held = await SessionJournal.begin(store, USER, "s1", "/w")
                except StoreSilentError:
                    await anyio.sleep(0.01)
        assert await held.append(record(Kind.COMMANDED)) == 1
        found = await store.run(
            lambda database: database.query("SELECT version FROM store_versions")
        )
        assert (77,) not in found


async def test_the_task_of_the_commands_waits_briefly_and_others_do_not(place: Location) -> None:
    may_end = threading.Event()
    worker = Worker(place)
    worker.serve_commands()
    with waiting.patience(), pytest.raises(StoreSilentError, match="1 s") as told:
        await worker.run(lambda _: may_end.wait(waiting.PATIENCE_S))
    assert not isinstance(told.value, StoreLostError), "a moment proves nothing"
    may_end.set()
    await worker.close()


async def test_a_job_that_ends_because_it_was_given_up_is_no_sign_of_life(
    place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wcore.store.worker.COMMAND_S_MAX", 0.2)
    monkeypatch.setattr("wcore.store.worker.ANSWER_S_MAX", 0.5)
    give_up, close, closed = SqliteDatabase.give_up, SqliteDatabase.close, threading.Event()

    def wait_for_the_end(database: SqliteDatabase) -> None:
        give_up(database)
        assert closed.wait(waiting.PATIENCE_S)  # the thread of the job is ahead of the loop

    def note_the_end(database: SqliteDatabase) -> None:
        close(database)
        closed.set()

    monkeypatch.setattr(SqliteDatabase, "give_up", wait_for_the_end)
    monkeypatch.setattr(SqliteDatabase, "close", note_the_end)
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT 1 FROM c) SELECT count(*) FROM c"
    worker = Worker(place)
    with waiting.patience(), pytest.raises(StoreLostError):
        await worker.run(lambda database: database.query(endless))
    await worker.close()


@pytest.mark.clock
async def test_short_waits_in_vain_add_up_until_the_store_is_lost(
    place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Side by side they count once, and an answer makes an end of the count."""
    monkeypatch.setattr("wcore.store.worker.HURRY_S_MAX", 0.2)
    monkeypatch.setattr("wcore.store.worker.ANSWER_S_MAX", 1.0)
    worker, may_end = Worker(place), threading.Event()
    waits: list[StoreError] = []

    async def ask() -> None:
        try:
            await worker.run(lambda _: may_end.wait(waiting.PATIENCE_S))
        except StoreError as error:
            waits.append(error)
        worker.calm()
        worker.hurry()

    worker.hurry()
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(ask)
    assert len(waits) == 20
    assert not any(isinstance(error, StoreLostError) for error in waits)
    worker.calm()
    with waiting.patience(), pytest.raises(StoreLostError):
        await worker.run(lambda _: None)
    may_end.set()
    with waiting.patience():
        while True:
            try:
                await worker.run(lambda _: None)
                break
            except StoreSilentError:
                await anyio.sleep(0.01)
    may_end.clear()
    worker.hurry()
    await ask()
    assert not isinstance(waits[-1], StoreLostError)
    may_end.set()
    await worker.close()


def test_the_limits_leave_room_for_what_they_are_for() -> None:
    assert COMMAND_S_MAX + HURRY_S_MAX < 2.0
