"""Without a store: on purpose, from the start, and from any moment of a session on.

What breaks is a real file under a real engine. Whatever it is, the conversation goes on, it is
told once and before anything is done, and what has run is never offered again.
"""

import json
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import waiting
from ordinary import become, give
from store.server import Server
from talking import Conversation, Event, call, write_script

Talk = Callable[..., Conversation]
Break = Callable[[Conversation, Path], None]
pytestmark = pytest.mark.anyio

WRITE: list[object] = [call("Bash", command="echo x >> ran")]
OK: list[object] = [{"text": "ok"}]


def garbage(_: Conversation, path: Path) -> None:
    """Overwrite all of the store, as a failing disk would."""
    for each in path.parent.glob(f"{path.name}*"):
        with each.open("r+b") as file:
            file.write(b"\xa5" * max(each.stat().st_size, 4096))


def gone(_: Conversation, path: Path) -> None:
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


def full(host: Conversation, path: Path) -> None:
    """Let no file of the engine grow: as on a full disk, reading still works."""
    sizes = [each.stat().st_size for each in path.parent.glob(f"{path.name}*")]
    smallest = min(filter(None, sizes))
    resource.prlimit(host.process.pid, resource.RLIMIT_FSIZE, (smallest, smallest))


BREAKS: dict[str, Break] = {"garbage": garbage, "gone": gone, "full": full}
breaks = pytest.mark.parametrize("breaks", BREAKS.values(), ids=BREAKS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "x.db"


def losses(host: Conversation) -> list[str]:
    return [e["message"] for e in host.of("info") if "goes on in memory" in e["message"]]


def stores(host: Conversation) -> list[str | None]:
    return [e["capabilities"].get("store") for e in host.of("config_changed")]


def ran(host: Conversation) -> int:
    file = host.workspace / "ran"
    return file.read_text().count("x") if file.exists() else 0


async def approved(host: Conversation, msg_id: str) -> list[Event]:
    """Have a turn whose call asks, and say yes."""
    start = len(host.heard)
    await host.message(msg_id=msg_id)
    await host.approve((await host.hear("tool_request"))["call_id"])
    await host.hear("stream_end")
    return host.heard[start:]


# --- never there ----------------------------------------------------------------------------------


def not_a_database(folder: Path) -> str:
    (folder / "broken.db").write_bytes(b"this is no database" * 100)
    return str(folder / "broken.db")


def a_folder(folder: Path) -> str:
    (folder / "folder.db").mkdir()
    return str(folder / "folder.db")


def below_a_device(_: Path) -> str:
    return "/dev/null/x/wcore.db"


def no_server(folder: Path) -> str:
    return f"postgresql:///x?host={folder}"


@pytest.mark.parametrize("place", [not_a_database, a_folder, below_a_device, no_server])
async def test_a_conversation_begins_without_its_store(
    talk: Talk, tmp_path: Path, place: Callable[[Path], str]
) -> None:
    where = place(tmp_path)
    async with talk(WRITE, OK, WRITE, OK, flags=("--store", where)) as host:
        await host.ready()
        await approved(host, "m1")
        assert ran(host) == 1
        (loss,) = losses(host)
        assert where in loss or "postgresql://" in loss
        await approved(host, "m2")
        assert ran(host) == 2
        assert len(losses(host)) == 1
        assert stores(host) == ["memory"]
        assert not host.of("error")


async def test_a_folder_that_may_not_be_written_is_no_store(
    tmp_path: Path, workspace: Path
) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o755)
    folder.chmod(0o555)
    as_somebody = tmp_path / "run.py"  # root may write everywhere
    words = [*become(), sys.executable, "-m", "wcore"]
    as_somebody.write_text(f"import os, sys\nos.execv({words[0]!r}, [*{words!r}, *sys.argv[1:]])\n")
    script = write_script(tmp_path, (WRITE, OK))
    flags = ["--model", f"script:{script}", "--store", str(folder / "x.db")]
    home = tmp_path / "home"
    host = Conversation(workspace, flags, {}, home=home, program=(str(as_somebody),))
    give(workspace, home)
    async with host:
        await host.ready()
        await approved(host, "m1")
        assert ran(host) == 1
        assert len(losses(host)) == 1


async def test_it_is_told_before_anything_is_done(talk: Talk, tmp_path: Path) -> None:
    where = not_a_database(tmp_path)
    async with talk(WRITE, OK, flags=("--mode", "force", "--store", where)) as host:
        await host.ready()
        await host.turn()
        kinds = host.kinds("info", "call_announced", "tool_result", "stream_end", "config_changed")
        await host.quiet()
        assert kinds == ["info", "call_announced", "tool_result", "stream_end"]
        assert host.kinds()[-2:] == ["config_changed", "pong"]


async def test_a_named_session_begins_in_memory_and_a_stored_one_does_not_go_on(
    talk: Talk, tmp_path: Path
) -> None:
    where = not_a_database(tmp_path)
    async with talk(OK, flags=("--store", where, "--session-id", "s")) as host:
        ready = await host.ready()
        assert ready["session_id"] == "s"
        assert ready["capabilities"]["store"] == "memory"
        await host.turn()
        assert len(losses(host)) == 1
    for which in ("s", "latest"):
        async with talk(OK, flags=("--store", where, "--resume", which)) as host:
            assert (await host.next())["error"]["code"] == "init_failed"
            assert await host.ended() == 1


# --- on purpose -----------------------------------------------------------------------------------


async def test_without_a_store_on_purpose_nothing_is_told_and_the_mode_holds(talk: Talk) -> None:
    read = [call("LS", path=".")]
    async with talk(read, OK, flags=("--store", "none", "--mode", "read_only")) as host:
        assert (await host.ready())["capabilities"]["store"] == "memory"
        await host.turn()
        assert [e["why"]["row"] for e in host.of("call_announced")] == ["mode"]
        assert not host.of("info")
    assert not (host.workspace.parent / "home" / ".local").exists()
    assert not (host.workspace / "none").exists()


@pytest.mark.parametrize("words", [["--store", "none", "--resume", "s"], ["--store", ":memory:"]])
async def test_what_cannot_be_meant_is_a_usage_error(workspace: Path, words: list[str]) -> None:
    done = await waiting.run_process(
        [sys.executable, "-m", "wcore", *words], cwd=workspace, check=False
    )
    assert done.returncode == 2
    assert b"--store none" in done.stdout
    assert os.listdir(workspace) == []


@pytest.mark.parametrize("command", ["sessions list", "audit list", "audit verify"])
async def test_nothing_can_be_shown_of_no_store(workspace: Path, command: str) -> None:
    done = await waiting.run_process(
        [sys.executable, "-m", "wcore", *command.split(), "--store", "none"],
        cwd=workspace,
        check=False,
    )
    assert done.returncode == 2
    assert b"keeps nothing" in done.stderr


# --- lost on the way ------------------------------------------------------------------------------


@breaks
async def test_a_store_that_is_lost_between_turns_does_not_stop_the_next_one(
    talk: Talk, path: Path, breaks: Break
) -> None:
    flags = ("--store", str(path))
    async with talk(WRITE, OK, WRITE, OK, WRITE, OK, flags=flags) as host:
        await host.ready()
        await approved(host, "m1")
        breaks(host, path)
        await approved(host, "m2")
        await approved(host, "m3")
        assert ran(host) == 3
        assert len(losses(host)) == 1
        assert not host.of("error")
        assert stores(host) == ["memory"]


@breaks
async def test_a_call_that_waited_when_the_store_was_lost_is_never_run_twice(
    talk: Talk, path: Path, tmp_path: Path, breaks: Break
) -> None:
    """The journal offers it to whoever resumes the session: so it must not have run."""
    flags = ("--store", str(path), "--session-id", "s")
    async with talk(WRITE, WRITE, OK, flags=flags) as host:
        await host.ready()
        await host.message()
        first = (await host.hear("tool_request"))["call_id"]
        kept = tmp_path / "kept.db"
        with sqlite3.connect(path) as source, sqlite3.connect(kept) as copy:
            source.backup(copy)
        breaks(host, path)
        await host.approve(first)
        told = await host.hear("tool_result", call_id=first)
        assert "the store was lost" in told["output"]
        second = (await host.hear("tool_request"))["call_id"]
        assert second != first
        await host.approve(second)
        await host.hear("stream_end")
        assert ran(host) == 1
        await host.kill()
    async with talk(OK, flags=("--store", str(kept), "--resume", "s")) as later:
        left = (await later.ready())["interrupted_turn"]
        assert left == {"msg_id": "m1", "pending": [first], "unknown": []}
        await later.say(type="resume_turn", action="continue")
        await later.deny((await later.hear("tool_request"))["call_id"])
        await later.hear("stream_end")
    assert ran(host) == 1


@breaks
async def test_a_call_that_runs_when_the_store_is_lost_ends_and_is_told(
    talk: Talk, path: Path, breaks: Break
) -> None:
    slow = [call("Bash", command="until [ -e go ]; do sleep 0.02; done; echo x >> ran")]
    async with talk(slow, WRITE, OK, flags=("--store", str(path), "--mode", "force")) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_running")
        breaks(host, path)
        (host.workspace / "go").write_text("")
        await host.hear("stream_end", finish_reason="stop")
        assert [e["status"] for e in host.of("tool_result")] == ["success"] * 2
        assert ran(host) == 2
        assert len(losses(host)) == 1


@breaks
@pytest.mark.parametrize("end", ["stop", "eof", "signal"])
async def test_a_lost_store_holds_up_no_end(
    talk: Talk, path: Path, breaks: Break, end: str
) -> None:
    slow = [call("Bash", command="sleep 60")]
    async with talk(slow, OK, flags=("--store", str(path), "--mode", "force")) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_running")
        breaks(host, path)
        if end == "signal":
            host.signal(signal.SIGTERM)
            assert await host.ended() == 128 + signal.SIGTERM
            return
        await host.say(type="stop")
        await host.hear("stream_end")


@pytest.mark.parametrize("moment", ["between turns", "at a card", "while a call runs"])
async def test_a_server_that_ends_takes_no_conversation_along(
    talk: Talk, server: Server, moment: str
) -> None:
    slow: list[object] = [call("Bash", command="until [ -e go ]; do sleep 0.02; done")]
    with type(server)() as own:
        async with talk(WRITE, OK, slow, WRITE, OK, flags=("--store", own.new_schema())) as host:
            await host.ready()
            await approved(host, "m1")
            if moment == "between turns":
                own.stop()
            await host.message(msg_id="m2")
            card = (await host.hear("tool_request"))["call_id"]
            if moment == "at a card":
                own.stop()
            await host.approve(card)
            if moment == "while a call runs":
                await host.hear("tool_running", call_id=card)
                own.stop()
            (host.workspace / "go").touch()
            await host.approve((await host.hear("tool_request"))["call_id"])
            await host.hear("stream_end", finish_reason="stop")
            assert ran(host) == 2
            assert len(losses(host)) == 1
            assert not host.of("error")


async def test_a_server_that_only_ends_the_connection_is_not_lost(
    talk: Talk, server: Server
) -> None:
    import psycopg

    async with talk(WRITE, OK, WRITE, OK, flags=("--store", server.new_schema())) as host:
        await host.ready()
        await approved(host, "m1")
        with psycopg.connect(server.url, autocommit=True) as other:
            other.execute(
                b"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                b"WHERE pid <> pg_backend_pid() AND application_name = 'wcore'"
            )
        await approved(host, "m2")
        assert ran(host) == 2
        assert not losses(host)


async def test_tiers_that_were_read_hold_on(talk: Talk, path: Path) -> None:
    tools = [
        {"name": "Write", "status": "needs_approval"},
        {"name": "Bash", "status": "blocked"},
        {"name": "LS", "status": "always_allow"},
    ]
    calls = [call("LS", "l", path="."), call("Bash", "b", command="echo x >> ran")]
    flags = ("--store", str(path), "--mode", "default")
    async with talk(OK, calls, OK, flags=flags) as host:
        await host.ready()
        await host.say(type="set_agent_tools", agent="main", tools=tools, only=False)
        assert (await host.hear("command_result"))["ok"] is True
        await host.say(type="set_tool_override", agent="main", tool="Write", approve_always=True)
        assert (await host.hear("command_result"))["ok"] is True
        await host.turn()
        gone(host, path)
        await host.turn(msg_id="m2")
        assert {e["call_id"]: e["why"]["row"] for e in host.of("call_announced")} == {
            "l": "tier",
            "b": "blocked",
        }
        assert "until the mode is set again" not in losses(host)[0]
        await host.say(type="list_permissions")
        (agent,) = (await host.hear("command_result"))["agents"]
        assert {t["name"]: (t["status"], t["override"]) for t in agent["tools"]} == {
            "Write": ("needs_approval", True),
            "Bash": ("blocked", False),
            "LS": ("always_allow", False),
            **{
                t["name"]: ("needs_approval", False)
                for t in agent["tools"]
                if t["name"] not in str(tools)
            },
        }


async def test_tiers_that_could_not_be_read_ask_until_the_host_says_which_mode_holds(
    talk: Talk, tmp_path: Path
) -> None:
    write = [call("Write", file_path="a.txt", content="1")]
    flags = ("--store", not_a_database(tmp_path), "--mode", "auto_edit")
    async with talk(write, OK, write, OK, flags=flags) as host:
        await host.ready()
        await host.message()
        asked = await host.hear("tool_request")
        assert asked["why"]["row"] == "tier"
        await host.deny(asked["call_id"])
        await host.hear("stream_end")
        assert "until the mode is set again" in losses(host)[0]
        await host.say(type="set_mode", mode="auto_edit")
        await host.turn(msg_id="m2")
        assert [e["why"]["row"] for e in host.of("call_announced")] == ["mode"]


async def test_a_lasting_yes_is_one_for_the_session_and_says_why(
    talk: Talk, tmp_path: Path
) -> None:
    where = not_a_database(tmp_path)
    echo = [call("Bash", command="echo x")]
    async with talk(echo, echo, OK, flags=("--store", where)) as host:
        await host.ready()
        await host.message()
        asked = await host.hear("tool_request")
        scope = {"always_prefix": {"prefix": "echo x"}}
        await host.approve(asked["call_id"], scope=scope, persist="project")
        while "no_store" not in (await host.hear("info"))["message"]:
            pass
        await host.hear("stream_end")
        assert [e["why"]["row"] for e in host.of("call_announced")] == ["grant"]
        await host.say(type="list_grants")
        (grant,) = (await host.hear("command_result"))["grants"]
        assert grant["persist"] == "session"


# --- every command --------------------------------------------------------------------------------

ANSWERS: dict[str, tuple[dict[str, object], bool]] = {
    "list_pending": ({}, True),
    "list_grants": ({}, True),
    "get_history": ({}, True),
    "list_permissions": ({}, True),
    "set_agent_tools": ({"agent": "main", "tools": [{"name": "Read"}]}, True),
    "set_tool_override": ({"agent": "main", "tool": "Read", "approve_always": True}, True),
    "give_grant": ({"tool": "Bash", "scope": {"always_prefix": {"prefix": "git log"}}}, True),
    "revoke_grant": ({"grant_id": "g-0123456789abcdef"}, False),
    "trust_workspace": ({"trusted": False}, True),
    "accept_changes": ({"digest": "0" * 64}, False),
    "remove_mcp_server": ({"name": "x"}, False),
    "resume_turn": ({"action": "cancel"}, False),
}
NO_ANSWER = {
    *("message", "stop", "ping", "init_history", "set_mode", "set_config", "tool_approve"),
    *("tool_deny", "approval_resume", "add_mcp_server"),
}


def every_command() -> set[str]:
    folder = Path(__file__).parents[2] / "protocol-spec" / "schema" / "commands"
    return {each.stem for each in folder.glob("*.json")}


def test_every_command_has_its_row() -> None:
    assert every_command() == set(ANSWERS) | NO_ANSWER


@pytest.mark.parametrize("store", ["none", "lost"])
async def test_every_command_is_answered_in_memory(talk: Talk, tmp_path: Path, store: str) -> None:
    where = "none" if store == "none" else not_a_database(tmp_path)
    async with talk(OK, flags=("--store", where)) as host:
        await host.ready()
        for name, (fields, ok) in ANSWERS.items():
            await host.say(type=name, request_id=name, **fields)
            answer = await host.hear("command_result", request_id=name)
            assert answer["ok"] is ok, answer
            if not ok:
                assert answer["error"]["code"] in ("refused", "not_supported"), answer
                assert "internal" not in json.dumps(answer)
        await host.say(type="set_mode", mode="read_only")
        await host.say(type="init_history", text="we like tea")
        await host.turn()
        await host.say(type="list_permissions")
        (agent,) = (await host.hear("command_result"))["agents"]
        assert {t["name"]: t["override"] for t in agent["tools"]}["Read"] is True
        assert len(losses(host)) == (store == "lost")
        assert not host.of("error")
