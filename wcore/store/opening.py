"""Opens a store, by the adapter that its location asks for."""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module

from wcore.store.database import Database
from wcore.store.errors import StoreLostError
from wcore.store.location import Location


def open_database(location: Location) -> Database:
    """Open the store, creating it where needed; waits at most some seconds.

    Raises:
        StoreError: it cannot be used; the message names it and the remedy.
    """
    if location.in_workspace:
        raise StoreLostError(
            location.name,
            "would lie in the workspace, where whoever made that can write it",
            "set XDG_STATE_HOME to a folder outside of it, or name a file with --store",
        )
    if location.url is None:
        from wcore.store.sqlite import SqliteDatabase  # noqa: PLC0415 - costs nothing at start

        return SqliteDatabase(location)
    try:
        from wcore.store.postgres import PostgresDatabase  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise StoreLostError(
            location.name,
            "needs the PostgreSQL client, which is not installed",
            "install it with: pip install 'wcore[postgres]'",
        ) from error
    return PostgresDatabase(location)


def load_client(location: Location) -> None:
    """Import what talks to the store, so that opening it need not; what fails is told then."""
    module = "wcore.store.sqlite" if location.url is None else "wcore.store.postgres"
    with suppress(Exception):
        import_module(module)


@contextmanager
def opened(location: Location) -> Generator[Database, None, None]:
    """Open the store for a block."""
    database = open_database(location)
    try:
        yield database
    finally:
        database.close()
