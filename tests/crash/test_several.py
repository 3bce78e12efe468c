"""Several engines on one store, killed at any time, with readers beside them: nothing is lost.

`WCORE_CRASHES=1000 pytest tests/crash/test_several.py` kills a thousand times on each database.
"""

import os
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import anyio
import pytest
import waiting
from store.server import Server, ServerMissingError
from talking import Conversation, call

from wcore.store import Kind, Location, identity, journal, sessions
from wcore.store.audit_verify import verify
from wcore.store.opening import opened

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

AT_ONCE = 4  # engines
ROUNDS = int(os.environ.get("WCORE_CRASHES", "20")) // AT_ONCE
CALLS = 30  # of one engine, more than it lives to make
LIFE_S = 0.8  # after its first call
READERS = (("sessions", "list"), ("audit", "verify"))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """What `--store` is given."""
    if request.param == "sqlite":
        yield str(tmp_path / "state" / "x.db")
        return
    try:
        server = Server()
    except ServerMissingError as reason:
        pytest.skip(str(reason))
    with server as running:
        yield running.new_schema()


async def _life(talk: Talk, place: str, name: str, after_s: float, heard: set[str]) -> None:
    """Let one engine work until it is killed; note which decisions it told."""
    replies = [
        [call("Bash", f"{name}-{n}", command=f"echo {name}-{n} >> ran")] for n in range(CALLS)
    ]
    flags = ("--mode", "force", "--store", place, "--session-id", name)
    async with talk(*replies, [{"text": "ok"}], flags=flags) as host:
        host.killed = True
        await host.ready()
        await host.message()
        await host.hear("tool_running")
        await anyio.sleep(after_s)  # the instant of the kill is what is tried
        await host.kill()
        heard |= {event["call_id"] for event in host.of("call_announced")}


async def _read(workspace: Path, place: str, done: anyio.Event) -> None:
    if "://" not in place:  # where there is none yet, a reader says so and is right
        await waiting.until(Path(place).exists, "the store")
    while not done.is_set():
        for reader in READERS:
            command = [sys.executable, "-m", "wcore", *reader, "--store", place]
            read = await waiting.run_process(command, cwd=workspace, check=False)
            assert read.returncode == 0, read.stderr


async def test_engines_that_are_killed_beside_each_other_lose_and_repeat_nothing(
    talk: Talk, workspace: Path, place: str
) -> None:
    chance = random.Random(7)
    heard: set[str] = set()
    for number in range(ROUNDS):
        done = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, workspace, place, done)
            async with anyio.create_task_group() as engines:
                for each in range(AT_ONCE):
                    life = (f"e{number}-{each}", LIFE_S * chance.random(), heard)
                    engines.start_soon(_life, talk, place, *life)
            done.set()
    location = Location("x", url=place) if "://" in place else Location("x", place)
    decided, started = set[str](), Counter[str]()
    with opened(location) as database:
        user = identity.user_id()
        for row in sessions.list_sessions(database, user):
            for record in journal.read_all(database, UUID(row.user_id), row.session_id):
                call_id = str(record.body.get("call_id"))
                decided |= {call_id} if record.kind is Kind.DECIDED else set()
                started[call_id] += record.kind is Kind.STARTED
        assert verify(database).intact
    effects = Counter((workspace / "ran").read_text().split())
    assert heard <= decided, "what was told of is written down"
    assert set(effects) <= {name for name, times in started.items() if times == 1}
    assert set(effects.values()) == {1}, "nothing ran twice"
    if location.url is None:
        with sqlite3.connect(place) as raw:
            assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        raw.close()
