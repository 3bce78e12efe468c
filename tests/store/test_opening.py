"""Files, modes, damage, versions: how a store is opened, and what is said when it cannot be."""

import os
import re
import sqlite3
import stat
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
import waiting
from store.samples import KEY, USER, granted, record

from wcore.store import grants, journal, sessions, tiers
from wcore.store.database import SCHEMA
from wcore.store.errors import StoreError, StoreLostError
from wcore.store.location import Location
from wcore.store.opening import open_database, opened
from wcore.store.values import Kind

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "wcore" / "wcore.db"


def at(path: Path) -> Location:
    return Location(str(path), str(path), own_folder=True)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_folder_are_private_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        database = open_database(at(path))
        grants.add(database, KEY, granted())
        names = sorted(file.name for file in path.parent.iterdir())
        assert names == ["wcore.db", "wcore.db-shm", "wcore.db-wal"]
        assert {mode(file) for file in path.parent.iterdir()} == {0o600}
        assert mode(path.parent) == 0o700
        database.close()
    finally:
        os.umask(before)


def test_files_that_others_could_read_are_made_private(path: Path) -> None:
    open_database(at(path)).close()
    path.chmod(0o666)
    path.parent.chmod(0o755)
    open_database(at(path)).close()
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


def test_a_folder_that_is_not_ours_alone_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    open_database(Location("x", str(tmp_path / "my.db"))).close()
    assert mode(tmp_path) == 0o755


@contextmanager
def unprivileged() -> Generator[None, None, None]:
    """Be somebody whom file modes bind, also when the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_store_without_permission_is_named_with_the_remedy(path: Path) -> None:
    path.parent.mkdir(parents=True, mode=0o700)
    path.parent.chmod(0)
    with (
        unprivileged(),
        pytest.raises(StoreError, match="Permission denied; make the file") as told,
    ):
        open_database(at(path))
    path.parent.chmod(0o700)
    assert str(path) in str(told.value)
    assert "--store" in str(told.value)


def test_a_read_only_store_is_an_error_for_writers(path: Path) -> None:
    open_database(at(path)).close()
    if os.geteuid() == 0:
        for thing in (path, path.parent, *path.parents[1:3]):
            os.chown(thing, NOBODY, NOBODY)
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with unprivileged(), pytest.raises(StoreError, match="make the file and its folder"):
            grants.add(open_database(at(path)), KEY, granted())
    finally:
        path.parent.chmod(0o700)
    assert mode(path) == 0o400


def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("my notes, not a database")
    path.chmod(0o644)
    with pytest.raises(StoreError, match="not a database; move it away"):
        open_database(at(path))
    assert path.read_text() == "my notes, not a database"
    assert mode(path) == 0o644


@pytest.mark.parametrize("damage", ["folder", "torn_header", "garbage_page", "lost_table"])
def test_a_damaged_store_is_an_error_and_never_an_empty_one(path: Path, damage: str) -> None:
    database = open_database(at(path))
    grants.add(database, KEY, granted())
    database.close()
    match damage:
        case "folder":
            path.unlink()
            path.mkdir()
        case "torn_header":
            path.write_bytes(path.read_bytes()[:50])
        case "garbage_page":
            whole = path.read_bytes()
            path.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
        case _:
            raw = sqlite3.connect(path)
            raw.execute("DROP TABLE grants")
            raw.close()
    with pytest.raises(StoreError) as told:
        grants.load(open_database(at(path)), KEY)
    assert str(path) in str(told.value)


def test_a_full_disk_is_an_error_and_nothing_is_half_written(path: Path) -> None:
    database = open_database(at(path))
    lease = sessions.begin(database, USER, "s1", "/w")
    pages = int(str(database.query("PRAGMA page_count")[0][0]))
    database.query(f"PRAGMA max_page_count={pages + 3}")
    big = record(Kind.REPLIED, text="x" * 100_000)
    with pytest.raises(StoreError, match="full; make room on the disk"):
        journal.append(database, lease, [record(Kind.DECIDED), big], durable=True)
    assert journal.read(database, USER, "s1").records == ()
    assert journal.append(database, lease, [record(Kind.DECIDED)], durable=True) == 1


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (99, r"newer wcore \(schema 99, this one knows \d+\); update"),
        (1, r"earlier wcore \(schema 1, this one knows \d+\); move it away"),
    ],
)
def test_a_store_of_another_version_is_left_alone(
    location: Location, version: int, told: str
) -> None:
    database = open_database(location)
    with database.writing():
        if location.url is None:
            database.change(f"PRAGMA user_version={version}")
        else:
            database.change(f"UPDATE store_schema SET version = {version}")
    database.close()
    with pytest.raises(StoreLostError, match=told):
        open_database(location)


def test_many_engines_that_open_a_new_store_at_once_all_get_it(location: Location) -> None:
    together = threading.Barrier(6)
    failures: list[BaseException] = []

    def engine() -> None:
        try:
            together.wait()
            database = open_database(location)
            tiers.versions(database)
            database.close()
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            failures.append(error)

    threads = [threading.Thread(target=engine) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    database = open_database(location)
    assert database.query("SELECT count(*) FROM store_versions") == [(2,)]
    database.close()


def test_a_schema_that_fails_leaves_nothing_behind(
    location: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "postgres.sql" if location.url else "sqlite.sql"
    whole = (SCHEMA / name).read_text()
    (tmp_path / name).write_text(whole + "\nCREATE TABLE broken (;\n")
    with monkeypatch.context() as patched:
        patched.setattr("wcore.store.database.SCHEMA", tmp_path)
        with pytest.raises(StoreError, match="syntax error"):
            open_database(location)
    database = open_database(location)
    assert tiers.versions(database).grants == 0
    database.close()


def test_both_databases_have_the_same_tables_and_columns() -> None:
    tables = re.compile(r"CREATE TABLE (\w+) \((.*?)\n\);", re.DOTALL)
    columns = re.compile(r"^    ([a-z_]+) +[A-Z]+(?: NOT NULL)?(?: PRIMARY KEY)?", re.MULTILINE)
    found = {
        dialect: {
            name: [(c[1], "NOT NULL" in c[0]) for c in columns.finditer(body)]
            for name, body in tables.findall((SCHEMA / f"{dialect}.sql").read_text())
        }
        for dialect in ("sqlite", "postgres")
    }
    assert found["sqlite"] == found["postgres"]
    assert set(found["sqlite"]) >= {
        *("agent_tool_permissions", "agent_tool_user_overrides", "agent_tool_approval_audit"),
        *("grants", "sessions", "journal"),
    }


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    url = "postgresql://me:hunter2@/db?host=/nonexistent"
    location = Location("postgresql://me@/db", url=url)
    with pytest.raises(StoreError, match="check the server") as told:
        open_database(location)
    assert "hunter2" not in str(told.value)


def test_a_lost_connection_to_the_server_is_made_again(team: Location) -> None:
    end_all = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND application_name = 'wcore'"
    )
    with opened(team) as one, opened(team) as other:
        grants.add(one, KEY, granted())
        other.query(end_all)
        assert len(grants.load(one, KEY).grants) == 1
        other.query(end_all)
        assert grants.revoke(one, KEY, "g-1")


def test_without_the_client_the_extra_is_named(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from wcore.store.opening import open_database\n"
        "from wcore.store.location import Location\n"
        "open_database(Location('postgresql://x', url='postgresql://x'))\n"
    )
    done = waiting.run([sys.executable, "-c", program], cwd=tmp_path)
    assert "pip install 'wcore[postgres]'" in done.stderr


def test_the_engine_imports_no_database_and_no_store_costs_it_anything(tmp_path: Path) -> None:
    program = (
        "import sys, wcore.store, wcore.engine, wcore.cli\n"
        "wcore.store.Store(wcore.store.locate(None, {'HOME': '/nowhere'}))\n"
        "print({'sqlite3', '_sqlite3', 'psycopg'} & set(sys.modules))\n"
    )
    done = waiting.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    assert done.stdout == "set()\n"


def test_what_was_purged_cannot_be_found_in_the_files(path: Path) -> None:
    database = open_database(at(path))
    lease = sessions.begin(database, USER, "s1", "/w")
    secret = "correct horse battery staple " * 1_000
    journal.append(database, lease, [record(Kind.ENDED, output=secret)], durable=True)
    sessions.release(database, lease)
    on_disk = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"correct horse" in on_disk
    sessions.purge(database, USER, ["s1"])
    on_disk = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"correct horse" not in on_disk
    database.close()


def test_a_server_that_lost_its_tables_is_told_in_words_for_people(team: Location) -> None:
    with opened(team) as one, opened(team) as other:
        with other.writing():
            other.change("DROP TABLE grants")
        with pytest.raises(StoreError, match="this is another database, or an empty one") as told:
            grants.load(one, KEY)
    assert "LINE" not in str(told.value)
    assert "relation" not in str(told.value)
