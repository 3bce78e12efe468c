import subprocess
import sys
from collections.abc import Callable

import pytest
import waiting
from msgspec.structs import replace
from store.samples import OTHER_USER, USER, record

from wcore.store import journal, leases, sessions
from wcore.store.database import Database
from wcore.store.errors import (
    LeaseLostError,
    SessionBusyError,
    SessionExistsError,
    SessionMissingError,
)
from wcore.store.identity import session_key
from wcore.store.leases import LeaseHolder
from wcore.store.values import Kind, SessionState


def store_session(database: Database, name: str, workspace: str) -> None:
    """Leave a session behind that holds something."""
    lease = sessions.begin(database, USER, name, workspace)
    journal.append(database, lease, [record(Kind.TURN_STARTED)], durable=False)
    sessions.release(database, lease)


def test_a_new_session_is_idle_and_held_by_this_process(database: Database) -> None:
    sessions.begin(database, USER, "s1", "/w")
    (row,) = sessions.list_sessions(database, USER)
    assert (row.session_id, row.workspace, row.state) == ("s1", "/w", SessionState.IDLE)
    assert row.records == 0
    assert row.holder is not None
    assert "on this machine" in row.holder


def test_a_second_session_of_the_same_id_is_refused_and_names_resume(database: Database) -> None:
    store_session(database, "s1", "/w")
    with pytest.raises(SessionExistsError, match="--resume s1"):
        sessions.begin(database, USER, "s1", "/w")


def test_a_session_without_a_record_is_forgotten_when_its_engine_ends(database: Database) -> None:
    sessions.release(database, sessions.begin(database, USER, "s1", "/w"))
    assert sessions.list_sessions(database, USER) == []


def test_a_session_that_a_dead_engine_left_empty_can_be_begun_anew_but_not_a_living_one(
    database: Database,
) -> None:
    sessions.begin(database, USER, "s1", "/old")
    with pytest.raises(SessionExistsError):
        sessions.begin(database, USER, "s1", "/new")
    hold(database, replace(LeaseHolder.here(), started=-1))  # as if it were dead
    sessions.begin(database, USER, "s1", "/new")
    assert sessions.find(database, USER, "s1").workspace == "/new"


def test_two_users_may_choose_the_same_id(database: Database) -> None:
    sessions.begin(database, USER, "s1", "/mine")
    sessions.begin(database, OTHER_USER, "s1", "/theirs")
    assert sessions.find(database, USER, "s1").workspace == "/mine"
    assert sessions.find(database, OTHER_USER, "s1").workspace == "/theirs"


def test_an_unknown_session_cannot_be_resumed(database: Database) -> None:
    for attempt in (sessions.resume, sessions.find):
        with pytest.raises(SessionMissingError, match="wcore sessions list"):
            attempt(database, USER, "s1")


def test_a_session_in_use_cannot_be_resumed_and_the_holder_is_named(
    opened: Callable[[], Database],
) -> None:
    sessions.begin(opened(), USER, "s1", "/w")
    with pytest.raises(SessionBusyError, match=r"process \d+ on this machine"):
        sessions.resume(opened(), USER, "s1")


def test_a_released_session_can_be_resumed(database: Database) -> None:
    store_session(database, "s1", "/w")
    _, row = sessions.resume(database, USER, "s1")
    assert row.holder is None


def hold(database: Database, holder: LeaseHolder) -> None:
    with database.writing():
        database.change(
            "UPDATE sessions SET lease_owner = :owner, lease_place = :place, lease_pid = :pid, "
            "lease_started = :started, lease_until = :until",
            **holder.as_values(),
        )


def test_the_session_of_a_dead_process_is_free_at_once(database: Database) -> None:
    sessions.begin(database, USER, "s1", "/w")
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = leases.start_time(child.pid)
    hold(database, replace(LeaseHolder.here(), pid=child.pid, started=started or 0))
    with pytest.raises(SessionBusyError, match=f"process {child.pid} on this machine"):
        sessions.resume(database, USER, "s1")
    waiting.finish(child)
    sessions.resume(database, USER, "s1")


def test_a_process_that_got_the_number_of_a_dead_one_does_not_hold_its_session(
    database: Database,
) -> None:
    sessions.begin(database, USER, "s1", "/w")
    here = LeaseHolder.here()
    hold(database, replace(here, started=here.started + 1))
    sessions.resume(database, USER, "s1")


@pytest.mark.parametrize(("age_s", "free"), [(0.0, False), (2 * leases.LEASE_S, True)])
def test_elsewhere_only_the_clock_frees_a_session(
    database: Database, age_s: float, *, free: bool
) -> None:
    sessions.begin(database, USER, "s1", "/w")
    hold(database, replace(LeaseHolder.here(), place="another machine"))
    if age_s:
        with database.writing():
            database.change("UPDATE sessions SET lease_until = '2026-01-01T00:00:00.000000Z'")
    if free:
        sessions.resume(database, USER, "s1")
    else:
        with pytest.raises(SessionBusyError, match="elsewhere, until 20"):
            sessions.resume(database, USER, "s1")


def test_an_engine_whose_session_was_taken_over_can_write_nothing_more(
    opened: Callable[[], Database],
) -> None:
    one, other = opened(), opened()
    old = sessions.begin(one, USER, "s1", "/w")
    journal.append(one, old, [record(Kind.TURN_STARTED)], durable=True)
    hold(one, replace(old.holder, started=-1))  # as if it were dead
    new, _ = sessions.resume(other, USER, "s1")
    for late in (
        lambda: journal.append(one, old, [record(Kind.STARTED)], durable=True),
        lambda: sessions.renew(one, old),
    ):
        with pytest.raises(LeaseLostError, match="taken over"):
            late()
    sessions.release(one, old)
    assert journal.append(other, new, [record(Kind.COMMANDED)], durable=False) == 2


def test_latest_is_the_session_of_this_workspace_that_was_used_last(database: Database) -> None:
    for name, workspace in (("a", "/w"), ("b", "/w"), ("c", "/other")):
        store_session(database, name, workspace)
    assert sessions.latest(database, USER, "/w") == "b"
    lease, _ = sessions.resume(database, USER, "a")
    journal.append(database, lease, [record(Kind.TURN_STARTED)], durable=False)
    assert sessions.latest(database, USER, "/w") == "a"
    sessions.begin(database, USER, "empty", "/w")
    assert sessions.latest(database, USER, "/w") == "a"
    with pytest.raises(SessionMissingError):
        sessions.latest(database, USER, "/empty")


@pytest.mark.parametrize("newest", [Kind.TURN_STARTED, Kind.REPLIED])
@pytest.mark.parametrize("others", [["b"], ["b", "a"], ["a", "b"], ["b", "b"], ["a", "b", "b"]])
def test_only_a_message_makes_a_session_the_latest(
    database: Database, newest: Kind, others: list[str]
) -> None:
    """Neither ends of turns, nor closing, opening and closing again in any order."""
    leases = {name: sessions.begin(database, USER, name, "/w") for name in ("a", "b")}
    for name, kind in (
        *(("a", Kind.TURN_STARTED), ("b", Kind.TURN_STARTED), ("b", Kind.REPLIED)),
        *(("a", newest), ("b", Kind.TURN_ENDED), ("b", Kind.COMMANDED)),
    ):
        journal.append(database, leases[name], [record(kind)], durable=False)
    for name in others:
        sessions.release(database, leases[name])
        leases[name], _ = sessions.resume(database, USER, name)
        journal.append(database, leases[name], [record(Kind.OPENED)], durable=False)
        assert sessions.latest(database, USER, "/w") == "a"
        listed = [row.session_id for row in sessions.list_sessions(database, USER)]
        assert listed == ["a", "b"]


def test_purging_removes_session_and_journal_but_nothing_in_use(database: Database) -> None:
    done = sessions.begin(database, USER, "done", "/w")
    journal.append(database, done, [record(Kind.REPLIED, text="x")], durable=False)
    sessions.release(database, done)
    sessions.begin(database, USER, "used", "/w")
    purged = sessions.purge(database, USER, ["done", "used", "done"])
    assert (purged.purged, purged.in_use) == (("done",), ("used",))
    key = str(session_key(USER, "done"))
    left = "SELECT count(*) FROM journal WHERE session_key = :key"
    assert database.query(left, key=key) == [(0,)]
    assert [row.session_id for row in sessions.list_sessions(database, USER)] == ["used"]


def test_purging_an_unknown_session_removes_nothing(database: Database) -> None:
    store_session(database, "s1", "/w")
    with pytest.raises(SessionMissingError):
        sessions.purge(database, USER, ["s1", "s2"])
    assert len(sessions.list_sessions(database, USER)) == 1


def test_old_sessions_are_those_not_used_for_so_many_days(database: Database) -> None:
    for name in ("new", "old"):
        store_session(database, name, "/w")
    with database.writing():
        database.change(
            "UPDATE sessions SET last_at = '2026-01-01T00:00:00.000000Z' WHERE session_id = 'old'"
        )
    assert sessions.older_than(database, USER, 30) == ["old"]


def test_old_sessions_are_deleted_but_not_those_used_meanwhile(database: Database) -> None:
    for name in ("old", "older"):
        store_session(database, name, "/w")
    with database.writing():
        database.change("UPDATE sessions SET last_at = '2026-01-01T00:00:00.000000Z'")
    assert sessions.purge(database, USER, ["old"], unused_since="2025-12-31").in_use == ("old",)
    sessions.resume(database, USER, "old")
    assert sessions.purge_older(database, USER, 30).purged == ("older",)
    assert [row.session_id for row in sessions.list_sessions(database, USER)] == ["old"]


def test_a_workspace_whose_name_is_no_text_is_kept(database: Database) -> None:
    sessions.begin(database, USER, "s1", "/w\udcff")
    assert sessions.find(database, USER, "s1").workspace == "/w\udcff"
