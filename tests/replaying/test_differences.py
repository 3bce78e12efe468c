"""What is not as it was is found and named; nothing is ever called identical falsely."""

import json
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
import waiting
from msgspec.structs import replace
from replaying.recordings import is_identical, names, replayed, stored
from talking import Conversation, call

from wcore.approval import reasons
from wcore.replay.player import Replayed, replay
from wcore.replay.timeline import EventItem, RecordItem
from wcore.replay.unsupported import UnreplayableError
from wcore.store import JournalRecord, Kind, SessionRow, journal
from wcore.vocabulary import Decision, Row, Verdict, Why

Talk = Callable[..., Conversation]
Recording = tuple[SessionRow, list[JournalRecord]]
pytestmark = pytest.mark.anyio

COMMAND = "echo executed >> proof"
AT_ONCE = 16  # replays, most of which wait for what will not come


async def recorded(talk: Talk, workspace: Path) -> Conversation:
    """Hold a conversation with a little of everything."""
    calls = [call("Bash", "b", command=COMMAND), call("Write", "w", file_path="w", content="x")]
    says = [{"thinking": "h"}, {"text": "hello"}, *calls]
    async with talk(says, [{"text": "bye"}], flags=("--session-id", "s")) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="w")
        await host.say(type="list_pending")
        await host.hear("command_result")
        await host.say_raw(b"rubbish\n")
        scope = {"always_prefix": {"prefix": "echo executed"}}
        await host.approve("b", scope=scope)
        await host.hear("tool_result", call_id="b")
        await host.deny("w", reason="not now")
        await host.hear("stream_end")
        await host.say(type="list_grants")
        await host.hear("command_result")
    return host


@pytest.fixture
async def recording(talk: Talk, workspace: Path, tmp_path: Path) -> Recording:
    await recorded(talk, workspace)
    return stored(tmp_path / "home", "s")


async def played(row: SessionRow, records: Sequence[JournalRecord]) -> Replayed:
    return await anyio.to_thread.run_sync(replay, row, records)


async def test_nothing_is_executed_a_second_time(
    talk: Talk, workspace: Path, tmp_path: Path
) -> None:
    host = await recorded(talk, workspace)
    proof = workspace / "proof"
    assert proof.read_text() == "executed\n"
    proof.unlink()
    store = tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db"
    before = content(store)
    await is_identical(host)
    assert names(workspace) == []
    assert content(store) == before


def content(store: Path) -> list[object]:
    with sqlite3.connect(store) as database:
        tables = ("journal", "sessions", "grants", "agent_tool_approval_audit")
        return [database.execute(f"SELECT * FROM {name}").fetchall() for name in tables]


async def test_a_changed_byte_of_any_record_is_damage_that_names_it(
    talk: Talk, workspace: Path, tmp_path: Path
) -> None:
    host = await recorded(talk, workspace)
    store = tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db"
    database = sqlite3.connect(store, isolation_level=None)
    rows = database.execute("SELECT seq, body FROM journal ORDER BY seq").fetchall()
    for seq, body in {*rows[:: len(rows) // 6], rows[-1]}:
        at = len(body) // 2
        other = "0" if body[at] != "0" else "1"
        changed = body[:at] + other + body[at + 1 :]
        database.execute("UPDATE journal SET body = ? WHERE seq = ?", (changed, seq))
        code, told = await replayed(host)
        assert code == 2
        assert told["identical"] is None
        assert f"record {seq};" in told["problem"]
        database.execute("UPDATE journal SET body = ? WHERE seq = ?", (body, seq))
    database.close()
    await is_identical(host)


async def test_a_dropped_record_is_found_even_where_the_others_close_up(
    talk: Talk, workspace: Path, tmp_path: Path
) -> None:
    host = await recorded(talk, workspace)
    store = tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db"
    database = sqlite3.connect(store, isolation_level=None)
    database.execute("DELETE FROM journal WHERE seq = 7")
    assert (await replayed(host))[0] == 2
    database.execute("UPDATE journal SET seq = seq - 1 WHERE seq > 7")
    code, told = await replayed(host)
    assert (code, "record 7;" in told["problem"]) == (2, True)
    database.close()


async def test_every_record_left_out_is_missed(recording: Recording) -> None:
    """Even somebody who mends numbers and sums cannot leave one out."""
    row, records = recording
    assert (await played(row, records)).divergence is None
    missed: dict[int, bool] = {}
    limiter = anyio.CapacityLimiter(AT_ONCE)

    async def without(at: int) -> None:
        rest = [*records[:at], *records[at + 1 :]]
        try:
            async with limiter:
                done = await played(row, rest)
        except (UnreplayableError, LookupError, TypeError, ValueError):
            missed[at] = True
        else:
            missed[at] = done.divergence is not None

    async with anyio.create_task_group() as tasks:
        for at in range(len(records) - 1):
            tasks.start_soon(without, at)
    for at, record in enumerate(records[:-1]):
        nothing_new = str(record.body.get("what")).startswith("reloaded")
        assert missed[at] or nothing_new, f"{record.kind} {record.body}"


async def test_an_altered_outcome_is_the_first_difference(recording: Recording) -> None:
    row, records = recording
    for kind, name, value in (
        (Kind.ENDED, "output", "other\n"),
        (Kind.PREPARED, "digest", "v2:0"),
        (Kind.REPLIED, "text", "hullo"),
        (Kind.DECIDED, "rule_id", "x"),
        (Kind.ASKED, "row", "rule"),
        (Kind.TURN_STARTED, "msg_id", "m9"),
        (Kind.TURN_ENDED, "finish", "error"),
    ):
        at = next(n for n, each in enumerate(records) if each.kind is kind)
        changed = replace(records[at], body={**records[at].body, name: value})
        done = await played(row, [*records[:at], changed, *records[at + 1 :]])
        found = done.divergence
        assert found is not None, kind
        assert found.recorded is not None
        assert found.recorded.seq <= changed.seq + 2, kind


async def test_a_changed_digest_of_an_event_names_the_event(recording: Recording) -> None:
    row, records = recording
    number = 0
    for at, record in enumerate(records):
        if record.kind is not Kind.SAID:
            continue
        events: list[Any] = json.loads(json.dumps(record.body["events"]))
        places = [place for place, each in enumerate(events) if not isinstance(each, str)]
        number += len(places)
        if number < 5:
            continue
        last = events[places[-1]]
        last[2] = "0" * 16
        changed = replace(record, body={"events": events})
        found = (await played(row, [*records[:at], changed, *records[at + 1 :]])).divergence
        assert found is not None
        assert isinstance(found.recorded, EventItem)
        assert (found.recorded.number, found.recorded.seq) == (number, record.seq)
        assert isinstance(found.now, EventItem)
        assert json.loads(found.now.line)["type"] == last[0]
        return


async def test_an_engine_that_behaves_differently_is_found_out(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug planted in today's engine: it forgets to say by whom a call was denied."""
    row, records = recording
    monkeypatch.setattr("wcore.turn.gate.REASON_SUSPEND", "unused here")
    assert (await played(row, records)).divergence is None
    monkeypatch.setattr("wcore.persistence.records.CHANGED", reasons.STOP)
    assert (await played(row, records)).divergence is None
    monkeypatch.setattr("wcore.turn.gate._OUTCOMES", dict.fromkeys(list(_outcomes()), "denied"))
    found = (await played(row, records)).divergence
    assert found is not None
    assert isinstance(found.recorded, EventItem)
    assert found.recorded.kind == "call_settled"
    assert isinstance(found.now, EventItem)
    assert json.loads(found.now.line)["outcome"] == "denied"


def _outcomes() -> Sequence[Any]:
    from wcore.approval.table import Move

    return list(Move)


async def test_an_engine_that_decides_differently_is_found_out(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, records = recording
    planted = Decision(Verdict.ALLOW, Why(Row.MODE, "planted"))

    def allow(*_: object) -> Decision:
        return planted

    monkeypatch.setattr("wcore.session.session.decide_strictest", allow)
    found = (await played(row, records)).divergence
    assert found is not None
    assert isinstance(found.recorded, RecordItem)
    assert found.recorded.kind is Kind.ASKED
    assert isinstance(found.now, RecordItem)
    assert (found.now.kind, found.now.body["decision"]) == (Kind.DECIDED, "approved")


async def test_an_engine_that_says_more_than_then_is_found_out(recording: Recording) -> None:
    row, records = recording
    at = max(n for n, each in enumerate(records) if each.kind is Kind.SAID)
    events: Any = records[at].body["events"]
    shorter = replace(records[at], body={"events": events[:-1]})
    found = (await played(row, [*records[:at], shorter, *records[at + 1 :]])).divergence
    assert found is not None
    assert isinstance(found.recorded, RecordItem)


# --- what cannot be replayed --------------------------------------------------------------------


async def test_a_session_of_an_older_version_says_so(recording: Recording) -> None:
    row, records = recording
    old = {name: value for name, value in records[0].body.items() if name != "replay"}
    with pytest.raises(UnreplayableError, match="record 1: recorded by another version of wcore"):
        await played(row, [replace(records[0], body=old), *records[1:]])


async def test_an_unknown_session_is_named(talk: Talk) -> None:
    async with talk([]) as host:
        await host.ready()
    code, told = await replayed(host, "nobody")
    assert (code, told["identical"]) == (2, None)
    assert "'nobody'" in told["problem"]


async def test_people_read_where_and_what_and_no_control_characters(
    talk: Talk, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = [{"text": "\x1b]0;owned\x07\x1b[2J"}]
    async with talk(hostile, flags=("--session-id", "s")) as host:
        await host.ready()
        await host.turn()
    store = tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db"
    with sqlite3.connect(store) as database:
        select = "SELECT seq, body FROM journal WHERE kind = 'replied'"
        ((seq, body),) = database.execute(select).fetchall()
        text = '{"' + body[body.index('msg_id"') :]
        changed = journal.with_sum(seq, "replied", text.replace("owned", "OWNED"))
        database.execute("UPDATE journal SET body = ? WHERE seq = ?", (changed, seq))
    done = await waiting.run_process(
        [sys.executable, "-m", "wcore", "sessions", "replay", "s"],
        env={"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        cwd=workspace,
        check=False,
    )
    told = done.stdout.decode()
    assert done.returncode == 1
    assert told.startswith("different  ")
    assert "event 2, record" in told
    assert "  recorded  text_delta (digest " in told
    assert '  now       {"type":"text_delta"' in told
    assert not any(each in told for each in "\x1b\x07\u202e")
    assert done.stderr == b""
