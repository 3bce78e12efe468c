"""Best effort: decisions, and uses of grants, are written by a thread that holds no call up.

It has its own connection, so that an audit which is slow, full or locked delays neither the
journal nor the decision. What cannot be written is logged and gone.
"""

import logging
import math
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from wcore.store import audit, grants
from wcore.store.audit import Entry
from wcore.store.database import Database
from wcore.store.errors import StoreError
from wcore.store.values import ToolApprovalDecisionEvent

QUEUE_MAX: Final = 1_024  # decisions not yet written; as many as calls may be pending
SYNC_S: Final = 0.1  # rows are in the database at once; on the disk itself, many at a time
BATCH_MAX: Final = 256  # rows a transaction: one wait for the disk, and the lock is soon free

log: Final = logging.getLogger("wcore.audit")


class AuditLog:
    """Takes decisions and writes them. `connect` opens a database in the thread."""

    def __init__(self, connect: Callable[[], Database]) -> None:
        self._connect = connect
        self._queue: queue.Queue[Entry | str | None] = queue.Queue(QUEUE_MAX)
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def record_decision(self, event: ToolApprovalDecisionEvent) -> None:
        """Note one decision. Returns at once and never raises."""
        try:
            self._enqueue(Entry.of(event))
        except Exception:
            log.exception("audit.dropped")

    def record_use(self, grant_id: str) -> None:
        """Note one use of a lasting grant. Returns at once and never raises."""
        try:
            self._enqueue(grant_id)
        except Exception:
            log.exception("use.dropped")

    def _enqueue(self, item: Entry | str) -> None:
        if self._closing.is_set():
            log.error("audit.closed")
            return
        self._queue.put_nowait(item)
        if self._thread is None:
            # A daemon: a stuck database must not keep the engine from ending.
            self._thread = threading.Thread(
                target=self._write_until_closed, name="wcore-audit", daemon=True
            )
            self._thread.start()

    def close(self, timeout_s: float) -> bool:
        """Write what is queued, waiting at most `timeout_s`; false: rows are left over."""
        if self._thread is None:
            return True
        self._closing.set()
        with suppress(queue.Full):  # then the thread sees the event when the queue is empty
            self._queue.put_nowait(None)
        self._thread.join(timeout_s)
        done = not self._thread.is_alive()
        if not done:
            log.error("audit.unfinished")
        return done

    def _write_until_closed(self) -> None:
        database: Database | None = None
        sync_at = math.inf
        while (batch := self._next_batch(sync_at)) is not None:
            try:
                database = database or self._connect()
                if batch:
                    _write_or_retry(database, batch)
                    sync_at = min(sync_at, time.monotonic() + SYNC_S)
                if time.monotonic() >= sync_at:
                    sync_at = math.inf
                    database.sync()
            except Exception:
                log.exception("audit.write_failed", extra={"rows": len(batch)})
        if database is not None:
            with suppress(StoreError):
                database.sync()
            database.close()

    def _next_batch(self, until: float) -> list[Entry | str] | None:
        """Wait for entries, until a time at most; `None`: it is being closed, all is written."""
        if self._closing.is_set() and self._queue.empty():
            return None
        batch: list[Entry | str] = []
        wait_s = None if math.isinf(until) else max(0.0, until - time.monotonic())
        try:
            entry = self._queue.get(timeout=wait_s)
        except queue.Empty:
            return batch
        if entry is None:
            return None
        while entry is not None:
            batch.append(entry)
            if len(batch) == BATCH_MAX or self._queue.empty():
                break
            entry = self._queue.get()  # we are the only reader: it cannot have become empty
        return batch


def _write_or_retry(database: Database, batch: list[Entry | str]) -> None:
    """Write, all or nothing; once more if that fails: mostly many engines want the lock at once."""
    try:
        _write(database, batch)
    except StoreError:
        log.warning("audit.retried", exc_info=True)
        _write(database, batch)


def _write(database: Database, batch: list[Entry | str]) -> None:
    entries = [item for item in batch if isinstance(item, Entry)]
    if entries:
        audit.append(database, entries, durable=False)
    for grant_id, uses in Counter(item for item in batch if isinstance(item, str)).items():
        grants.count_use(database, grant_id, uses)
