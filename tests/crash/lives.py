"""One conversation in two lives: an engine that is killed, and one that takes its session up.

The host answers every question in the same way. What it heard, what the journal says and what is
on the disk are then held against what every conversation has to be like.
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from talking import Conversation, Event, call, check_invariants

from wcore.store import JournalRecord, Kind, identity, journal
from wcore.store.location import Location
from wcore.store.opening import opened

Talk = Callable[..., Conversation]

OPTIONS = [{"label": "red"}, {"label": "blue"}]
REPLIES: list[list[object]] = [
    [
        {"text": "first"},
        call("Write", "w1", file_path="w1.txt", content="w1\n"),
        call("Bash", "yes1", command="echo yes1 >> ran"),
        call("Bash", "no1", command="echo no1 >> ran"),
    ],
    [
        call("AskUserQuestion", "ask1", question="Which?", header="h", options=OPTIONS),
        call("Bash", "yes2", command="echo yes2 >> ran"),
        call("Write", "w2", file_path="w2.txt", content="w2\n"),
    ],
    [{"text": "done"}],
]
CALLS = frozenset({"w1", "yes1", "no1", "ask1", "yes2", "w2"})
FLAGS = ("--mode", "auto_edit")
SESSION = "crashing"


@dataclass
class Life:
    """What one engine said until it died or was done."""

    heard: list[Event] = field(default_factory=list[Event])
    done: bool = False

    def of(self, kind: str, **fields: object) -> set[str]:
        """Return the calls that an event of this kind was about."""
        fitting = (e for e in self.heard if all(e.get(k) == v for k, v in fields.items()))
        return {event["call_id"] for event in fitting if event["type"] == kind}


async def first_life(talk: Talk, dies: str | None, kill_after_s: float | None = None) -> Life:
    """Play until the engine dies, or the turn is over."""
    life = Life()
    async with talk(*REPLIES, flags=(*FLAGS, "--session-id", SESSION), dies=dies) as host:
        host.killed = True
        async with anyio.create_task_group() as tasks:
            try:
                await host.ready()
                if kill_after_s is not None:
                    tasks.start_soon(_kill, host, kill_after_s)
                await host.message()
                life.done = await _play(host)
                if life.done:
                    await host.finish()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                await host.ended()
            tasks.cancel_scope.cancel()
        life.heard = host.heard
    return life


async def second_life(talk: Talk, tmp_path: Path) -> Life:
    """Take the session up and play to the end."""
    left = REPLIES[sum(r.kind is Kind.REPLIED for r in recorded(tmp_path)) :]
    async with talk(*left, [], flags=(*FLAGS, "--resume", SESSION)) as host:
        ready = await host.ready()
        if "interrupted_turn" in ready:
            await host.say(type="resume_turn", action="continue")
        else:
            await host.message("are you there?", "m2")
        assert await _play(host)
        await host.say(type="get_history")
        await host.hear("command_result")
    check_invariants(host.heard)
    return Life(host.heard, done=True)


async def _kill(host: Conversation, after_s: float) -> None:
    await anyio.sleep(after_s)
    host.process.kill()


async def _play(host: Conversation) -> bool:
    """Answer what is asked until the turn has ended."""
    while (event := await host.next())["type"] != "stream_end":
        if event["type"] == "tool_request":
            call_id = event["call_id"]
            if call_id.startswith("no"):
                await host.deny(call_id)
            else:
                await host.approve(call_id, answer="blue")
    return True


def _store(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db"


def cut_power(tmp_path: Path) -> None:
    """Take from the log what was not on the disk itself when the engine was killed."""
    path = _store(tmp_path)
    os.truncate(f"{path}-wal", int(path.with_name("synced").read_text()))


def recorded(tmp_path: Path) -> list[JournalRecord]:
    """Return the journal as it is on the disk."""
    path = str(_store(tmp_path))
    with opened(Location(path, path)) as database:
        return list(journal.read_all(database, identity.user_id(), SESSION))


def check(first: Life, second: Life, workspace: Path, records: list[JournalRecord]) -> None:
    """Hold two lives against each other, the disk and the journal."""
    succeeded = check_effects(first, second, workspace, records)
    heard = set[str]().union(
        *(life.of("tool_result", status="success") for life in (first, second))
    )
    assert heard <= succeeded, "what the host was told is what the model is told"
    answered = first.of("call_settled")
    assert not answered & second.of("tool_request"), "no answer is asked for twice"
    ended = first.of("tool_result") | first.of("tool_cancelled")
    assert not ended & (second.of("call_announced") | second.of("tool_request"))


def check_effects(
    first: Life, second: Life, workspace: Path, records: list[JournalRecord]
) -> set[str]:
    """Hold against each other what must be so even after a power cut; return what succeeded."""
    path = workspace / "ran"
    runs = Counter(path.read_text().split() if path.exists() else [])
    assert max(runs.values(), default=0) <= 1, "nothing runs twice"
    assert runs["no1"] == 0, "what was refused never runs"
    (told,) = [e["messages"] for e in second.heard if e.get("command") == "get_history"]
    results = {each["call_id"]: each for each in told if each["role"] == "tool"}
    assert set(results) == CALLS, "the model has a result for each call"
    assert len([each for each in told if each["role"] == "tool"]) == len(CALLS), "and only one"
    unknown = {name for name, each in results.items() if "outcome unknown" in each["output"]}
    succeeded = {name for name, each in results.items() if each["status"] == "success"}
    assert succeeded | unknown == CALLS - {"no1"}, "what was allowed ran, or may have run"
    for name in ("yes1", "yes2"):
        assert runs[name] == 1 or name in unknown
    for name in ("w1", "w2"):
        assert name in unknown or (workspace / f"{name}.txt").read_text() == f"{name}\n"
    refused = first.of("tool_cancelled")
    assert not refused & (second.of("call_announced") | second.of("tool_request"))
    check_journal(records)
    return succeeded


def check_journal(records: list[JournalRecord]) -> None:
    """Hold the journal against itself: one end for each call, an effect only after a yes."""
    yes: set[str] = set()
    started: list[str] = []
    ended: list[str] = []
    for record in records:
        call_id = str(record.body.get("call_id"))
        match record.kind:
            case Kind.DECIDED if record.body["decision"] == "approved":
                yes.add(call_id)
            case Kind.STARTED:
                assert call_id in yes, "decided before it started"
                started.append(call_id)
            case Kind.ENDED:
                ended.append(call_id)
            case _:
                pass
    assert Counter(ended) == Counter(CALLS)
    assert set(Counter(started).values()) == {1}, "started once"
    last = (Kind.TURN_ENDED, Kind.COMMANDED)
    assert records[-1].kind in last
