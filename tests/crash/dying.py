"""An engine that is killed at a write of its journal: `dying.py WHEN:KIND:NUMBER ARGUMENTS…`.

WHEN is `before` or `after` the transaction; KIND is the kind of a record in it, or `any`; NUMBER
counts such writes from 1. The kill is SIGKILL from inside: nothing of the engine runs any more.
With `fail` for WHEN it lives, and that one write fails. With `cut` it dies after the write, and
`SYNCED` beside the store says how much of the log was on the disk itself: a power cut leaves that.
"""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wcore.__main__ import main
from wcore.store import Record, StoreError, journal
from wcore.store.sqlite import SqliteDatabase

SYNCED = "synced"


def arm(when: str, kind: str, number: int) -> None:
    """Wrap the one function that writes a journal."""
    write, left = journal.append, number
    synced = _follow_syncs()

    def append(
        database: Any, lease: Any, records: Sequence[Record], *, durable: bool, **more: Any
    ) -> int:
        nonlocal left
        counts = kind == "any" or any(record.kind.value == kind for record in records)
        left -= counts
        is_now = counts and left == 0
        if is_now and when == "fail":
            raise StoreError("in a test", "is full", "make room")
        if is_now and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if not synced:
            synced.append(_log_bytes(database))  # the session was entered durably
        last = write(database, lease, records, durable=durable, **more)
        if durable:
            synced.append(_log_bytes(database))
        if is_now and when == "cut":
            Path(database.name).with_name(SYNCED).write_text(str(synced[-1]))
        if is_now and when in ("after", "cut"):
            os.kill(os.getpid(), signal.SIGKILL)
        return last

    journal.append = append


def _follow_syncs() -> list[int]:
    """Return the list of how long the log was at each synchronisation, which goes on growing."""
    sync, sizes = SqliteDatabase.sync, list[int]()

    def followed(self: SqliteDatabase) -> None:
        size = _log_bytes(self)
        sync(self)
        sizes.append(size)

    SqliteDatabase.sync = followed
    return sizes


def _log_bytes(database: Any) -> int:
    log = Path(f"{database.name}-wal")
    return log.stat().st_size if log.exists() else 0  # PostgreSQL has its own


if __name__ == "__main__":
    when, kind, number = sys.argv.pop(1).split(":")
    arm(when, kind, int(number))
    main()
