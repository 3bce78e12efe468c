"""Conversations on disk: begin, resume, list, purge. Called in the store's thread."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

from msgspec import Struct

from wcore.store.database import Database, Lock, Row
from wcore.store.encoding import from_key, now, seconds_from_now, storable, storable_key
from wcore.store.errors import (
    InsideCallError,
    LeaseLostError,
    SessionBusyError,
    SessionExistsError,
    SessionMissingError,
)
from wcore.store.identity import session_key
from wcore.store.leases import LEASE_COLUMNS, LeaseHolder, living_holder
from wcore.store.values import SessionRow, SessionState
from wcore.supervisor.ancestry import is_inside_call
from wcore.visible import visible_line
from wcore.vocabulary import ID_CHARS_MAX

DAY_S: Final = 24 * 3600.0  # retention is set in days
LATEST: Final = "latest"
TITLE_CHARS_READ: Final = 4096  # of the first message's record: an id, and enough words
TITLE_CHARS_MAX: Final = 80  # a line of a list

_COLUMNS: Final = (
    "session_id, user_id, workspace, created_at, last_at, state, "
    "(SELECT coalesce(max(seq), 0) FROM journal WHERE journal.session_key = s.session_key), "
    f"(SELECT substr(body, 1, {TITLE_CHARS_READ}) FROM journal WHERE"
    " journal.session_key = s.session_key AND kind = 'turn_started' ORDER BY seq LIMIT 1), "
    + LEASE_COLUMNS
)
# A text in a JSON string: `"text":"` cannot stand inside one, its quotes would be escaped.
_TEXT: Final = re.compile(r'"text":"((?:[^"\\]|\\u[0-9a-f]{4}|\\[^u])*)')
_ONE: Final = f"SELECT {_COLUMNS} FROM sessions s WHERE session_key = :key"
_OF_USER: Final = f"""
    SELECT {_COLUMNS} FROM sessions s WHERE user_id = :user ORDER BY last_at DESC, session_id
"""
_LATEST: Final = """
    SELECT session_id FROM sessions s WHERE user_id = :user AND workspace = :workspace
        AND EXISTS (SELECT 1 FROM journal WHERE journal.session_key = s.session_key)
    ORDER BY last_at DESC, session_id LIMIT 1
"""
_INSERT: Final = """
    INSERT INTO sessions (session_key, session_id, user_id, workspace, created_at, last_at, state,
        lease_owner, lease_place, lease_pid, lease_started, lease_until)
    VALUES (:key, :session_id, :user, :workspace, :now, :now, 'idle',
        :owner, :place, :pid, :started, :until)
"""
_TAKE: Final = """
    UPDATE sessions SET lease_owner = :owner, lease_place = :place, lease_pid = :pid,
        lease_started = :started, lease_until = :until
    WHERE session_key = :key
"""
_RENEW: Final = """
    UPDATE sessions SET lease_until = :until WHERE session_key = :key AND lease_owner = :owner
"""
_FORGET_EMPTY: Final = """
    DELETE FROM sessions WHERE session_key = :key AND lease_owner = :owner
        AND NOT EXISTS (SELECT 1 FROM journal WHERE journal.session_key = sessions.session_key)
"""
_RELEASE: Final = """
    UPDATE sessions SET lease_owner = NULL WHERE session_key = :key AND lease_owner = :owner
"""


class Lease(Struct, frozen=True):
    """The right of this engine to write a session's journal."""

    session_id: str
    key: str
    holder: LeaseHolder


class Purged(Struct, frozen=True):
    """Which sessions are gone, and which stay because an engine works on them.

    `remains`: the deleted text may still be in the database's files for a while.
    """

    purged: tuple[str, ...]
    in_use: tuple[str, ...]
    remains: bool = False


def begin(database: Database, user_id: UUID, session_id: str, workspace: str) -> Lease:
    """Enter a new session and take its lease.

    One that an engine entered and left behind without a single record counts for nothing.

    Raises:
        SessionExistsError: there is one of that id already; it is not touched.
    """
    lease = Lease(session_id, str(session_key(user_id, session_id)), LeaseHolder.here())
    with database.writing(Lock.SESSIONS):
        known = [_session(row) for row in database.query(_ONE, key=lease.key)]
        if known and (known[0].records or known[0].holder is not None):
            raise SessionExistsError(session_id)
        database.change("DELETE FROM sessions WHERE session_key = :key", key=lease.key)
        database.change(
            _INSERT,
            key=lease.key,
            session_id=storable(session_id, ID_CHARS_MAX),
            user=str(user_id),
            workspace=storable_key(workspace),
            now=now(),
            **lease.holder.as_values(),
        )
    return lease


def resume(database: Database, user_id: UUID, session_id: str) -> tuple[Lease, SessionRow]:
    """Take the lease of a stored session, also that of an engine which has died.

    Raises:
        SessionMissingError: there is none of that id.
        SessionBusyError: a living engine has it.
    """
    lease = Lease(session_id, str(session_key(user_id, session_id)), LeaseHolder.here())
    with database.writing(Lock.SESSIONS):
        rows = database.query(_ONE, key=lease.key)
        if not rows:
            raise SessionMissingError(session_id)
        row = _session(rows[0])
        if row.holder is not None:
            raise SessionBusyError(session_id, row.holder)
        database.change(_TAKE, key=lease.key, **lease.holder.as_values())
    return lease, row


def renew(database: Database, lease: Lease) -> None:
    """Say that this engine lives.

    Raises:
        LeaseLostError: another engine has taken the session.
    """
    values = lease.holder.as_values()
    with database.writing(durable=False):
        kept = database.change(
            _RENEW, key=lease.key, owner=lease.holder.owner, until=values["until"]
        )
    if not kept:
        raise LeaseLostError(lease.session_id)


def release(database: Database, lease: Lease) -> None:
    """Give the session free, if it is still ours; one without any record is forgotten."""
    with database.writing(durable=False):
        database.change(_FORGET_EMPTY, key=lease.key, owner=lease.holder.owner)
        database.change(_RELEASE, key=lease.key, owner=lease.holder.owner)


def latest(database: Database, user_id: UUID, workspace: str) -> str:
    """Return the id of the session of this workspace that was used last.

    Raises:
        SessionMissingError: the workspace has none.
    """
    rows = database.query(_LATEST, user=str(user_id), workspace=storable_key(workspace))
    if not rows:
        raise SessionMissingError(LATEST)
    return str(rows[0][0])


def list_sessions(database: Database, user_id: UUID) -> list[SessionRow]:
    """Return the sessions of a user, the one used last first."""
    return [_session(row) for row in database.query(_OF_USER, user=str(user_id))]


def find(database: Database, user_id: UUID, session_id: str) -> SessionRow:
    """Return one session.

    Raises:
        SessionMissingError: there is none of that id.
    """
    rows = database.query(_ONE, key=str(session_key(user_id, session_id)))
    if not rows:
        raise SessionMissingError(session_id)
    return _session(rows[0])


def older_than(database: Database, user_id: UUID, days: float) -> list[str]:
    """Return the ids of the sessions that were not used for `days`."""
    limit = seconds_from_now(-days * DAY_S)
    return [row.session_id for row in list_sessions(database, user_id) if row.last_at < limit]


def purge_older(database: Database, user_id: UUID, days: float) -> Purged:
    """Delete what was not used for `days`, one session a transaction: nobody waits for long."""
    limit = seconds_from_now(-days * DAY_S)
    done = Purged((), ())
    for session_id in older_than(database, user_id, days):
        with suppress(SessionMissingError):  # another engine was quicker
            one = purge(database, user_id, [session_id], unused_since=limit)
            done = Purged(
                (*done.purged, *one.purged),
                (*done.in_use, *one.in_use),
                remains=done.remains or one.remains,
            )
    return done


def purge(
    database: Database,
    user_id: UUID,
    session_ids: Sequence[str],
    unused_since: str | None = None,
) -> Purged:
    """Delete sessions with their journals for good; those in use, now or since then, stay.

    Raises:
        SessionMissingError: there is none of one of these ids; nothing is deleted.
        InsideCallError: a tool call has started this process; nothing is deleted.
    """
    if is_inside_call():
        raise InsideCallError
    gone: list[str] = []
    in_use: list[str] = []
    with database.writing(Lock.SESSIONS):
        rows = [find(database, user_id, session_id) for session_id in dict.fromkeys(session_ids)]
        for row in rows:
            used_since = unused_since is not None and row.last_at >= unused_since
            if row.holder is not None or used_since:
                in_use.append(row.session_id)
                continue
            key = str(session_key(user_id, row.session_id))
            database.change("DELETE FROM journal WHERE session_key = :key", key=key)
            database.change("DELETE FROM sessions WHERE session_key = :key", key=key)
            gone.append(row.session_id)
    forgotten = database.scrub_deleted() if gone else True
    return Purged(tuple(gone), tuple(in_use), remains=not forgotten)


def _session(row: Row) -> SessionRow:
    session_id, user_id, workspace, created_at, last_at, state, records, first = row[:8]
    return SessionRow(
        session_id=str(session_id),
        user_id=str(user_id),
        workspace=from_key(str(workspace)),
        created_at=str(created_at),
        last_at=str(last_at),
        state=SessionState(str(state)),
        records=int(records or 0),
        holder=living_holder(row[8:]),
        title=_title(str(first or "")),
    )


def _title(body: str) -> str | None:
    """Return what the first message begins with; `body` is the beginning of its record."""
    found = _TEXT.search(body)
    try:
        text = str(json.loads(f'"{found[1]}"')).strip() if found else ""
    except ValueError:  # not ours: the session has no title
        return None
    return visible_line(text, TITLE_CHARS_MAX) or None
