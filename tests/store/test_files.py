"""What stands where a store should: only plain files are used, and only while they are there."""

import os
import shutil
import socket
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import waiting
from store.kernel import locked_files
from store.samples import KEY, USER, granted, record
from talking import Conversation, call

from wcore.store import grants, journal, sessions, tiers
from wcore.store.database import Database
from wcore.store.errors import JournalDamagedError, StoreError, StoreGoneError
from wcore.store.location import Location
from wcore.store.opening import open_database
from wcore.store.sqlite import SqliteDatabase
from wcore.store.values import Kind

Talk = Callable[..., Conversation]
NOBODY = 65534


def at(path: Path) -> Location:
    return Location(str(path), str(path))


# --- what is no plain file ----------------------------------------------------------------------


def _device(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # as /dev/null
    path.chmod(0o666)


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


KINDS: dict[str, Callable[[Path], None]] = {
    "device": _device,
    "pipe": os.mkfifo,
    "socket": _socket,
    "folder": Path.mkdir,
}


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that every user can write; those of pytest are for us alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.mark.parametrize("who", [0, NOBODY])
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plain_file_is_refused_at_once_and_left_as_it_was(
    open_to_all: Path, kind: str, ending: str, linked: bool, who: int
) -> None:
    if os.geteuid() != 0 and (who == 0 or kind == "device"):
        pytest.skip("needs root")
    folder = open_to_all
    path = folder / f"x.db{ending}"
    made = folder / "made" if linked else path
    KINDS[kind](made)
    if linked:
        path.symlink_to(made)
    if who:
        os.chown(made, who, who)
    before = os.lstat(made)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        if who:
            os.setuid(who)
        try:
            SqliteDatabase(at(folder / "x.db"))
        except StoreError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        text = said.read()
    os.waitpid(child, 0)
    assert "name a file, or name another store with --store" in text
    after = os.lstat(made)
    assert (after.st_mode, after.st_uid) == (before.st_mode, before.st_uid)


def test_a_file_that_is_no_database_keeps_its_content_its_mode_and_its_neighbours(
    tmp_path: Path,
) -> None:
    for text in ("x", "my notes, not a database", "SQLite format 3\0" + "x" * 200):
        path = tmp_path / "notes.txt"
        path.write_text(text)
        path.chmod(0o644)
        with pytest.raises(StoreError, match="move it away"):
            open_database(at(path))
        assert path.read_text() == text
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


def test_an_empty_file_becomes_a_private_store(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.touch(0o644)
    open_database(at(path)).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# --- deleted and replaced -----------------------------------------------------------------------


def _unlink(path: Path) -> None:
    for each in path.parent.glob("x.db*"):
        each.unlink()


def _renew(path: Path) -> None:
    _unlink(path)
    open_database(at(path)).close()


def _take_log(path: Path) -> None:
    path.with_name("x.db-wal").unlink()


def _take_index(path: Path) -> None:
    path.with_name("x.db-shm").unlink()


def _move(path: Path) -> None:
    path.rename(path.with_name("moved"))


def _restore(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.replace(path)


LOSSES: list[Callable[[Path], None]] = [
    _unlink,
    lambda path: shutil.rmtree(path.parent),
    _renew,
    _take_log,
    _take_index,
    _move,
    _restore,
]
USES: list[Callable[[Database], object]] = [
    tiers.versions,
    lambda database: grants.add(database, KEY, granted("g-2")),
    lambda database: database.sync(),
]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("lose", LOSSES)
def test_a_store_that_was_deleted_or_replaced_is_an_error_from_then_on(
    tmp_path: Path, lose: Callable[[Path], None], use: Callable[[Database], object]
) -> None:
    path = tmp_path / "state" / "x.db"
    database = open_database(at(path))
    grants.add(database, KEY, granted())
    lose(path)
    for _ in range(2):
        with pytest.raises(StoreGoneError, match="was deleted or replaced while"):
            use(database)


@pytest.mark.parametrize("lose", [_renew, _restore])
def test_closing_what_was_replaced_does_not_touch_what_stands_there_now(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    path = tmp_path / "state" / "x.db"
    old = open_database(at(path))
    grants.add(old, KEY, granted())
    lose(path)
    for each in (path.with_name("x.db-wal"), path.with_name("x.db-shm")):
        each.unlink(missing_ok=True)  # a restored copy brings none
    new = open_database(at(path))
    grants.add(new, KEY, granted("g-2"))
    with pytest.raises(StoreGoneError):
        tiers.versions(old)
    old.close()
    del old
    assert locked_files(os.getpid(), path) == {"x.db", "x.db-shm"}
    assert new.query("PRAGMA integrity_check") == [("ok",)]
    other = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1])" + (
        ".execute('select count(*) from grants where grant_id = ?', ('g-2',)).fetchone()[0])"
    )
    for _ in range(2):
        seen = waiting.run([sys.executable, "-c", other, path], check=True)
        assert seen.stdout == "1\n"
    new.close()


@pytest.mark.anyio
@pytest.mark.parametrize("lose", [_unlink, _renew])
async def test_an_engine_whose_store_is_gone_says_so_and_goes_on_in_memory(
    talk: Talk, tmp_path: Path, workspace: Path, lose: Callable[[Path], None]
) -> None:
    path = tmp_path / "elsewhere" / "x.db"
    bash: list[list[object]] = [[call("Bash", command="echo x >> ran")], [{"text": "ok"}]]
    flags = ("--mode", "force", "--store", str(path))
    async with talk(*bash, *bash, *bash, flags=flags) as host:
        await host.ready()
        await host.turn()
        lose(path)
        for number in (2, 3):
            await host.turn(msg_id=f"m{number}")
        (told,) = host.of("info")
        assert "was deleted or replaced while" in told["message"]
    assert (workspace / "ran").read_text() == "x\n" * 3


# --- damage -------------------------------------------------------------------------------------


def test_a_flipped_bit_names_session_and_record_and_tells_nothing_of_the_text(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.db"
    database = open_database(at(path))
    lease = sessions.begin(database, USER, "s1", "/w")
    for number in range(3):
        text = record(Kind.ENDED, output="the secret plan", n=number)
        journal.append(database, lease, [text], durable=True)
    database.close()
    with sqlite3.connect(path) as raw:
        raw.execute(
            "UPDATE journal SET body = CAST(replace(CAST(body AS BLOB), x'73656372', x'736563F2')"
            " AS TEXT) WHERE seq = 2"
        )
    raw.close()
    database = open_database(at(path))
    assert [row.session_id for row in sessions.list_sessions(database, USER)] == ["s1"]
    with pytest.raises(JournalDamagedError, match="session 's1' is damaged at record 2") as told:
        list(journal.read_all(database, USER, "s1"))
    assert "plan" not in str(told.value)
    database.close()
