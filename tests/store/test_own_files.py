"""No tool opens a file of the store, by whatever name, and none is told where the store is.

The engine opening such a file itself would drop the locks of SQLite; see `test_locks`.
"""

import ast
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from store.kernel import locked_files
from talking import Conversation, call

from wcore import locked_files as locked
from wcore.store import Location, locate
from wcore.store.opening import open_database

Talk = Callable[..., Conversation]
MARK = "zebra-crossing-9b1f"
HELD = {"x.db", "x.db-shm"}
ENDINGS = ("", "-wal", "-shm")


def tries(names: list[str], workspace: Path) -> list[dict[str, object]]:
    """Return calls of every tool that could open a file, on each of the names."""
    made: list[dict[str, object]] = []
    for name in names:
        edit = {"old_string": "SQLite", "new_string": "sqlite"}
        made += [
            call("Read", file_path=name),
            call("Grep", pattern="zebra", path=name),
            call("Glob", pattern="*", path=name),
            call("LS", path=name),
            call("Write", file_path=name, content="x"),
            call("Edit", file_path=name, **edit),
            call("MultiEdit", file_path=name, edits=[edit]),
            call("Delete", file_path=name),
        ]
    made.append(call("Grep", pattern="zebra", path=str(workspace)))
    made.append(call("Grep", pattern="SQLite", path=str(workspace)))
    return made


@pytest.mark.anyio
@pytest.mark.parametrize("ripgrep", [True, False])
@pytest.mark.parametrize(
    ("named", "linked"), [("flag", True), ("variable", False), ("default", True), ("flag", False)]
)
async def test_no_tool_opens_a_file_of_the_store_by_any_name(
    talk: Talk, tmp_path: Path, workspace: Path, named: str, linked: bool, ripgrep: bool
) -> None:
    flags: tuple[str, ...] = ("--mode", "force")
    env: dict[str, str] = {} if ripgrep else {"PATH": "/bin"}
    store = tmp_path / "elsewhere" / "x.db"
    match named:
        case "flag":
            flags += ("--store", str(store))
        case "variable":
            env["WCORE_STORE"] = str(store)
        case _:
            store = tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db"
    held = {store.name, f"{store.name}-shm"}
    files = [store.with_name(f"{store.name}{ending}") for ending in ENDINGS]
    names = [str(file) for file in files]
    names += (
        []
        if not linked
        else [f"{kind}{file.name}" for file in files for kind in ("hard", "soft", "over")]
    )
    calls = tries(names, workspace)
    first = [{"text": MARK}, call("Bash", command=f"echo {MARK} > /dev/null; env")]
    script = [[*first], [{"text": "ok"}]]
    for one in calls:
        script += [[one], [{"text": "ok"}]]
    async with talk(*script, flags=flags, env=env) as host:
        await host.ready()
        await host.turn(MARK)
        (shown,) = host.of("tool_result")
        assert str(store) not in shown["output"]
        assert "WCORE_STORE" not in shown["output"]
        for file in files if linked else ():
            os.link(file, workspace / f"hard{file.name}")
            (workspace / f"soft{file.name}").symlink_to(file)
            (workspace / f"over{file.name}").symlink_to(f"hard{file.name}")
        for number, one in enumerate(calls):
            heard = await host.turn(msg_id=f"m{number}")
            assert locked_files(host.process.pid, store) >= held, f"locks dropped by {one}"
            told = " ".join(str(event.get("output")) for event in heard)
            assert MARK not in told, one
            assert "SQLite format" not in told, one
        kept = set(os.listdir(workspace))
        assert not linked or {f"hard{file.name}" for file in files} <= kept
        assert all(file.exists() for file in files)


@pytest.mark.anyio
async def test_files_that_a_project_brings_are_not_read_where_they_are_the_store(
    talk: Talk, tmp_path: Path, workspace: Path
) -> None:
    store = tmp_path / "x.db"
    bash: list[list[object]] = [[call("Bash", command="true")], [{"text": "ok"}]]
    async with talk(*(bash * 9), flags=("--mode", "force", "--store", str(store))) as host:
        await host.ready()
        await host.turn()
        (workspace / ".wcore" / "agents").mkdir(parents=True)
        for name in ("AGENTS.md", ".wcore/agents/x.md", ".wcore/policy.toml"):
            os.link(store, workspace / name)
            await host.turn(msg_id=f"m-{name}")
            assert locked_files(host.process.pid, store) >= HELD, name
        os.link(store, workspace / "x.png")
        (workspace / ".wcore" / "policy.toml").unlink()
        await host.say(type="message", msg_id="files", content="go", files=["x.png", str(store)])
        await host.hear("stream_end")
        assert locked_files(host.process.pid, store) >= HELD


#: Who opens files without asking the guard, and why no name given by others gets there.
OPENS = {
    "wcore/locked_files.py": "it is the guard",
    "wcore/stdio.py": "/dev/null",
    "wcore/hardening.py": "/proc",
    "wcore/supervisor/ancestry.py": "/proc",
    "wcore/supervisor/kernel.py": "a process of its own",
    "wcore/supervisor/process_tree.py": "a process of its own",
    "wcore/supervisor/process.py": "a process of its own",
    "wcore/policy_files/trust.py": "our own file of trusted folders, and its lock",
    "wcore/policy_files/reading.py": "the folder .wcore itself: a folder has no locks",
    "wcore/models/attachments.py": "by the guard",
    "wcore/models/script_file.py": "named on the command line, read before the store is opened",
    "wcore/tools/fs/paths.py": "folders",
    "wcore/tools/builtin/ls.py": "folders",
    "wcore/tools/fs/files.py": "new files only",
    "wcore/tools/search/grep_worker.py": "a process of its own",
    "wcore/policy_files/repositories.py": "by the guard",
    "wcore/tools/ties.py": "by the guard",
    "wcore/sandbox/git_config.py": "a folder of ours, and a lock that was not there",
    "wcore/sandbox/masks.py": "/proc",
    "wcore/sandbox/scratch.py": "our own lock",
    "wcore/store/leases.py": "/proc",
    "wcore/store/identity.py": "/etc",
    "wcore/store/database.py": "our own schema",
    "wcore/store/sqlite.py": "the log, on which SQLite has no lock",
}
IN_OTHER_PROCESSES = ("wcore/cli/", "wcore/conformance/", "wcore/sandbox/proxy.py")


def test_whoever_opens_a_file_in_the_engine_asks_the_guard_or_is_known() -> None:
    root = Path(locked.__file__).parent.parent
    found: set[str] = set()
    for path in (root / "wcore").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="open")):
                    found.add(str(path.relative_to(root)))
                case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr="open")):
                    found.add(str(path.relative_to(root)))
                case ast.Call(func=ast.Attribute(attr="read_text" | "read_bytes")):
                    found.add(str(path.relative_to(root)))
                case ast.Call(func=ast.Attribute(attr="open"), args=[ast.Constant(), *_]):
                    found.add(str(path.relative_to(root)))
                case _:
                    pass
    assert {name for name in found if not name.startswith(IN_OTHER_PROCESSES)} <= set(OPENS)


# --- the guard itself ---------------------------------------------------------------------------


def test_a_file_is_refused_as_long_as_a_connection_has_it_and_not_afterwards(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.db"
    database = open_database(Location("x", str(path)))
    os.link(path, tmp_path / "other")
    with pytest.raises(OSError, match="store"):
        locked.open_unlocked(str(tmp_path / "other"), os.O_RDONLY)
    database.close()
    path.unlink()  # what has the number from now on is any file
    os.close(locked.open_unlocked(str(tmp_path / "other"), os.O_RDONLY))


FLAGS = [os.O_RDONLY, os.O_NOFOLLOW, os.O_DIRECTORY, os.O_NOFOLLOW | os.O_DIRECTORY]


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize(
    "name", ["file", "link", "folder", "pipe", "dangling", "missing", "file/x"]
)
def test_what_is_not_locked_opens_as_ever(tmp_path: Path, name: str, flags: int) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    def outcome(opening: Callable[..., int]) -> object:
        try:
            fd = opening(str(tmp_path / name), flags | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            return error.errno
        found = os.fstat(fd).st_ino
        os.close(fd)
        return found

    assert outcome(locked.open_unlocked) == outcome(os.open)


@pytest.mark.parametrize("_round", range(10))
def test_nothing_slips_in_between_looking_and_opening(tmp_path: Path, _round: int) -> None:
    # The name changes all the time; what is opened is never the locked file.
    store, name = tmp_path / "x.db", tmp_path / "name"
    database = open_database(Location("x", str(store)))
    (tmp_path / "plain").write_text("x")
    child = os.fork()
    if child == 0:
        while True:
            for target in (store, tmp_path / "plain"):
                fresh = f"{name}{random.random()}"
                os.link(target, fresh)
                os.rename(fresh, name)
    try:
        outcomes: set[bool] = set()
        for _ in range(2_000):
            try:
                fd = locked.open_unlocked(str(name), os.O_RDONLY)
            except OSError as error:
                outcomes.add("store" in str(error))
                continue
            outcomes.add(False)
            os.close(fd)
            assert locked_files(os.getpid(), store) == HELD
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    database.close()


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("postgresql://me:hun%40ter22@h/db", ("hun%40ter22", "hun@ter22")),
        (
            "postgresql://me@h/db?sslmode=require&password=correct%20horse",
            ("correct%20horse", "correct horse"),
        ),
        ("postgresql://me@h/db?sslpassword=battery9", ("battery9",)),
        ("postgresql://h/db", ()),
    ],
)
def test_the_passwords_of_a_url_are_secrets(url: str, secrets: tuple[str, ...]) -> None:
    assert locate(url, {}).secrets == secrets
