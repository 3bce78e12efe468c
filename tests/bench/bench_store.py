"""How much the store costs: `python tests/bench/bench_store.py [--rows N] [--store PLACE]`.

Numbers to hold on SQLite: a durable journal append at most 1 ms in the middle; an audit of
1,000,000 rows verified in one pass with flat memory.
"""

import argparse
import functools
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

import anyio

from wcore.store import (
    AuditDecision,
    AuditSource,
    GrantKey,
    Kind,
    LastingGrant,
    PermissionStatus,
    Record,
    SessionJournal,
    Store,
    ToolApprovalDecisionEvent,
    ToolPermission,
    audit,
    identity,
    locate,
)
from wcore.store.audit import Entry
from wcore.store.audit_verify import verify
from wcore.store.database import Database
from wcore.store.location import Location
from wcore.store.opening import opened
from wcore.vocabulary import Always, Persist

USER = UUID(int=1)
AGENT = identity.agent_id("/w")
BODY = {"call_id": "call-0123456789ab", "verdict": "allow", "row": "grant", "digest": "d" * 64}
ROUNDS = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the audit")
    parser.add_argument("--store", help="a file, or postgresql://…; default: a new file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        location = locate(given.store or str(Path(folder) / "bench.db"), {})
        print(f"{'what':44}{'median':>12}{'p95':>12}")
        _disk(Path(folder) / "plain")
        anyio.run(functools.partial(_small, location))
        _large(location, given.rows)


def _disk(path: Path) -> None:
    """What no store can be faster than: 12 kB, as much as an append writes, synchronised."""
    spent: list[float] = []
    with path.open("wb", buffering=0) as file:
        for _ in range(ROUNDS):
            started = time.perf_counter()
            file.write(b"x" * 12_288)
            os.fdatasync(file.fileno())
            spent.append(time.perf_counter() - started)
    _line("the disk itself: write and fdatasync", spent)


async def _small(location: Location) -> None:
    async with Store(location) as store:
        started = time.perf_counter()
        await store.open()
        _line("open a new store, once", [time.perf_counter() - started])
        journal = await SessionJournal.begin(store, USER, f"bench-{time.time_ns()}", "/w")
        await _measure(
            "journal append, durable", lambda: journal.append(Record(Kind.DECIDED, BODY))
        )
        await _measure("journal append", lambda: journal.append(Record(Kind.PREPARED, BODY)))
        big = Record(Kind.ENDED, {"output": "x" * 24_000})
        await _measure("journal append, durable, 24 kB", lambda: journal.append(big))
        for _ in range(10):
            await journal.append(*[Record(Kind.COMMANDED, BODY)] * 1_000)
        await _measure(
            "journal append, durable, after 10,000 records",
            lambda: journal.append(Record(Kind.DECIDED, BODY)),
        )
        tools = [ToolPermission(f"t{n}", PermissionStatus.NEEDS_APPROVAL) for n in range(100)]
        await store.set_agent_tools(AGENT, tools)
        await _measure(
            "preload of 100 tools, one query", lambda: store.preload_for_agent(AGENT, USER)
        )
        await _measure("what other engines changed (versions)", store.versions)
        key = GrantKey(USER, "/w")
        for number in range(100):
            grant = LastingGrant(
                grant_id=f"g-{number}",
                tool=f"t{number}",
                scope=Always(),
                persist=Persist.PROJECT,
                from_call_id="c1",
                created_at="2026-01-01T00:00:00Z",
            )
            await store.add_grant(key, grant)
        await _measure("load 100 grants", lambda: store.load_grants(key))
        await _measure("audit append, durable, one row", functools.partial(_append_one, store))
        spent: list[float] = []
        for number in range(ROUNDS):
            started = time.perf_counter()
            store.record_decision(_event(number))
            spent.append(time.perf_counter() - started)
        _line("record_decision, for its caller", spent)
        await journal.release()


async def _append_one(store: Store) -> None:
    await store.run(lambda database: audit.append(database, [Entry.of(_event(0))]))


def _large(location: Location, rows: int) -> None:
    with opened(location) as database:
        missing = rows - verify(database).rows
        started = time.perf_counter()
        _fill(database, missing)
        spent = time.perf_counter() - started
        print(f"audit: {missing} rows appended by the thousand in {spent:.1f} s")
        before = _peak_mib()
        started = time.perf_counter()
        result = verify(database)
        spent = time.perf_counter() - started
        print(
            f"audit: {result.rows} rows verified in {spent:.1f} s, intact: {result.intact}; "
            f"memory peak {before:.0f} -> {_peak_mib():.0f} MiB"
        )


def _fill(database: Database, missing: int) -> None:
    for first in range(0, missing, 1_000):
        count = min(1_000, missing - first)
        audit.append(database, [Entry.of(_event(first + n)) for n in range(count)])


def _event(number: int) -> ToolApprovalDecisionEvent:
    return ToolApprovalDecisionEvent(
        tool_call_id=f"call-{number:012}",
        user_id=USER,
        agent_id=AGENT,
        chat_id=identity.chat_id("bench"),
        tool_name="Bash",
        decision=AuditDecision.APPROVED,
        source=AuditSource.GRANT,
        rule_id="user:12",
    )


async def _measure(what: str, call: Callable[[], Awaitable[object]]) -> None:
    spent: list[float] = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        await call()
        spent.append(time.perf_counter() - started)
    _line(what, spent)


def _line(what: str, spent: list[float]) -> None:
    p95 = sorted(spent)[int(len(spent) * 0.95) - (len(spent) == 1)]
    print(f"{what:44}{statistics.median(spent) * 1e3:>9.3f} ms{p95 * 1e3:>9.3f} ms")


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
