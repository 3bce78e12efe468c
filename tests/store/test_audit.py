import logging
import threading
from collections.abc import Callable

import pytest
from store.samples import AGENT, USER, decided

from wcore.store import audit
from wcore.store.audit import Entry
from wcore.store.audit_log import BATCH_MAX, QUEUE_MAX, AuditLog
from wcore.store.audit_verify import verify
from wcore.store.database import Database, Lock
from wcore.store.errors import StoreError
from wcore.store.identity import chat_id
from wcore.store.location import Location
from wcore.store.opening import opened as opened_store
from wcore.store.values import (
    AuditDecision,
    AuditRow,
    AuditSource,
    ToolApprovalDecisionEvent,
)

TABLE = "agent_tool_approval_audit"
COLUMNS = (  # as the documentation names them; one more would be a place for arguments
    "id tool_call_id user_id agent_id chat_id tool_name decision with_override reason created_at "
    "source rule_id rule_source format seq prev_hash hash"
).split()


def rows(database: Database) -> list[AuditRow]:
    return list(audit.newest_first(database, "0001-01-01T00:00:00.000000Z"))[::-1]


def write(database: Database, *events: ToolApprovalDecisionEvent) -> list[AuditRow]:
    audit.append(database, [Entry.of(event) for event in events])
    return rows(database)


def test_a_row_says_who_decided_what_about_which_call(database: Database) -> None:
    event = decided(with_override=True, source=AuditSource.GRANT, rule_id="user:12")
    (row,) = write(database, event)
    assert (row.tool_call_id, row.tool_name, row.decision) == ("c1", "Bash", "approved")
    assert (row.user_id, row.agent_id, row.chat_id) == (str(USER), str(AGENT), str(chat_id("s1")))
    assert (row.with_override, row.source, row.rule_id) == (True, "grant", "user:12")
    assert (row.reason, row.seq, row.prev_hash) == (None, 1, "0" * 64)
    assert row.id[14] == "7"  # UUIDv7


def test_the_audit_has_the_documented_columns_and_no_place_for_arguments(
    database: Database,
) -> None:
    assert list(AuditRow.__struct_fields__) == COLUMNS
    write(database, decided())
    row = database.query(f"SELECT * FROM {TABLE}")[0]
    assert len(row) == len(COLUMNS)
    assert (
        list(ToolApprovalDecisionEvent.__struct_fields__)
        == (
            "tool_call_id user_id agent_id chat_id tool_name decision source with_override reason "
            "rule_id rule_source"
        ).split()
    )


def test_every_text_in_a_row_was_given_for_its_column_and_for_no_other(database: Database) -> None:
    event = decided(
        decision=AuditDecision.DENIED_WITH_REASON,
        reason="not today",
        rule_id="user:12",
        rule_source="/p:3",
    )
    (row,) = write(database, event)
    derived = {row.id, row.created_at, row.prev_hash, row.hash}
    given = {"c1", str(USER), str(AGENT), str(chat_id("s1")), "Bash", "denied_with_reason"}
    texts = {getattr(row, name) for name in COLUMNS} - derived - {False, 1, audit.FORMAT}
    assert texts == given | {"user", "not today", "user:12", "/p:3"}


@pytest.mark.parametrize("decision", AuditDecision)
@pytest.mark.parametrize("reason", [None, "", "  \n", "because"])
def test_a_reason_is_kept_with_a_denial_that_has_one_and_with_nothing_else(
    database: Database, decision: AuditDecision, reason: str | None
) -> None:
    (row,) = write(database, decided(decision=decision, reason=reason))
    with_reason = decision is AuditDecision.DENIED_WITH_REASON
    if with_reason and reason == "because":
        assert (row.decision, row.reason) == ("denied_with_reason", "because")
    else:
        assert (row.decision, row.reason) == ("denied" if with_reason else decision.value, None)


@pytest.mark.parametrize(
    ("given", "stored"),
    [("x" * 3000, "x" * 2000), ("a\0b", "a�b"), ("\ud800", "?"), ("é🦊" * 1500, "é🦊" * 1000)],
)
def test_a_reason_of_any_text_can_be_stored(database: Database, given: str, stored: str) -> None:
    event = decided(decision=AuditDecision.DENIED_WITH_REASON, reason=given)
    (row,) = write(database, event)
    assert row.reason == stored
    assert verify(database).intact


@pytest.mark.parametrize("source", AuditSource)
def test_every_source_can_be_stored(database: Database, source: AuditSource) -> None:
    assert write(database, decided(source=source))[0].source == source.value


def test_each_row_is_chained_to_the_one_before(database: Database) -> None:
    write(database, decided("c1"), decided("c2"))
    first, second, third = write(database, decided("c3"))
    assert [first.seq, second.seq, third.seq] == [1, 2, 3]
    assert (second.prev_hash, third.prev_hash) == (first.hash, second.hash)


STATEMENTS = [
    f"UPDATE {TABLE} SET decision = 'approved'",
    f"UPDATE {TABLE} SET tool_name = tool_name",
    f"DELETE FROM {TABLE}",
    f"DELETE FROM {TABLE} WHERE seq = 1",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_database_itself_refuses_to_change_or_delete_a_row(
    database: Database, statement: str
) -> None:
    before = write(database, decided(decision=AuditDecision.DENIED))
    with pytest.raises(StoreError, match="append-only"), database.writing():
        database.change(statement)
    assert rows(database) == before


@pytest.mark.parametrize("same", ["id", "seq"])
def test_the_database_refuses_to_replace_a_row(database: Database, same: str) -> None:
    (row,) = write(database, decided(decision=AuditDecision.DENIED))
    values = {name: getattr(row, name) for name in COLUMNS} | {"decision": "approved"}
    fresh = {"id": "00000000-0000-7000-8000-000000000000", "seq": 9}
    values |= {name: value for name, value in fresh.items() if name != same}
    names = ", ".join(COLUMNS)
    places = ", ".join(f":{name}" for name in COLUMNS)
    replace = f"INSERT OR REPLACE INTO {TABLE} ({names}) VALUES ({places})"
    if "team" in database.name:
        changed = "DO UPDATE SET decision = excluded.decision"
        replace = f"INSERT INTO {TABLE} ({names}) VALUES ({places}) ON CONFLICT ({same}) {changed}"
    with pytest.raises(StoreError, match="append-only"), database.writing():
        database.change(replace, **values)
    assert rows(database) == [row]


def test_postgresql_refuses_to_empty_the_table(team: Location) -> None:
    with opened_store(team) as database:
        write(database, decided())
        with pytest.raises(StoreError, match="append-only"), database.writing():
            database.change(f"TRUNCATE {TABLE}")


def test_a_batch_that_fails_leaves_no_row(database: Database) -> None:
    good = Entry.of(decided())
    with pytest.raises(StoreError):
        audit.append(database, [good, good])
    assert rows(database) == []


def test_the_newest_rows_come_first_and_since_cuts(database: Database) -> None:
    write(database, *(decided(f"c{n}") for n in range(5)))
    third = rows(database)[2]
    found = [row.tool_call_id for row in audit.newest_first(database, third.created_at)]
    assert found == ["c4", "c3", "c2"]


# --- best effort ------------------------------------------------------------------------------


def test_decisions_are_written_by_a_thread_of_their_own(
    opened: Callable[[], Database], database: Database
) -> None:
    log = AuditLog(opened)
    for number in range(BATCH_MAX + 10):
        log.record_decision(decided(f"c{number}"))
    assert log.close(20)
    assert [row.tool_call_id for row in rows(database)] == [f"c{n}" for n in range(BATCH_MAX + 10)]
    assert verify(database).intact


def test_a_log_that_was_never_used_opens_nothing() -> None:
    def connect() -> Database:
        raise AssertionError("opened")

    assert AuditLog(connect).close(0)


def test_a_store_that_cannot_be_opened_is_logged_and_raises_nothing(
    caplog: pytest.LogCaptureFixture, opened: Callable[[], Database]
) -> None:
    failures = [StoreError("x", "is broken", "mend it")]

    def connect() -> Database:
        if failures:
            raise failures.pop()
        return opened()

    log = AuditLog(connect)
    with caplog.at_level(logging.ERROR):
        log.record_decision(decided("lost"))
        while not caplog.messages:
            assert threading.active_count() > 1
        log.record_decision(decided("kept"))
        assert log.close(20)
    assert caplog.messages == ["audit.write_failed"]
    assert [row.tool_call_id for row in rows(opened())] == ["kept"]


def test_a_locked_audit_delays_nobody_and_what_does_not_fit_is_logged(
    caplog: pytest.LogCaptureFixture, opened: Callable[[], Database]
) -> None:
    log = AuditLog(opened)
    with caplog.at_level(logging.ERROR), opened().writing(Lock.AUDIT):
        for number in range(QUEUE_MAX + BATCH_MAX + 1):  # a batch is in the thread's hands
            log.record_decision(decided(f"c{number}"))
    assert "audit.dropped" in caplog.messages
    assert log.close(20)
    written = [row.tool_call_id for row in rows(opened())]
    assert len(written) >= QUEUE_MAX
    assert written == [f"c{n}" for n in range(QUEUE_MAX)] + written[QUEUE_MAX:]
    assert verify(opened()).intact


def test_an_event_that_is_none_is_logged_and_raises_nothing(
    caplog: pytest.LogCaptureFixture, opened: Callable[[], Database]
) -> None:
    log = AuditLog(opened)
    log.record_decision(None)  # pyright: ignore[reportArgumentType]
    assert caplog.messages == ["audit.dropped"]


def test_a_decision_after_the_end_is_logged(
    caplog: pytest.LogCaptureFixture, opened: Callable[[], Database]
) -> None:
    log = AuditLog(opened)
    log.record_decision(decided("c1"))
    assert log.close(20)
    log.record_decision(decided("c2"))
    assert caplog.messages == ["audit.closed"]
    assert [row.tool_call_id for row in rows(opened())] == ["c1"]
