"""The store of a team: PostgreSQL by URL, through psycopg 3. Imported only where it is used."""

import os
import re
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, Final, cast

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.types.string import TextLoader

from wcore.store.database import (
    BUSY_S_MAX,
    SCHEMA_VERSION,
    Lock,
    Row,
    Value,
    require_version,
    schema,
)
from wcore.store.errors import StoreError, StoreLockedError, StoreLostError
from wcore.store.location import Location

_LOCK_CLASS: Final = 0x77636F72  # "wcor": keeps our advisory locks apart from other programs'
_SETTINGS: Final[dict[str, Any]] = {
    "connect_timeout": int(BUSY_S_MAX),
    "tcp_user_timeout": int(BUSY_S_MAX * 2_000),  # ms: a dead network ends in an error
    "application_name": "wcore",
    "client_encoding": "utf8",
}
_SESSION: Final = f"""
    SET lock_timeout = '{BUSY_S_MAX:.0f}s';
    SET statement_timeout = '60s';
    SET idle_in_transaction_session_timeout = '10s';
    SET TIME ZONE 'UTC';
    SET datestyle = 'ISO, YMD'
"""
# Not `to_regclass`: it remembers within a transaction that there was no such table.
_HAS_SCHEMA: Final = b"""
    SELECT 1 FROM pg_catalog.pg_tables
    WHERE schemaname = current_schema() AND tablename = 'store_schema'
"""
_NOT_OURS: Final = (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName)
_UNWRITABLE: Final = frozenset(
    # read-only, without the right, disk full, I/O error, damaged data or index
    {"25006", "42501", "53100", "58030", "XX001", "XX002"}
)
_PARAMETER: Final = re.compile(r"(?<![:\w]):(\w+)")


class _TimeLoader(Loader):
    """Reads `2026-11-21 10:00:00.5+00` as the stored form of a time (see `encoding`)."""

    def load(self, data: Buffer) -> str:
        day, _, rest = bytes(data).decode("ascii").partition(" ")
        clock, _, fraction = rest.removesuffix("+00").partition(".")
        return f"{day}T{clock}.{fraction:0<6}Z"


class PostgresDatabase:
    """One connection; see `wcore.store.database.Database`. A lost one is opened again."""

    def __init__(self, location: Location) -> None:
        assert location.url is not None
        self.name = location.name
        self._url = location.url
        self._given_up = False
        self._socket: socket.socket | None = None
        self._has_connected = False
        with self._explained():
            self._connection = self._connect()
            self._has_connected = True
            try:
                self._create()
            except BaseException:
                self.close()
                raise

    def query(self, sql: str, **values: Value) -> list[Row]:
        with self._explained():
            if self._in_transaction:
                return self._rows(sql, values)
            try:
                return self._rows(sql, values)
            except psycopg.OperationalError:
                self._revive()
                return self._rows(sql, values)

    def change(self, sql: str, **values: Value) -> int:
        assert self._in_transaction, "a change belongs into a transaction"
        with self._explained():
            return self._execute(sql, values).rowcount

    @contextmanager
    def writing(
        self, lock: Lock | None = None, *, durable: bool = True
    ) -> Generator[None, None, None]:
        with self._explained():
            self._begin()
            try:
                if not durable:
                    self._connection.execute(b"SET LOCAL synchronous_commit = off")
                if lock is not None:
                    # Given back by the server at the end of the transaction, or of our process.
                    self._connection.execute(
                        b"SELECT pg_advisory_xact_lock(%s::int, %s::int)", (_LOCK_CLASS, int(lock))
                    )
                yield
                self._connection.execute(b"COMMIT")
            except BaseException:
                with suppress(psycopg.Error):
                    self._connection.execute(b"ROLLBACK")
                raise

    def sync(self) -> None:
        # The server flushes up to its commit, but only for a transaction that has written.
        with self.writing():
            self._connection.execute(b"SELECT pg_logical_emit_message(true, 'wcore', '')")

    def checkpoint(self) -> None:
        """The server does that itself."""

    def scrub_deleted(self) -> bool:
        """Files, copies and their cleaning are the server's."""
        return False

    def give_up(self) -> None:
        self._given_up = True
        held = self._socket
        if held is not None:
            with suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)  # who waits for an answer hears an end

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._connection.close()
        if self._socket is not None:
            self._socket.close()

    @property
    def _in_transaction(self) -> bool:
        return self._connection.info.transaction_status.value in {1, 2, 3}

    def _connect(self) -> psycopg.Connection:
        connection = psycopg.connect(self._url, autocommit=True, **_SETTINGS)
        connection.adapters.register_loader("uuid", TextLoader)
        connection.adapters.register_loader("timestamptz", _TimeLoader)
        # A descriptor of our own: the number of the other may lead elsewhere by then.
        if self._socket is not None:
            self._socket.close()
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        connection.execute(_SESSION.encode())
        return connection

    def _begin(self) -> None:
        try:
            self._connection.execute(b"BEGIN")
        except psycopg.OperationalError:
            self._revive()
            self._connection.execute(b"BEGIN")

    def _revive(self) -> None:
        """Connect again if the server has gone meanwhile; nothing is under way, so nothing lost.

        Raises:
            psycopg.OperationalError: what is being handled had another cause, or it is still gone.
        """
        if self._given_up or not self._connection.closed:
            raise  # noqa: PLE0704 - called from `except` only
        self._connection = self._connect()

    def _is_lost(self, error: psycopg.Error) -> bool:
        """Whether the server cannot be had or takes nothing any more.

        A server that has only ended the connection, and gives another one, is not lost.
        """
        if not self._has_connected or error.sqlstate in _UNWRITABLE:
            return True
        if self._given_up or not self._connection.closed:
            return False
        try:
            self._connection = self._connect()
        except psycopg.Error:
            return True
        return False

    def _rows(self, sql: str, values: dict[str, Value]) -> list[Row]:
        return cast("list[Row]", self._execute(sql, values).fetchall())

    def _execute(self, sql: str, values: dict[str, Value]) -> psycopg.Cursor[Any]:
        return self._connection.execute(_translated(sql), values)

    def _create(self) -> None:
        if self._version():
            return
        with self.writing(Lock.SCHEMA):
            if self._version():  # another engine may have been here
                return
            self._connection.execute(schema("postgres").encode())
            self._connection.execute(b"CREATE TABLE store_schema (version BIGINT NOT NULL)")
            self._connection.execute(b"INSERT INTO store_schema VALUES (%s)", (SCHEMA_VERSION,))

    def _version(self) -> int:
        if self._connection.execute(_HAS_SCHEMA).fetchone() is None:
            return 0
        row = self._connection.execute(b"SELECT max(version) FROM store_schema").fetchone()
        found = int(row[0]) if row and row[0] is not None else 0
        require_version(self.name, found)
        return found

    @contextmanager
    def _explained(self) -> Generator[None, None, None]:
        try:
            yield
        except psycopg.errors.LockNotAvailable as error:
            raise StoreLockedError(self.name) from error
        except _NOT_OURS as error:
            raise StoreError(
                self.name,
                "cannot be used: its tables are gone, this is another database, or an empty one",
                "see to it that the URL leads to the right server, or restore it from a backup",
            ) from error
        except psycopg.Error as error:
            # Of a refused statement the sentence, not the SQL; without one there is no server.
            problem = " ".join((error.diag.message_primary or str(error)).split())[:500]
            kind = StoreLostError if self._is_lost(error) else StoreError
            raise kind(
                self.name,
                f"cannot be used: {problem}",
                "check the server, the URL and the rights of the role, "
                "or name another store with --store",
            ) from error


@lru_cache(maxsize=256)
def _translated(sql: str) -> bytes:
    """Return our SQL (`:name`) as psycopg wants it (`%(name)s`)."""
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%")).encode()
