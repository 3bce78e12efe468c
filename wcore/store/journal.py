"""The journal of a session: records in the order they happened. In the store's thread.

Only the holder of the lease can append; an engine that lost its session learns it there.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from wcore.store.database import Database, Row
from wcore.store.errors import JournalDamagedError, LeaseLostError
from wcore.store.identity import session_key
from wcore.store.sessions import Lease
from wcore.store.texts import now
from wcore.store.values import JournalPage, JournalRecord, Kind, Record, SessionState
from wcore.vocabulary import Json

PAGE_RECORDS: Final = 1_000  # read at once
SUM_CHARS: Final = 8  # 1 in 4 billion changes goes unnoticed

_HOLD: Final = """
    UPDATE sessions SET last_at = :now, lease_until = :until, state = coalesce(:state, state)
    WHERE session_key = :key AND lease_owner = :owner
"""
_APPEND: Final = """
    INSERT INTO journal (session_key, seq, kind, at, body)
    VALUES (:key, :seq, :kind, :at, :body)
"""
_LAST_SEQ: Final = "SELECT coalesce(max(seq), 0) FROM journal WHERE session_key = :key"
_READ: Final = """
    SELECT seq, kind, at, body FROM journal
    WHERE session_key = :key AND seq > :after ORDER BY seq LIMIT :limit
"""
_LAST: Final = """
    SELECT seq, kind, at, body FROM journal WHERE session_key = :key ORDER BY seq DESC LIMIT 1
"""
_STATES: Final = {Kind.TURN_STARTED: SessionState.IN_TURN, Kind.TURN_ENDED: SessionState.IDLE}
_SUM: Final = re.compile(rf'\{{"sum":"([0-9a-f]{{{SUM_CHARS}}})",?')
_encoded: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def append(database: Database, lease: Lease, records: Sequence[Record], *, durable: bool) -> int:
    """Append records, all or none; return the number of the last one.

    Raises:
        LeaseLostError: another engine has the session; nothing was written.
        StoreError: the store cannot be written; nothing was.
        ValueError: a body holds a number that JSON has not.
    """
    texts = [_encoded(record.body) for record in records]
    moment = now()
    with database.writing(durable=durable):
        _hold(database, lease, records, moment)
        seq = int(database.query(_LAST_SEQ, key=lease.key)[0][0] or 0)
        for record, text in zip(records, texts, strict=True):
            seq += 1
            kind = record.kind.value
            body = _with_sum(seq, kind, text)
            database.change(_APPEND, key=lease.key, seq=seq, kind=kind, at=moment, body=body)
    return seq


def drop_torn(database: Database, lease: Lease) -> bool:
    """Remove an unreadable last record, so that nothing is ever written behind it."""
    rows = database.query(_LAST, key=lease.key)
    if not rows or _record(rows[0]) is not None:
        return False
    with database.writing():
        _hold(database, lease, (), now())
        database.change(
            "DELETE FROM journal WHERE session_key = :key AND seq = :seq",
            key=lease.key,
            seq=rows[0][0],
        )
    return True


def read(
    database: Database, user_id: UUID, session_id: str, after: int = 0, limit: int = PAGE_RECORDS
) -> JournalPage:
    """Return the records that follow number `after`, in order.

    An unreadable record at the very end is left out and told by `torn`: it never was complete.

    Raises:
        JournalDamagedError: a record before the last one is missing or unreadable.
    """
    key = str(session_key(user_id, session_id))
    rows = database.query(_READ, key=key, after=after, limit=limit + 1)
    more = len(rows) > limit
    records: list[JournalRecord] = []
    for row in rows[:limit]:
        record = _record(row)
        if record is None and row is rows[-1]:
            return JournalPage(tuple(records), more=False, torn=True)
        if record is None or record.seq != after + len(records) + 1:
            raise JournalDamagedError(session_id, after + len(records) + 1)
        records.append(record)
    return JournalPage(tuple(records), more)


def read_all(database: Database, user_id: UUID, session_id: str) -> Iterator[JournalRecord]:
    """Yield every record, page by page.

    Raises:
        JournalDamagedError: as `read`, when the damage is reached.
    """
    after, more = 0, True
    while more:
        page = read(database, user_id, session_id, after)
        yield from page.records
        after, more = after + len(page.records), page.more


def read_whole(database: Database, user_id: UUID, session_id: str) -> Iterator[JournalRecord]:
    """Yield every record, as `read_all`; here a torn last one is damage like any other.

    Raises:
        JournalDamagedError: as `read`, when the damage is reached.
    """
    after, page = 0, JournalPage((), more=True)
    while page.more:
        page = read(database, user_id, session_id, after)
        yield from page.records
        after += len(page.records)
    if page.torn:
        raise JournalDamagedError(session_id, after + 1)


def _hold(database: Database, lease: Lease, records: Sequence[Record], moment: str) -> None:
    """Keep the session's row locked until the transaction ends: nobody can take it meanwhile."""
    states = [_STATES[record.kind] for record in records if record.kind in _STATES]
    held = database.change(
        _HOLD,
        key=lease.key,
        owner=lease.holder.owner,
        now=moment,
        until=lease.holder.as_values()["until"],
        state=states[-1].value if states else None,
    )
    if not held:
        raise LeaseLostError(lease.session_id)


def _with_sum(seq: int, kind: str, text: str) -> str:
    """Return an object with a sum in front: a record that was changed or moved does not fit it.

    It finds damage; whoever can write the store can also make a new one.
    """
    return f'{{"sum":"{_sum(seq, kind, text)}"{"" if text == "{}" else ","}{text[1:]}'


def _without_sum(seq: int, kind: str, body: str) -> str:
    """Return the object alone.

    Raises:
        ValueError: the sum does not fit.
    """
    found = _SUM.match(body)
    if found is None:
        return body  # older than sums
    text = f"{{{body[found.end() :]}"
    if found[1] != _sum(seq, kind, text):
        raise ValueError("the sum does not fit")
    return text


def _sum(seq: int, kind: str, text: str) -> str:
    return hashlib.sha256(f"{seq} {kind} {text}".encode()).hexdigest()[:SUM_CHARS]


def _record(row: Row) -> JournalRecord | None:
    seq, kind, at, body = row
    try:
        facts: Json = json.loads(_without_sum(int(seq or 0), str(kind), str(body)))
        if not isinstance(facts, Mapping):
            return None
        return JournalRecord(int(seq or 0), Kind(str(kind)), str(at), facts)
    except (ValueError, RecursionError):
        return None
