"""Both databases for every test: a file of its own, and a schema of its own in a real server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from store.server import Server, ServerMissingError

from wcore.store.database import Database
from wcore.store.location import Location
from wcore.store.opening import open_database


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A private PostgreSQL; without one the tests that need it say skipped."""
    try:
        running = Server()
    except ServerMissingError as reason:
        pytest.skip(str(reason))
    with running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """An empty store of either kind."""
    if request.param == "sqlite":
        path = str(tmp_path / "state" / "wcore" / "wcore.db")
        return Location(path, path, own_folder=True)
    in_server: Location = request.getfixturevalue("team")
    return in_server


@pytest.fixture
def team(server: Server) -> Location:
    """An empty store in PostgreSQL."""
    return Location("the team's store", url=server.new_schema())


@pytest.fixture
def opened(location: Location) -> Iterator[Callable[[], Database]]:
    """Open the store, as often as a test has engines."""
    made: list[Database] = []

    def connect() -> Database:
        made.append(open_database(location))
        return made[-1]

    yield connect
    for database in made:
        database.close()


@pytest.fixture
def database(opened: Callable[[], Database]) -> Database:
    return opened()
