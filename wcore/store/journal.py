"""The journal of a session in the database: records such as `(7, "asked", {…})`, in order.

Called in the store's thread, by `Store`. Only the holder of the lease can append; an engine that
lost its session to another learns it here, from `LeaseLostError`.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast
from uuid import UUID

import msgspec

from wcore.store import audit
from wcore.store.audit import Entry
from wcore.store.database import Database, Lock, Row
from wcore.store.encoding import now
from wcore.store.errors import JournalDamagedError, LeaseLostError, StoreError
from wcore.store.identity import session_key
from wcore.store.sessions import Lease
from wcore.store.values import (
    JournalPage,
    JournalRecord,
    Kind,
    RawRecord,
    Record,
    SessionState,
)
from wcore.vocabulary import Json

PAGE_RECORDS: Final = 1_000  # read at once
SUM_CHARS: Final = 8  # 1 in 4 billion changes goes unnoticed

_HOLD: Final = """
    UPDATE sessions SET last_at = coalesce(:used, last_at), lease_until = :until,
        state = coalesce(:state, state)
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
_NUMBERS: Final = "SELECT seq FROM journal WHERE session_key = :key ORDER BY seq"
_EXTENT: Final = "SELECT count(*), coalesce(max(seq), 0) FROM journal WHERE session_key = :key"
_LAST_OF_KIND: Final = """
    SELECT seq FROM journal WHERE session_key = :key AND kind = :kind ORDER BY seq DESC LIMIT 1
"""
_MESSAGES: Final = frozenset({Kind.TURN_STARTED, Kind.REPLIED})  # their time is when it was used
_STATES: Final = {Kind.TURN_STARTED: SessionState.IN_TURN, Kind.TURN_ENDED: SessionState.IDLE}
_SUM_BEGINS: Final = '{"sum":"'
_SUM_AT: Final = len(_SUM_BEGINS)
_KINDS: Final[Mapping[object, Kind]] = {kind.value: kind for kind in Kind}
_encoded: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class AuditUnwritableError(Exception):
    """What was to be written together with a record cannot be: without it, the record can."""


def append(
    database: Database,
    lease: Lease,
    records: Sequence[Record],
    *,
    durable: bool,
    audited: Sequence[Entry] = (),
) -> int:
    """Append records, and `audited` rows to the audit, all or none; return the last number.

    Raises:
        LeaseLostError: another engine has the session; nothing was written.
        AuditUnwritableError: the audit alone cannot be written; nothing was.
        StoreError: the store cannot be written; nothing was.
        ValueError: a body holds a number that JSON has not.
    """
    texts = [_encoded(record.body) for record in records]
    moment = now()
    with database.writing(Lock.AUDIT if audited else None, durable=durable):
        _hold(database, lease, records, moment)
        seq = int(database.query(_LAST_SEQ, key=lease.key)[0][0] or 0)
        for record, text in zip(records, texts, strict=True):
            seq += 1
            kind = record.kind.value
            body = with_sum(seq, kind, text)
            database.change(_APPEND, key=lease.key, seq=seq, kind=kind, at=moment, body=body)
        if audited:
            try:
                audit.append_within(database, audited)
            except StoreError as error:
                raise AuditUnwritableError from error
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


def read_chosen(
    database: Database, lease: Lease, always: frozenset[Kind], in_open_turn: frozenset[Kind]
) -> list[RawRecord]:
    """Return the records of some kinds in order; `in_open_turn` only behind the last turn's end.

    The others are counted, and not read; a kind that is unknown is damage.

    Raises:
        JournalDamagedError: a record is missing, or one of these is not as it was written.
    """
    count, last = database.query(_EXTENT, key=lease.key)[0]
    if count != last:
        raise JournalDamagedError(lease.session_id, _first_gap(database, lease))
    found = database.query(_LAST_OF_KIND, key=lease.key, kind=Kind.TURN_ENDED.value)
    ended = found[0][0] if found else 0
    never = frozenset(Kind) - always - in_open_turn
    wanted = f"kind NOT IN ({_listed(never)})"
    wanted += f" AND (seq > :ended OR kind NOT IN ({_listed(in_open_turn)}))"
    sql = _READ.replace("ORDER BY", f"AND {wanted} ORDER BY")
    records: list[RawRecord] = []
    after = 0
    while rows := database.query(sql, key=lease.key, after=after, ended=ended, limit=PAGE_RECORDS):
        after = int(rows[-1][0] or 0)
        for row in rows:
            record = _raw(row)
            if record is None:
                raise JournalDamagedError(lease.session_id, int(row[0] or 0))
            records.append(record)
    return records


def decoded(session_id: str, record: RawRecord) -> JournalRecord:
    """Return a record with its body.

    Raises:
        JournalDamagedError: the body is no JSON object.
    """
    found = _decoded(record)
    if found is None:
        raise JournalDamagedError(session_id, record.seq)
    return found


def _listed(kinds: frozenset[Kind]) -> str:
    return ", ".join(f"'{kind.value}'" for kind in sorted(kinds))


def _first_gap(database: Database, lease: Lease) -> int:
    """Return the first number that is missing, or that does not count from 1."""
    rows = database.query(_NUMBERS, key=lease.key)
    return next((at for at, (seq,) in enumerate(rows, 1) if seq != at), len(rows))


def _hold(database: Database, lease: Lease, records: Sequence[Record], moment: str) -> None:
    """Keep the session's row locked until the transaction ends: nobody can take it meanwhile."""
    states = [_STATES[record.kind] for record in records if record.kind in _STATES]
    held = database.change(
        _HOLD,
        key=lease.key,
        owner=lease.holder.owner,
        used=moment if any(record.kind in _MESSAGES for record in records) else None,
        until=lease.holder.as_values()["until"],
        state=states[-1].value if states else None,
    )
    if not held:
        raise LeaseLostError(lease.session_id)


def with_sum(seq: int, kind: str, text: str) -> str:
    """Return an object with a sum in front: a record that was changed or moved does not fit it.

    It finds damage; whoever can write the store can also make a new one.
    """
    return f'{{"sum":"{_sum(seq, kind, text)}"{"" if text == "{}" else ","}{text[1:]}'


def _without_sum(seq: int, kind: str, body: str) -> str:
    """Return the object alone.

    Raises:
        ValueError: the sum does not fit.
    """
    end = _SUM_AT + SUM_CHARS
    text = "{" + body[end + 1 :].removeprefix(",")
    if body[:end] != f"{_SUM_BEGINS}{_sum(seq, kind, text)}":
        raise ValueError("there is no sum, or it does not fit")
    return text


def _sum(seq: int, kind: str, text: str) -> str:
    return hashlib.sha256(f"{seq} {kind} {text}".encode()).hexdigest()[:SUM_CHARS]


def _record(row: Row) -> JournalRecord | None:
    raw = _raw(row)
    return raw and _decoded(raw)


def _raw(row: Row) -> RawRecord | None:
    """Return a row that is as it was written, or `None`; a long session has very many."""
    seq, kind, at, body = row
    if not (isinstance(seq, int) and isinstance(body, str) and kind in _KINDS):
        return None
    try:
        return RawRecord(seq, _KINDS[kind], str(at), _without_sum(seq, str(kind), body))
    except ValueError:
        return None


def _decoded(record: RawRecord) -> JournalRecord | None:
    try:
        body = msgspec.json.decode(record.text)
    except (msgspec.DecodeError, RecursionError):
        try:  # what the fast reader refuses (a lone surrogate) JSON may hold
            body = json.loads(record.text)
        except (ValueError, RecursionError):
            return None
    if not isinstance(body, dict):
        return None
    return JournalRecord(record.seq, record.kind, record.at, cast("dict[str, Json]", body))
