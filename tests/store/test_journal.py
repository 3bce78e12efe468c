from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest
import waiting
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store.samples import USER, record

from wcore.persistence import records
from wcore.persistence.restore import (
    OF_CONVERSATION,
    OF_OPEN_TURN,
    Restored,
    UnreadableJournalError,
    restore,
)
from wcore.store import Location, SessionJournal, Store, journal, sessions
from wcore.store.database import Database
from wcore.store.errors import JournalDamagedError, StoreError
from wcore.store.opening import opened as opened_store
from wcore.store.sessions import Lease
from wcore.store.values import JournalPage, JournalRecord, Kind, Record, SessionState
from wcore.vocabulary import (
    AssistantMessage,
    Json,
    ModelCall,
    Status,
    ToolOutput,
    Usage,
)


@pytest.fixture
def lease(database: Database) -> Lease:
    return sessions.begin(database, USER, "s1", "/w")


def numbers(page: JournalPage) -> list[int]:
    return [entry.seq for entry in page.records]


def append(database: Database, lease: Lease, count: int) -> None:
    journal.append(
        database, lease, [record(Kind.COMMANDED, n=n) for n in range(count)], durable=False
    )


BODIES: list[dict[str, Json]] = [
    {},
    {"text": "a\0b\ud800é🦊\n"},
    {"nested": {"list": [1, 2.5, None, True, "x"]}, "big": 2**70},
    {"output": "x" * 300_000},
]


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_of_record_comes_back_in_order(
    database: Database, lease: Lease, kind: Kind
) -> None:
    for body in BODIES:
        journal.append(database, lease, [record(kind, **body)], durable=False)
    page = journal.read(database, USER, "s1")
    assert [(entry.seq, entry.kind, entry.body) for entry in page.records] == [
        (number, kind, body) for number, body in enumerate(BODIES, start=1)
    ]
    assert (page.more, page.torn) == (False, False)


def test_several_records_are_written_together_or_not_at_all(
    database: Database, lease: Lease
) -> None:
    with pytest.raises(ValueError, match="JSON"):
        journal.append(
            database,
            lease,
            [record(Kind.STARTED), record(Kind.ENDED, number=float("nan"))],
            durable=True,
        )
    assert journal.read(database, USER, "s1").records == ()
    assert journal.append(database, lease, [record(Kind.STARTED)] * 3, durable=True) == 3


def test_pages_have_no_gaps_and_say_when_there_is_more(database: Database, lease: Lease) -> None:
    append(database, lease, 7)
    pages = [journal.read(database, USER, "s1", after, limit=3) for after in (0, 3, 6, 7)]
    assert [numbers(page) for page in pages] == [[1, 2, 3], [4, 5, 6], [7], []]
    assert [page.more for page in pages] == [True, True, False, False]
    everything = journal.read_all(database, USER, "s1")
    assert [entry.seq for entry in everything] == list(range(1, 8))


def test_the_state_of_the_session_follows_its_turns(database: Database, lease: Lease) -> None:
    seen: list[SessionState] = []
    for kind in (Kind.TURN_STARTED, Kind.DECIDED, Kind.TURN_ENDED, Kind.COMMANDED):
        journal.append(database, lease, [record(kind)], durable=False)
        seen.append(sessions.find(database, USER, "s1").state)
    in_turn, idle = SessionState.IN_TURN, SessionState.IDLE
    assert seen == [in_turn, in_turn, idle, idle]


def spoil(database: Database, seq: int, change: str) -> None:
    with database.writing():
        database.change(f"UPDATE journal SET {change} WHERE seq = :seq", seq=seq)


SPOILT = ["body = '{\"n\": '", "body = '[]'", "body = ''", "kind = 'unheard_of'"]


@pytest.mark.parametrize("change", SPOILT)
def test_a_torn_last_record_is_left_out_and_said(
    database: Database, lease: Lease, change: str
) -> None:
    append(database, lease, 3)
    spoil(database, 3, change)
    page = journal.read(database, USER, "s1")
    assert (numbers(page), page.torn) == ([1, 2], True)


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_a_damaged_record_before_the_last_stops_the_reading(
    database: Database, lease: Lease, limit: int
) -> None:
    append(database, lease, 4)
    spoil(database, 2, SPOILT[0])
    last_page = max(after for after in range(0, 2, limit))
    with pytest.raises(JournalDamagedError, match="damaged at record 2"):
        journal.read(database, USER, "s1", last_page, limit)


def test_a_missing_record_stops_the_reading(database: Database, lease: Lease) -> None:
    append(database, lease, 4)
    with database.writing():
        database.change("DELETE FROM journal WHERE seq = 2")
    with pytest.raises(JournalDamagedError, match="damaged at record 2"):
        journal.read(database, USER, "s1")


def test_nothing_is_written_behind_a_torn_record(database: Database, lease: Lease) -> None:
    append(database, lease, 3)
    spoil(database, 3, SPOILT[0])
    assert journal.drop_torn(database, lease)
    assert not journal.drop_torn(database, lease)
    assert journal.append(database, lease, [record(Kind.COMMANDED)], durable=False) == 3
    assert numbers(journal.read(database, USER, "s1")) == [1, 2, 3]


def test_a_journal_that_cannot_be_written_says_so(
    opened: Callable[[], Database], lease: Lease
) -> None:
    with opened().writing():
        pass
    other = opened()
    with other.writing():
        other.change("ALTER TABLE journal RENAME TO gone")
    with pytest.raises(StoreError, match="cannot be used"):
        journal.append(other, lease, [record(Kind.STARTED)], durable=True)


# --- what a resumed session reads ---------------------------------------------------------------


@pytest.mark.parametrize("gone", [1, 2, 3])
def test_a_record_that_is_not_read_is_missed_all_the_same(
    database: Database, lease: Lease, gone: int
) -> None:
    append(database, lease, 4)
    with database.writing():
        database.change("DELETE FROM journal WHERE seq = :seq", seq=gone)
    with pytest.raises(JournalDamagedError, match=f"damaged at record {gone}"):
        journal.read_chosen(database, lease, OF_CONVERSATION, OF_OPEN_TURN)


@pytest.mark.parametrize("change", SPOILT)
def test_damage_of_a_record_that_is_read_is_named(
    database: Database, lease: Lease, change: str
) -> None:
    ended = record(Kind.TURN_ENDED, msg_id="m1")
    journal.append(database, lease, [record(Kind.COMMANDED), ended, ended], durable=False)
    spoil(database, 2, change)
    with pytest.raises(JournalDamagedError, match="damaged at record 2"):
        journal.read_chosen(database, lease, OF_CONVERSATION, OF_OPEN_TURN)


CALL_IDS = ("c1", "c2", "c3")
STEPS = st.lists(
    st.one_of(
        st.just(Record(Kind.TURN_STARTED, {"msg_id": "m1", "text": "go", "files": []})),
        st.just(Record(Kind.TURN_ENDED, {"msg_id": "m1", "finish": "stop"})),
        st.just(Record(Kind.COMMANDED, {"type": "init_history", "text": "by the way"})),
        st.sampled_from(CALL_IDS).map(records.started),
        st.sampled_from(CALL_IDS).map(
            lambda each: Record(Kind.ASKED, {"call_id": each, "row": "default", "digest": "d"})
        ),
        st.sampled_from(CALL_IDS).map(
            lambda each: Record(
                Kind.DECIDED,
                {"call_id": each, "decision": "approved", "source": "user", "digest": "d"},
            )
        ),
        st.sampled_from(CALL_IDS).map(
            lambda each: records.ended(each, "Read", ToolOutput(Status.SUCCESS, "text"))
        ),
        st.lists(st.sampled_from(CALL_IDS), unique=True).map(
            lambda ids: Record(
                Kind.REPLIED,
                records.replied(
                    "m1",
                    AssistantMessage("", "", tuple((i, ModelCall(i, "Read", {})) for i in ids)),
                    "stop",
                    Usage(1, 1),
                ),
            )
        ),
    ),
    max_size=30,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_what_is_left_out_changes_nothing_of_the_conversation(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Record]
) -> None:
    path = str(tmp_path_factory.mktemp("store") / "wcore.db")
    with opened_store(Location(path, path)) as database:
        lease = sessions.begin(database, USER, "s1", "/w")
        journal.append(database, lease, steps, durable=False)
        chosen = journal.read_chosen(database, lease, OF_CONVERSATION, OF_OPEN_TURN)
        every = list(journal.read_all(database, USER, "s1"))
    assert all(a.seq < b.seq for a, b in pairwise(chosen))
    assert _restored(journal.decoded("s1", each) for each in chosen) == _restored(every)


def _restored(found: Iterable[JournalRecord]) -> Restored | None:
    """Return the conversation, or nothing where the records make no sense."""
    try:
        return restore(found)
    except UnreadableJournalError:
        return None


@pytest.mark.anyio
async def test_with_each_renewal_the_history_moves_into_the_database_itself(
    tmp_path: Path,
) -> None:
    path, copy = tmp_path / "x.db", tmp_path / "copy.db"
    async with Store(Location("x", str(path))) as store:
        held = await SessionJournal.begin(store, USER, "s1", "/w")
        await held.append(record(Kind.TURN_STARTED), record(Kind.ENDED))
        await held.renew()
        # Another process: our locks stay.
        await waiting.run_process(["cp", str(path), str(copy)])
        with opened_store(Location("copy", str(copy))) as database:
            assert len(list(journal.read_all(database, USER, "s1"))) == 2
