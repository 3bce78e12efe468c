"""What the store asks of a database: one small protocol, two direct adapters, one schema for each.

A `Database` is one connection. It is used by one thread at a time; it opens when made and maps
every failure to `StoreError`. SQL is written once, with named parameters (`:name`).
"""

from contextlib import AbstractContextManager
from enum import IntEnum
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from wcore.store.errors import StoreLostError

Value: TypeAlias = None | bool | int | str
Row: TypeAlias = tuple[Value, ...]

BUSY_S_MAX: Final = 5.0  # another engine holds its lock for milliseconds; longer is a fault
SCHEMA: Final = Path(__file__).with_name("schema")
SCHEMA_VERSION: Final = 4


class Lock(IntEnum):
    """What a transaction may keep other engines from doing meanwhile.

    SQLite has one writer anyway; PostgreSQL takes an advisory lock of this number.
    """

    SCHEMA = 1
    AUDIT = 2
    GRANTS = 3
    TIERS = 4
    SESSIONS = 5


class Database(Protocol):
    """One connection to a store. `name` is for people and holds no password."""

    name: str

    def query(self, sql: str, **values: Value) -> list[Row]:
        """Return all rows of one SELECT."""
        ...

    def change(self, sql: str, **values: Value) -> int:
        """Carry out one statement inside `writing`; return how many rows it changed."""
        ...

    def writing(
        self, lock: Lock | None = None, *, durable: bool = True
    ) -> AbstractContextManager[None]:
        """One transaction: all of it or, when an exception leaves it, nothing.

        `durable`: it is on the disk itself when the block has been left. Otherwise a crash of
        the machine may lose it, a crash of the engine never does.
        """
        ...

    def sync(self) -> None:
        """Put all transactions so far on the disk itself; no other engine has to wait for it."""
        ...

    def checkpoint(self) -> None:
        """Move what is in the log into the database itself, as far as nobody is in the way."""
        ...

    def scrub_deleted(self) -> bool:
        """Make what was deleted unreadable in the files; false: some of it may still be there."""
        ...

    def give_up(self) -> None:
        """From another thread: end what is under way, which does not count. Use it no more."""
        ...

    def close(self) -> None: ...


def schema(dialect: str) -> str:
    """Return the SQL that makes a store."""
    return (SCHEMA / f"{dialect}.sql").read_text("utf-8")


def require_version(name: str, found: int) -> None:
    """Leave a store alone that another version of us has made; zero: there is none yet.

    Raises:
        StoreLostError: it is such a one.
    """
    if found > SCHEMA_VERSION:
        raise StoreLostError(
            name,
            f"was written by a newer wcore (schema {found}, this one knows {SCHEMA_VERSION})",
            "update wcore, or name another store with --store",
        )
    if 0 < found < SCHEMA_VERSION:
        raise StoreLostError(
            name,
            f"was written by an earlier wcore (schema {found}, this one knows {SCHEMA_VERSION})",
            "move it away, or name another store with --store",
        )
