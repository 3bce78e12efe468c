"""The audit `agent_tool_approval_audit`: append under a lock, read back. In the store's thread.

Each row's hash covers the row and the hash of the row before it; `verify` recomputes them. A row
says in which format it was written: a column that is added later is no part of older hashes.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import astuple, replace

from wcore.store.database import Database, Lock, Row
from wcore.store.encoding import now, storable
from wcore.store.identity import new_id
from wcore.store.values import (
    NAME_CHARS_MAX,
    REASON_CHARS_MAX,
    AuditDecision,
    AuditRow,
    ToolApprovalDecisionEvent,
)

FIRST_PREV_HASH: Final = "0" * 64
PAGE_ROWS: Final = 2_000  # read at once: memory stays flat, no transaction stays open
COLUMNS: Final = AuditRow.__struct_fields__

FORMAT: Final = 2  # of the rows that are written now
#: The columns that a hash covers, by the format of the row; the others are NULL in such a row.
_HASHED: Final[Mapping[int, tuple[str, ...]]] = {
    1: tuple(
        "id tool_call_id user_id agent_id chat_id tool_name decision with_override reason "
        "created_at source rule_id seq".split()
    ),
    2: COLUMNS[:-2],  # all but prev_hash and hash; spelled out like 1 when there is a 3
}
_NAMES: Final = ", ".join(COLUMNS)
_INSERT: Final = f"""
    INSERT INTO agent_tool_approval_audit ({_NAMES})
    VALUES ({", ".join(f":{name}" for name in COLUMNS)})
"""
_LAST: Final = "SELECT seq, hash FROM agent_tool_approval_audit ORDER BY seq DESC LIMIT 1"
_FORWARD: Final = f"""
    SELECT {_NAMES} FROM agent_tool_approval_audit
    WHERE seq > :seq ORDER BY seq LIMIT :rows
"""
_BACKWARD: Final = f"""
    SELECT {_NAMES} FROM agent_tool_approval_audit
    WHERE seq < :seq AND created_at >= :since ORDER BY seq DESC LIMIT {PAGE_ROWS}
"""
_APPROVAL: Final = """
    SELECT 1 FROM agent_tool_approval_audit
    WHERE tool_call_id = :call AND chat_id = :chat AND user_id = :user
        AND decision = 'approved' AND source = 'user' LIMIT 1
"""
_canonical: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class Entry(Struct, frozen=True):
    """A row without its place in the chain. Id and time are those of the decision."""

    row: AuditRow

    @classmethod
    def of(cls, event: ToolApprovalDecisionEvent) -> "Entry":
        decision, reason = _decision(event)
        return cls(
            AuditRow(
                id=str(new_id()),
                tool_call_id=storable(event.tool_call_id, NAME_CHARS_MAX),
                user_id=str(event.user_id),
                agent_id=str(event.agent_id),
                chat_id=str(event.chat_id),
                tool_name=storable(event.tool_name, NAME_CHARS_MAX),
                decision=decision.value,
                with_override=event.with_override,
                reason=reason,
                created_at=now(),
                source=event.source.value,
                rule_id=event.rule_id and storable(event.rule_id, NAME_CHARS_MAX),
                rule_source=event.rule_source and storable(event.rule_source, NAME_CHARS_MAX),
                format=FORMAT,
                seq=0,
                prev_hash="",
                hash="",
            )
        )


def append(database: Database, entries: Sequence[Entry], *, durable: bool = True) -> None:
    """Append rows to the chain, all or none; waits for other engines that append.

    Raises:
        StoreError: they could not be written.
    """
    with database.writing(Lock.AUDIT, durable=durable):
        append_within(database, entries)


def append_within(database: Database, entries: Sequence[Entry]) -> None:
    """Append rows within a transaction that has `Lock.AUDIT`.

    Raises:
        StoreError: they could not be written.
    """
    last = database.query(_LAST)
    seq, prev_hash = (int(last[0][0] or 0), str(last[0][1])) if last else (0, FIRST_PREV_HASH)
    for entry in entries:
        seq += 1
        row = replace(entry.row, seq=seq, prev_hash=prev_hash)
        row_hash = hash_of(astuple(row), prev_hash)
        assert row_hash is not None, "rows are made in a format that is known"
        values = dict(zip(COLUMNS, astuple(row), strict=True))
        database.change(_INSERT, **{**values, "hash": row_hash})
        prev_hash = row_hash


def has_approval(database: Database, user_id: UUID, chat_id: UUID, call_id: str) -> bool:
    """Whether there is a row of a person's yes to a call of a session."""
    return bool(
        database.query(
            _APPROVAL, user=str(user_id), chat=str(chat_id), call=storable(call_id, NAME_CHARS_MAX)
        )
    )


def hash_of(row: Sequence[object], prev_hash: str) -> str | None:
    """Return the hash of a row (in the order of `COLUMNS`; its own hashes are not looked at).

    `None`: no row like this is ever written. Its format is unknown, or it holds something in a
    column that its format does not have, which no hash would cover.
    """
    values = dict(zip(COLUMNS, row, strict=True))
    number = values["format"]
    names = _HASHED.get(number) if isinstance(number, int) else None
    if names is None:
        return None
    uncovered = set(COLUMNS) - {*names, "format", "prev_hash", "hash"}
    if any(values[name] is not None for name in uncovered):
        return None
    text = _canonical({name: values[name] for name in names})
    return sha256(prev_hash.encode() + text.encode()).hexdigest()


def pages(database: Database, page_rows: int = PAGE_ROWS) -> Iterator[list[Row]]:
    """Yield all rows in order, page by page, booleans as booleans."""
    after_seq = 0
    while rows := database.query(_FORWARD, seq=after_seq, rows=page_rows):
        yield [_plain(row) for row in rows]
        after_seq = int(rows[-1][_SEQ] or 0)


def newest_first(database: Database, since: str) -> Iterator[AuditRow]:
    """Yield the rows made at or after `since` (stored form), the newest first."""
    before = 2**63 - 1
    while rows := database.query(_BACKWARD, seq=before, since=since):
        for row in rows:
            yield AuditRow(*_plain(row))  # pyright: ignore[reportArgumentType]
        before = int(rows[-1][_SEQ] or 0)


_SEQ: Final = COLUMNS.index("seq")
_WITH_OVERRIDE: Final = COLUMNS.index("with_override")


def _plain(row: Row) -> Row:
    return (*row[:_WITH_OVERRIDE], row[_WITH_OVERRIDE] in (1, True), *row[_WITH_OVERRIDE + 1 :])


def _decision(event: ToolApprovalDecisionEvent) -> tuple[AuditDecision, str | None]:
    """A reason belongs to a denial with one, and to nothing else."""
    if event.decision is not AuditDecision.DENIED_WITH_REASON:
        return event.decision, None
    reason = storable(event.reason or "", REASON_CHARS_MAX)
    return (event.decision, reason) if reason.strip() else (AuditDecision.DENIED, None)
