"""Whatever any program of ours does with a store, an engine that holds it keeps its locks.

POSIX locks belong to a process and a file: closing any descriptor of that file drops them all.
SQLite then takes the engine for gone: another program deletes its log, and records are lost.
"""

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
import waiting
from store.kernel import locked_files, lost_files
from talking import Conversation, call
from wcore_host.acp import stored_sessions as acp_stored
from wcore_host.web.engine_cli import EngineCli
from wcore_host.web.options import WebOptions

from wcore.cli.main import SUBCOMMANDS
from wcore.store.location import Location
from wcore.store.opening import open_database

Talk = Callable[..., Conversation]
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs Linux"),
]

HELD = {"wcore.db", "wcore.db-shm"}
PROGRAM = (sys.executable, "-m", "wcore")
TRY = 'match = "Bash(true)"\ndo = "allow"\n'
#: What each subcommand is tried with; one that is missing here fails the first test.
TRIED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("audit", "list"): (),
    ("audit", "verify"): (),
    ("sessions", "list"): (),
    ("sessions", "show"): ("held",),
    ("sessions", "export"): ("held",),
    ("sessions", "purge"): ("ended", "--yes"),
    ("policy", "explain"): ("ls",),
    ("policy", "check"): (),
    ("policy", "rules"): (),
    ("policy", "test"): (),
    ("policy", "lint"): (),
    ("policy", "simulate"): ("--policy", "{policy}", "held"),
    ("policy", "import"): ("claude", "-"),
    ("sandbox",): ("run", "--", "true"),
    ("trust",): (".",),
    ("conformance",): ("--help",),  # it starts engines with stores of their own
}


def store_of(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db"


def decided(store: Path) -> int:
    """Return how many decisions another program sees."""
    with sqlite3.connect(store) as connection:
        (count,) = connection.execute(
            "SELECT count(*) FROM journal WHERE kind = 'decided'"
        ).fetchone()
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    return count


def require_held(host: Conversation, store: Path, after: object) -> None:
    assert locked_files(host.process.pid, store) >= HELD, f"locks were dropped after {after}"
    assert lost_files(host.process.pid, store) == set(), f"files were deleted after {after}"


def run_program(host: Conversation, home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return waiting.run(
        [*PROGRAM, *command], cwd=host.workspace, env={**os.environ, "HOME": str(home)}
    )


def test_every_subcommand_is_tried() -> None:
    known: set[tuple[str, ...]] = set()
    for name in SUBCOMMANDS:
        told = waiting.run([*PROGRAM, name, "--help"], check=True).stdout
        below = re.findall(r"^    (\w+)  ", told, re.MULTILINE) if "COMMAND" in told else []
        known |= {(name, command) for command in below} or {(name,)}
    assert known == set(TRIED)


async def test_an_engine_keeps_its_locks_whatever_else_uses_the_store(
    talk: Talk, tmp_path: Path
) -> None:
    store, home = store_of(tmp_path), tmp_path / "home"
    policy = tmp_path / "try.toml"
    policy.write_text(f"[[rule]]\n{TRY}")
    bash: list[list[object]] = [[call("Bash", command="true")], [{"text": "ok"}]]
    async with talk(*bash, flags=("--mode", "force", "--session-id", "ended")) as host:
        await host.ready()
        await host.turn()
    turns = len(TRIED) + 5
    flags = ("--mode", "force", "--session-id", "held")
    async with talk(*(bash * turns), flags=flags) as host:
        await host.ready()
        await host.turn()
        require_held(host, store, "its own first call")
        count = 2

        async def check(after: object) -> None:
            nonlocal count
            require_held(host, store, after)
            await host.turn(msg_id=f"m{count}")
            count += 1
            assert decided(store) == count, f"a decision was lost after {after}"
            require_held(host, store, f"{after}, and another call")

        for command, more in TRIED.items():
            given = [each.format(policy=policy) for each in more]
            done = await anyio.to_thread.run_sync(run_program, host, home, *command, *given)
            assert "malformed" not in done.stderr, f"{command}: {done.stderr}"
            count -= command == ("sessions", "purge")  # of the other session
            await check(command)
        async with talk(*bash, flags=("--mode", "force")) as other:
            await other.ready()
            await other.turn()
            count += 1
            await check("another engine's call")
        await check("the end of another engine")
        engine = ("env", f"HOME={home}", *PROGRAM)
        await EngineCli(WebOptions(engine, (), 0, opens=False)).verify()
        await check("the records of wcore-web")
        await acp_stored.sessions(engine, (), None)
        await check("session/list of wcore-acp")
    assert decided(store) == count


async def test_two_engines_and_readers_in_turns_lose_nothing(talk: Talk, tmp_path: Path) -> None:
    store, home = store_of(tmp_path), tmp_path / "home"
    rounds = 3
    bash: list[list[object]] = [[call("Bash", command="true")], [{"text": "ok"}]]
    async with talk(*(bash * rounds * 2), flags=("--mode", "force")) as one:
        await one.ready()
        for number in range(rounds):
            await one.turn(msg_id=f"a{number}")
            run_program(one, home, "sessions", "list")
            await one.turn(msg_id=f"b{number}")
            async with talk(*bash, flags=("--mode", "force")) as two:
                await two.ready()
                await two.turn()
                assert "intact" in run_program(one, home, "audit", "verify").stdout
                require_held(two, store, "audit verify")
            require_held(one, store, "the other engine's end")
    assert decided(store) == rounds * 3
    listed = run_program(one, home, "sessions", "list").stdout
    assert len(listed.splitlines()) == rounds + 1


def test_sqlite_holds_no_lock_on_its_log(tmp_path: Path) -> None:
    # What `sync` relies on: it opens the log, and closes it.
    store = tmp_path / "wcore.db"
    database = open_database(Location("x", str(store)))
    log = store.with_name("wcore.db-wal").name
    seen: set[str] = set()
    with database.writing():
        database.change("UPDATE store_versions SET version = version + 1")
        database.query("SELECT * FROM store_versions")
        seen |= locked_files(os.getpid(), store)
        before = locked_files(os.getpid(), store)
        database.sync()
        assert locked_files(os.getpid(), store) == before
    database.scrub_deleted()
    seen |= locked_files(os.getpid(), store)
    assert seen == HELD
    assert log not in seen
    database.close()
