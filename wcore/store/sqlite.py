"""The embedded store: SQLite in WAL mode, a file that only its owner can read.

Imported when the store is first used, never before: `ready` does not pay for it.
"""

import errno
import os
import sqlite3
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from wcore.store.database import (
    BUSY_S_MAX,
    SCHEMA_VERSION,
    Lock,
    Row,
    Value,
    require_version,
    schema,
)
from wcore.store.errors import (
    StoreError,
    StoreGoneError,
    StoreLockedError,
    StoreLostError,
    StoreSilentError,
)
from wcore.store.location import Location
from wcore.store.sqlite_file import DAMAGED, ELSEWHERE, Identity, make_private, prepare

_RETRY_S: Final = 0.01

_ACCESS: Final = f"make the file and its folder readable and writable for you, {ELSEWHERE}"
_FULL: Final = "make room on the disk"
_LOSSES: Final = (  # by words in the message of SQLite, with the remedy; the first one counts
    ("readonly", _ACCESS),
    ("unable to open", _ACCESS),
    ("not a database", DAMAGED),
    ("malformed", DAMAGED),
    ("is full", _FULL),
    ("disk I/O", f"check the disk, {ELSEWHERE}"),
)


# Connections to files that are gone: never closed, since that is done by name. One a connection.
_ABANDONED: Final[list[sqlite3.Connection]] = []


class SqliteDatabase:
    """One connection; see `wcore.store.database.Database`."""

    def __init__(self, location: Location) -> None:
        self.name = location.name
        self._log = f"{location.path}-wal"
        self._given_up = False
        with self._explained():
            prepare(location)
            self._connection = sqlite3.connect(
                location.path,
                timeout=BUSY_S_MAX,
                isolation_level=None,  # transactions are written out, never implied
                check_same_thread=False,  # one thread at a time is our caller's promise
                cached_statements=256,
            )
            # A damaged text must not stop a row from being read: its sum says what it is.
            self._connection.text_factory = partial(str, encoding="utf-8", errors="replace")
            try:
                self._prepare(location)
            except BaseException:
                self._connection.close()
                raise

    def query(self, sql: str, **values: Value) -> list[Row]:
        with self._explained():
            if not self._connection.in_transaction:
                self._require_same()
            return self._connection.execute(sql, values).fetchall()

    def change(self, sql: str, **values: Value) -> int:
        assert self._connection.in_transaction, "a change belongs into a transaction"
        with self._explained():
            return self._connection.execute(sql, values).rowcount

    @contextmanager
    def writing(
        self, lock: Lock | None = None, *, durable: bool = True
    ) -> Generator[None, None, None]:
        del lock  # there is one writer at a time in the whole file
        with self._explained():
            self._require_same()
            self._set_durable(durable=durable)
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._commit()
            except BaseException:
                with suppress(sqlite3.Error):  # a failed COMMIT may have rolled back already
                    self._connection.execute("ROLLBACK")
                raise

    def _commit(self) -> None:
        if self._given_up:
            raise StoreSilentError(self.name)
        self._connection.execute("COMMIT")

    def sync(self) -> None:
        with self._explained():
            self._require_same()
            log = os.open(self._log, os.O_RDONLY)
            try:
                os.fsync(log)
            finally:
                os.close(log)  # no lock of SQLite's is on this file, so none is lost by that

    def checkpoint(self) -> None:
        with self._explained():
            self._require_same()
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def scrub_deleted(self) -> bool:
        """Empty the write-ahead log; deleted pages were overwritten, see `_prepare`."""
        with self._explained():
            busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return not busy

    def give_up(self) -> None:
        self._given_up = True
        with suppress(sqlite3.Error):  # closed meanwhile
            self._connection.interrupt()

    def close(self) -> None:
        try:
            self._require_same()
        except StoreGoneError:
            return  # SQLite would remove the companions of whatever stands there now
        with suppress(sqlite3.Error):
            self._connection.close()
        self._identity.let_go()

    def _require_same(self) -> None:
        try:
            self._identity.require_same()
        except StoreGoneError:
            if self._connection not in _ABANDONED:
                _ABANDONED.append(self._connection)
            raise

    def _set_durable(self, *, durable: bool) -> None:
        if durable is not self._is_durable:
            # FULL: the log is synchronised at each commit, and with it all earlier commits.
            self._connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self._is_durable = durable

    def _prepare(self, location: Location) -> None:
        self._use_wal()
        make_private(location)
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("PRAGMA secure_delete=ON")  # tool output may hold secrets
        self._connection.execute("PRAGMA trusted_schema=OFF")
        self._is_durable = True
        self._version()  # the first reading makes the companions
        self._identity = Identity(location)
        self._create()

    def _use_wal(self) -> None:
        """Switch to WAL; SQLite does not wait when two programs do that at once, so we do."""
        give_up_at = time.monotonic() + BUSY_S_MAX
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL").fetchall()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > give_up_at:
                    raise
                time.sleep(_RETRY_S)
            else:
                return

    def _create(self) -> None:
        if self._version():
            return
        with self.writing(Lock.SCHEMA):
            if self._version():  # another engine may have been here
                return
            for statement in _statements(schema("sqlite")):
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def _version(self) -> int:
        found = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
        require_version(self.name, found)
        return found

    @contextmanager
    def _explained(self) -> Generator[None, None, None]:
        try:
            yield
        except sqlite3.Error as error:
            text = str(error)
            if "locked" in text:
                raise StoreLockedError(self.name) from error
            remedy = next((remedy for words, remedy in _LOSSES if words in text), None)
            kind = StoreLostError if remedy else StoreError  # such as a table that is not there
            raise kind(self.name, f"cannot be used: {text}", remedy or DAMAGED) from error
        except OSError as error:
            text = error.strerror or str(error)
            remedy = _FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else _ACCESS
            raise StoreLostError(self.name, f"cannot be used: {text}", remedy) from error


def _statements(script: str) -> Iterator[str]:
    """Split a script; triggers hold semicolons, which SQLite itself can tell."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    assert not statement.strip(), "a schema ends with a whole statement"
