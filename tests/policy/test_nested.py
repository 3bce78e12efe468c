"""An engine that a tool call has started keeps nothing that outlives its session.

Whatever its host sends: a program that a tool runs could be that host.
"""

import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import waiting
from policy.asking import wcore
from talking import Conversation, call, write_script

from wcore.policy.grants import MAIN_AGENT
from wcore.protocol import commands
from wcore.store import GrantKey, LastingGrant, Location, grants, identity, sessions, tiers
from wcore.store.opening import opened
from wcore.vocabulary import AlwaysPrefix, Persist

SUPERVISED = Path(__file__).parents[1] / "unit" / "cli" / "supervised.py"
NESTED = (str(SUPERVISED), sys.executable, "-m", "wcore")
AT = "2026-01-01T00:00:00Z"
RECORDS = {"sessions", "journal", "agent_tool_approval_audit"}  # what happened, not what may
OLD = "g-old"

Command = dict[str, Any]

#: What a host may send of each kind, with all that could make it last.
SAMPLES: dict[str, list[Command]] = {
    "message": [{"msg_id": "m1", "content": "go"}],
    "tool_approve": [
        {"call_id": "c1", "scope": "always", "persist": "project"},
        {"call_id": "c2", "scope": {"always_prefix": {"prefix": "git log"}}, "persist": "user"},
        {"call_id": "c3", "scope": {"always_exact": {"command": "pwd"}}, "persist": "project"},
    ],
    "tool_deny": [{"call_id": "c4", "reason": "no"}],
    "approval_resume": [{"resume_token": "x", "approved": True}],
    "give_grant": [
        {"tool": "Read", "scope": "always", "persist": "user"},
        {"tool": "Bash", "scope": {"always_prefix": {"prefix": "ls"}}, "persist": "project"},
    ],
    "set_agent_tools": [
        {"agent": "main", "tools": [{"name": "Bash", "status": "always_allow"}], "only": False},
        {"agent": "main", "tools": [{"name": "Bash", "status": "blocked"}]},
        {"agent": "other", "tools": None},
    ],
    "set_tool_override": [
        {"agent": "main", "tool": "Bash", "approve_always": True},
        {"agent": "main", "tool": "Delete", "approve_always": False},
    ],
    "trust_workspace": [{"trusted": True, "digest": "{digest}"}],
    "revoke_grant": [{"grant_id": OLD}],
    "accept_changes": [{"digest": "sha256:0"}],
    "resume_turn": [{"action": "cancel"}],
    "add_mcp_server": [{"name": "s", "transport": "stdio", "command": "/nowhere"}],
    "remove_mcp_server": [{"name": "s"}],
    "set_mode": [{"mode": "force"}],
    "set_config": [{"compaction": "off"}],
    "init_history": [{"text": "x"}],
    "list_pending": [{}],
    "list_grants": [{}],
    "list_permissions": [{}],
    "get_history": [{}],
    "stop": [{}],
    "ping": [{}],
}
ANSWERS = ("tool_approve", "tool_deny")
#: What would keep something, if no call had started the engine, and says so in a result.
KEEPING = {"give_grant", "set_agent_tools", "set_tool_override", "trust_workspace", "revoke_grant"}


def kinds() -> Iterator[type[commands.Command]]:
    union, _ = get_args(commands.AnyCommand)
    yield from get_args(union)


def test_every_command_is_tried_with_all_that_could_make_it_last() -> None:
    for kind in kinds():
        name = kind.model_fields["type"].default
        samples = SAMPLES[name]
        if "persist" in kind.model_fields:
            assert {"project", "user"} <= {sample["persist"] for sample in samples}, name
        for sample in samples:
            kind.model_validate_json(json.dumps({"type": name, **sample}))
    assert len(SAMPLES) == len([*kinds()])


def lasting(home: Path) -> dict[str, object]:
    """Return all that a later engine would go by: rows of the store, and who is trusted."""
    state = home / ".local" / "state" / "wcore"
    with sqlite3.connect(state / "wcore.db") as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        found: dict[str, object] = {
            name: sorted(database.execute(f"SELECT * FROM {name}").fetchall())
            for (name,) in names
            if name not in RECORDS and not name.startswith("sqlite_")
        }
    database.close()
    book = state / "trust.json"
    return {**found, "trust": book.read_text() if book.exists() else ""}


def furnish(home: Path, workspace: Path) -> str:
    """Let a person have kept something before; return the digest of the workspace's files."""
    path = str(home / ".local" / "state" / "wcore" / "wcore.db")
    key = GrantKey(identity.user_id(), str(workspace))
    agent = identity.agent_id(str(workspace), MAIN_AGENT)
    grant = LastingGrant(OLD, "Bash", AlwaysPrefix("cal"), Persist.PROJECT, "c", created_at=AT)
    with opened(Location(path, path)) as database:
        grants.add(database, key, grant)
        tiers.set_tool_override(database, key.user_id, agent, "Delete", approve_always=True)
    (workspace / ".wcore").mkdir()
    (workspace / ".wcore" / "policy.toml").write_text('default = "allow"\n')
    listed = wcore("trust", ".", "--list", "--json", cwd=workspace).stdout
    return str(json.loads(listed)["digest"])


async def talked(host: Conversation, digest: str) -> dict[str, bool]:
    """Send all samples; return of those that would keep something whether they were obeyed."""
    await host.ready()
    waiting_calls = {each["call_id"] for name in ANSWERS for each in SAMPLES[name]}
    await host.message()
    while waiting_calls:
        waiting_calls.remove((await host.hear("tool_request"))["call_id"])
    for name in ANSWERS:
        for sample in SAMPLES[name]:
            await host.say(type=name, **sample)
    await host.hear("stream_end")
    for name in (each for each in SAMPLES if each not in (*ANSWERS, "message")):
        for sample in SAMPLES[name]:
            trusted = {"digest": digest} if name == "trust_workspace" else {}
            await host.say(type=name, **{**sample, **trusted})
    await host.quiet()
    return {e["command"]: e["ok"] for e in host.of("command_result") if e["command"] in KEEPING}


def started(workspace: Path, home: Path, program: tuple[str, ...]) -> Conversation:
    calls: list[object] = [
        call("Write", "c1", file_path="a.txt", content="x"),
        call("Bash", "c2", command="git log"),
        call("Bash", "c3", command="pwd"),
        call("Bash", "c4", command="date"),
    ]
    flags = ["--model", f"script:{write_script(workspace.parent, (calls, []))}"]
    return Conversation(workspace, flags, {}, home=home, program=program)


async def test_nothing_that_a_host_says_lasts(workspace: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    digest = furnish(home, workspace)
    before = lasting(home)
    async with started(workspace, home, NESTED) as host:
        obeyed = await talked(host, digest)
    assert lasting(home) == before
    assert obeyed == {name: name == "give_grant" for name in KEEPING}  # one for the session
    refused = [e["error"] for e in host.of("command_result") if obeyed.get(e["command"]) is False]
    assert len(refused) == 7
    assert {each["code"] for each in refused} == {"refused"}
    assert all("inside a tool call" in each["message"] for each in refused)
    short = [e["message"] for e in host.of("info") if "for this session only" in e["message"]]
    assert len(short) == len(SAMPLES["tool_approve"] + SAMPLES["give_grant"])
    assert all("inside a tool call" in text for text in short)


async def test_all_of_it_lasts_where_no_call_has_started_the_engine(
    workspace: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    digest = furnish(home, workspace)
    before = lasting(home)
    async with started(workspace, home, ("-m", "wcore")) as host:
        obeyed = await talked(host, digest)
    assert obeyed == dict.fromkeys(KEEPING, True)
    after = lasting(home)
    assert {name for name in after if after[name] == before[name]} == set()


KEEPS = (
    "grants.add(db, key, grant)",
    "grants.add_all(db, key, [grant])",
    "grants.revoke(db, key, 'g-old')",
    "tiers.set_agent_tools(db, user, None)",
    "tiers.set_tool_override(db, user, user, 'Bash', approve_always=True)",
    "sessions.purge(db, user, ['s1'])",
    "TrustBook(sys.argv[1]).trust('/w', 'sha256:1')",
)
SCRIPT = """
import sys
from wcore.errors import Code, WcoreError
from wcore.policy_files.trust import TrustBook
from wcore.store import GrantKey, LastingGrant, Location, grants, identity, sessions, tiers
from wcore.store.opening import open_database
from wcore.vocabulary import AlwaysPrefix, Persist

user = identity.user_id()
key = GrantKey(user, "/w")
grant = LastingGrant("g", "Bash", AlwaysPrefix("ls"), Persist.PROJECT, "c", created_at={at!r})
path = sys.argv[1] + "/wcore.db"
db = open_database(Location(path, path))
for keep in {keeps!r}:
    try:
        eval(keep)
    except WcoreError as error:
        print(error.code is Code.REFUSED and "inside a tool call" in str(error))
    else:
        print("kept", keep)
"""


def test_whatever_keeps_something_refuses_by_itself(tmp_path: Path) -> None:
    path = str(tmp_path / "wcore.db")
    key = GrantKey(identity.user_id(), "/w")
    grant = LastingGrant(OLD, "Bash", AlwaysPrefix("cal"), Persist.PROJECT, "c", created_at=AT)
    with opened(Location(path, path)) as database:
        grants.add(database, key, grant)
        sessions.release(database, sessions.begin(database, key.user_id, "s1", "/w"))
    text = SCRIPT.format(at=AT, keeps=KEEPS)
    command = [sys.executable, str(SUPERVISED), sys.executable, "-c", text, str(tmp_path)]
    done = waiting.run(command, check=True)
    assert done.stdout.split() == ["True"] * len(KEEPS)
    assert not (tmp_path / "trust.json").exists()
