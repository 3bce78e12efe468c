"""Several real processes on one store: side by side, killed at any instant, torn in the middle."""

import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import waiting
from store import engines
from store.samples import KEY, USER, granted, record

from wcore.store import audit, grants, journal, sessions
from wcore.store.audit_verify import verify
from wcore.store.database import Database
from wcore.store.location import Location
from wcore.store.opening import open_database
from wcore.store.opening import opened as opened_store
from wcore.store.values import DURABLE_KINDS, Kind

WRITES = 150
KILLS = 8


def finish(process: subprocess.Popen[str]) -> int:
    """Wait for an engine to end by itself; return how much it said it wrote."""
    done = waiting.finish(process)
    assert done.returncode == 0
    return len(done.stdout.splitlines())


def killed(process: subprocess.Popen[str], after: int) -> int:
    """Kill an engine once it has said `after` numbers; return how many it said in all."""
    for _ in range(after):
        waiting.line(process)
    process.send_signal(signal.SIGKILL)
    return after + len(waiting.finish(process).stdout.splitlines())


def test_two_engines_that_write_the_audit_make_one_unbroken_chain(
    location: Location, opened: Callable[[], Database]
) -> None:
    running = [engines.start("audit", location, WRITES, name) for name in ("a", "b")]
    assert [finish(engine) for engine in running] == [WRITES, WRITES]
    database = opened()
    result = verify(database)
    assert (result.rows, result.intact) == (2 * WRITES, True)
    written = {row.tool_call_id for row in audit.newest_first(database, "0001-01-01T00:00:00Z")}
    assert written == {f"{name}-{n}" for name in ("a", "b") for n in range(1, WRITES + 1)}


def test_two_engines_that_count_lose_nothing(
    location: Location, opened: Callable[[], Database]
) -> None:
    database = opened()
    grants.add(database, KEY, granted())
    running = [engines.start("use", location, WRITES, "g-1") for _ in range(2)]
    for engine in running:
        finish(engine)
    assert grants.load(database, KEY).grants[0].uses == 2 * WRITES


def test_an_engine_killed_at_any_instant_leaves_a_valid_chain_with_all_it_had_said(
    location: Location, opened: Callable[[], Database]
) -> None:
    chance = random.Random(4)
    said = 0
    for _ in range(KILLS):
        running = engines.start("audit", location, 10_000, "k")
        said += killed(running, chance.randrange(25))
        result = verify(opened())
        assert result.intact
        assert result.rows >= said
        said = result.rows


def test_an_engine_killed_at_any_instant_leaves_a_journal_with_all_it_had_said(
    location: Location, opened: Callable[[], Database]
) -> None:
    chance = random.Random(5)
    database = opened()
    for number in range(KILLS):
        name = f"s{number}"
        said = killed(engines.start("journal", location, 10_000, name), chance.randrange(1, 25))
        lease, row = sessions.resume(database, USER, name)  # a dead engine holds nothing
        records = list(journal.read_all(database, USER, name))
        assert [entry.body["n"] for entry in records] == list(range(1, len(records) + 1))
        assert said <= len(records) <= said + 1
        assert row.records == len(records)
        assert journal.append(database, lease, [record(Kind.COMMANDED)], durable=True) > said


def test_a_log_that_was_cut_anywhere_still_opens_with_what_was_whole(tmp_path: Path) -> None:
    path = tmp_path / "live" / "wcore.db"
    database = open_database(Location("live", str(path)))
    lease = sessions.begin(database, USER, "s1", "/w")
    for number in range(1, 21):
        journal.append(database, lease, [record(Kind.COMMANDED, n=number)], durable=True)
    wal = path.with_name("wcore.db-wal").read_bytes()
    whole = path.read_bytes()
    chance = random.Random(6)
    lengths: list[int] = []
    for number in range(25):
        copy = tmp_path / f"copy{number}" / "wcore.db"
        copy.parent.mkdir()
        copy.write_bytes(whole)
        cut = len(wal) if number == 0 else chance.randrange(len(wal) // 2, len(wal))
        copy.with_name("wcore.db-wal").write_bytes(wal[:cut])
        torn = open_database(Location("torn", str(copy)))
        records = list(journal.read_all(torn, USER, "s1"))
        assert [entry.body["n"] for entry in records] == list(range(1, len(records) + 1))
        lengths.append(len(records))
        torn.close()
    assert lengths[0] == 20
    assert min(lengths) < 20
    database.close()


# --- durability -------------------------------------------------------------------------------

STRACE = shutil.which("strace")

WRITER = """
import sys
import anyio
from store.samples import USER, decided, record
from wcore.store import SessionJournal, Store, audit, journal, sessions
from wcore.store.audit import Entry
from wcore.store.opening import open_database
from wcore.store.location import Location
from wcore.store.values import Kind
database = open_database(Location("x", sys.argv[1]))
lease = sessions.begin(database, USER, "s1", "/w")
MARK = "mark\\n"

async def every_kind(store):
    held = await SessionJournal.begin(store, USER, "s2", "/w")
    sys.stderr.write(MARK)
    for kind in Kind:
        await held.append(record(kind))
    sys.stderr.write(MARK)

async def soon(store):
    held = await SessionJournal.begin(store, USER, "s2", "/w")
    sys.stderr.write(MARK)
    await held.append(record(Kind.ENDED))
    await held.settle()
    await held.settle()
    await held.append(record(Kind.ENDED))
    await held.append(record(Kind.STARTED))
    await held.settle()
    sys.stderr.write(MARK)

if sys.argv[2] == "soon":
    anyio.run(soon, Store(Location("x", sys.argv[1])))
    raise SystemExit
if sys.argv[2] == "kinds":
    anyio.run(every_kind, Store(Location("x", sys.argv[1])))
    raise SystemExit
sys.stderr.write(MARK)
for n in range(10):
    if sys.argv[2] == "audit":
        audit.append(database, [Entry.of(decided())])
    else:
        durable = sys.argv[2] == "durable"
        journal.append(database, lease, [record(Kind.COMMANDED)], durable=durable)
sys.stderr.write(MARK)
"""


@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
@pytest.mark.parametrize(
    ("what", "syncs"),
    [("durable", 10), ("audit", 10), ("fast", 0), ("kinds", len(DURABLE_KINDS)), ("soon", 2)],
)
def test_what_must_be_durable_is_synchronised_once_and_the_rest_is_not(
    tmp_path: Path, what: str, syncs: int
) -> None:
    assert STRACE is not None
    done = waiting.run(
        [
            *(STRACE, "-f", "-e", "trace=fsync,fdatasync,write", "-o", str(tmp_path / "trace")),
            *(sys.executable, "-c", WRITER, str(tmp_path / "wcore.db"), what),
        ],
        env=engines.environment(),
    )
    if "ptrace" in done.stderr:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr
    between = (tmp_path / "trace").read_text().split('"mark\\n"')[1]
    assert between.count("sync(") == syncs


def test_a_durable_record_is_flushed_by_the_server_before_the_append_returns(
    team: Location,
) -> None:
    behind = "SELECT pg_current_wal_insert_lsn() - pg_current_wal_flush_lsn() > 0"
    flushed: dict[bool, list[bool]] = {True: [], False: []}
    with opened_store(team) as database:
        lease = sessions.begin(database, USER, "s1", "/w")
        for durable in (True, False) * 5:
            journal.append(database, lease, [record(Kind.ENDED)], durable=durable)
            flushed[durable].append(database.query(behind) == [(False,)])
        database.sync()
        assert database.query(behind) == [(False,)]
    assert all(flushed[True])
    assert not any(flushed[False])
