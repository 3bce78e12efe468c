"""What a running session may do grows only by its own host, whatever others change meanwhile."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from talking import Conversation, call

Talk = Callable[..., Conversation]

ALLOW_ALL = 'default = "allow"\n'
DENY_TOUCH = 'deny = ["Bash(touch *)"]\n'
TOUCH = "touch made"


def policy_of(tmp_path: Path, text: str) -> Path:
    """Write the user's policy as another program would."""
    path = tmp_path / "home" / ".config" / "wcore" / "policy.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(".new")  # an engine that reads meanwhile finds the old or the new
    whole.write_text(text)
    whole.replace(path)
    return path


def turns(*calls: dict[str, object]) -> Any:
    """Return replies for as many turns: each makes one call and ends."""
    return [reply for each in calls for reply in ([each], [])]


def touch(call_id: str) -> dict[str, object]:
    return call("Bash", call_id, command=TOUCH)


async def ask(host: Conversation, kind: str, **fields: object) -> dict[str, Any]:
    await host.say(type=kind, request_id="r", **fields)
    return await host.hear("command_result", command=kind)


async def asks(host: Conversation, call_id: str) -> dict[str, Any]:
    """Take a turn whose one call must ask; deny it and return its card."""
    await host.message(msg_id=f"m-{call_id}")
    card = await host.hear("tool_request", call_id=call_id)
    await host.deny(call_id)
    await host.hear("stream_end", msg_id=f"m-{call_id}")
    return card


async def why_of(host: Conversation, call_id: str) -> dict[str, Any]:
    """Take a turn whose one call asks nobody; return why."""
    heard = await host.turn(msg_id=f"m-{call_id}")
    (announced,) = (event for event in heard if event["type"] == "call_announced")
    assert announced["call_id"] == call_id
    why: dict[str, Any] = announced["why"]
    return why


def told(host: Conversation) -> list[str]:
    """Return what was said of changes that wait."""
    found = [event for event in host.of("info") if "digest" in event]
    assert all(event["message"].startswith("changed by others since") for event in found)
    return [event["message"] for event in found]


async def accept(host: Conversation) -> dict[str, Any]:
    """Accept what was told last."""
    return await ask(
        host, "accept_changes", digest=[e for e in host.of("info") if "digest" in e][-1]["digest"]
    )


# --- policy files ---------------------------------------------------------------------------------


async def test_a_policy_loosened_by_somebody_else_waits_for_the_host(
    talk: Talk, tmp_path: Path
) -> None:
    calls = [touch(name) for name in ("c1", "c2", "c3")]
    async with talk([], *turns(*calls)) as host:
        await host.ready()
        await host.turn(msg_id="m0")
        path = policy_of(tmp_path, ALLOW_ALL)
        await asks(host, "c1")
        await asks(host, "c2")
        (text,) = told(host)  # once
        assert f"{path}: the default is allow" in text
        refused = await ask(host, "accept_changes", digest="sha256:0")
        assert (refused["ok"], refused["error"]["code"]) == (False, "refused")
        assert (await accept(host))["ok"]
        assert (await why_of(host, "c3"))["row"] == "default"
        again = await accept(host)
        assert (again["ok"], again["error"]["code"]) == (False, "refused")
    assert (tmp_path / "workspace" / "made").exists()


async def test_what_was_accepted_is_what_was_told(talk: Talk, tmp_path: Path) -> None:
    async with talk([], *turns(touch("c1"), touch("c2"))) as host:
        await host.ready()
        await host.turn(msg_id="m0")
        policy_of(tmp_path, '[[rule]]\nmatch = "Read"\ndo = "allow"\n')
        await asks(host, "c1")
        policy_of(tmp_path, ALLOW_ALL)  # after the host was told
        refused = await accept(host)
        assert (refused["ok"], refused["error"]["code"]) == (False, "refused")
        await asks(host, "c2")
        assert len(told(host)) == 2


async def test_during_a_turn_nothing_is_accepted(talk: Talk, tmp_path: Path) -> None:
    async with talk([], *turns(touch("c1"))) as host:
        await host.ready()
        await host.turn(msg_id="m0")
        policy_of(tmp_path, ALLOW_ALL)
        await host.message()
        await host.hear("tool_request", call_id="c1")
        refused = await accept(host)
        assert (refused["ok"], refused["error"]["code"]) == (False, "busy")
        await host.deny("c1")
        await host.hear("stream_end")


async def test_a_policy_tightened_by_somebody_else_counts_at_once(
    talk: Talk, tmp_path: Path
) -> None:
    policy_of(tmp_path, ALLOW_ALL)
    async with talk(*turns(touch("c1"), touch("c2"))) as host:
        await host.ready()
        assert (await why_of(host, "c1"))["row"] == "default"
        path = policy_of(tmp_path, ALLOW_ALL + DENY_TOUCH)
        why = await why_of(host, "c2")
        assert (why["row"], why["source"]) == ("deny", f"{path}:2")
        assert told(host) == []


@pytest.mark.parametrize("how", ["deleted", "emptied", "other"])
async def test_a_policy_that_goes_away_forbids_on(talk: Talk, tmp_path: Path, how: str) -> None:
    path = policy_of(tmp_path, DENY_TOUCH)
    async with talk(*turns(touch("c1"), touch("c2")), flags=("--force",)) as host:
        await host.ready()
        assert (await why_of(host, "c1"))["row"] == "deny"
        if how == "deleted":
            path.unlink()
        else:
            path.write_text("" if how == "emptied" else 'deny = ["Bash(rm *)"]\n')
        why = await why_of(host, "c2")
        assert (why["row"], why["source"]) == ("deny", f"{path}:1")
        assert "`Bash(touch *)` is no longer denied" in told(host)[0]


async def test_a_ceiling_on_grants_that_is_raised_waits(talk: Talk, tmp_path: Path) -> None:
    policy_of(tmp_path, "[limits]\ngrants = false\n")
    async with talk(*turns(touch("c1"), touch("c2"))) as host:
        await host.ready()
        await asks(host, "c1")
        policy_of(tmp_path, "")
        card = await asks(host, "c2")
        assert not card.get("suggestions")
        assert "more grants may be kept" in told(host)[0]


# --- trust ----------------------------------------------------------------------------------------


def trust(workspace: Path) -> None:
    """Trust a folder as a person does in another terminal."""
    from wcore.cli import environment
    from wcore.policy_files.policy_files import PolicyFiles

    home = str(workspace.parent / "home")
    files = PolicyFiles.of(environment.places(str(workspace), {"HOME": home}))
    digest = files.project().digest
    assert digest is not None
    files.trust.trust(str(workspace), digest)


def project_of(workspace: Path, text: str) -> None:
    (workspace / ".wcore").mkdir(exist_ok=True)
    (workspace / ".wcore" / "policy.toml").write_text(text)


async def test_trust_given_elsewhere_waits(talk: Talk, workspace: Path) -> None:
    project_of(workspace, ALLOW_ALL)
    async with talk(*turns(touch("c1"), touch("c2"), touch("c3"))) as host:
        await host.ready()
        await asks(host, "c1")
        trust(workspace)
        await asks(host, "c2")
        assert "the folder is trusted" in told(host)[0]
        assert (await accept(host))["ok"]
        assert (await why_of(host, "c3"))["row"] == "default"


async def test_trust_of_the_own_host_counts_and_brings_nothing_else_along(
    talk: Talk, workspace: Path, tmp_path: Path
) -> None:
    project_of(workspace, '[[rule]]\nmatch = "Bash(touch *)"\ndo = "allow"\n')
    write = call("Write", "c3", file_path="a.txt", content="x")
    async with talk(*turns(touch("c1"), touch("c2"), write, touch("c4"))) as host:
        await host.ready()
        await asks(host, "c1")
        policy_of(tmp_path, ALLOW_ALL)  # somebody else's
        listed = await ask(host, "trust_workspace", trusted=True)
        given = await ask(host, "trust_workspace", trusted=True, digest=listed["digest"])
        assert given["trusted"]
        assert (await why_of(host, "c2"))["row"] == "rule"
        await asks(host, "c3")
        assert "the default is allow" in told(host)[0]
        assert (await ask(host, "trust_workspace", trusted=False))["ok"]
        await asks(host, "c4")


async def test_a_server_named_meanwhile_is_not_started(
    talk: Talk, workspace: Path, tmp_path: Path
) -> None:
    async with talk([], []) as host:
        await host.ready()
        await host.turn(msg_id="m0")
        runs = json.dumps(["-c", f"open({str(workspace / 'ran')!r}, 'w')"])
        server = f"command = {json.dumps(sys.executable)}\nargs = {runs}\n"
        policy_of(tmp_path, f'[[mcp]]\nname = "evil"\n{server}')
        await host.turn(msg_id="m1")
        (failed,) = host.of("mcp_failed")
        assert failed["name"] == "evil"
        assert "accept_changes" in failed["reason"]
        assert "MCP server evil" in told(host)[0]
    assert not (workspace / "ran").exists()


# --- agent files ----------------------------------------------------------------------------------


def agent_of(tmp_path: Path, front: str) -> None:
    path = tmp_path / "home" / ".config" / "wcore" / "agents" / "helper.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{front}\n---\nhelp\n")


SPAWN = call("Spawn", "s", task="x", agent="helper")


@pytest.mark.parametrize("before", ["tiers: {Bash: needs_approval}", None])
async def test_an_agent_file_loosened_meanwhile_does_not_count(
    talk: Talk, tmp_path: Path, before: str | None
) -> None:
    if before is not None:
        agent_of(tmp_path, before)
    async with talk([], [SPAWN], [touch("c1")], [], []) as host:
        await host.ready()
        await host.turn(msg_id="m0")
        agent_of(tmp_path, "tiers: {Bash: always_allow}")
        await host.message()
        await host.hear("tool_request", call_id="s")
        await host.approve("s")
        await host.hear("tool_request", call_id="c1")
        await host.deny("c1")
        await host.hear("stream_end")
        assert "agents/helper.md" in told(host)[0]


async def test_an_agent_given_more_tools_meanwhile_is_not_offered_them(
    talk: Talk, tmp_path: Path
) -> None:
    agent_of(tmp_path, "tools: [Read]")
    async with talk([], [SPAWN], [touch("c1")], [], []) as host:
        await host.ready()
        await host.turn(msg_id="m0")
        agent_of(tmp_path, "tools: [Read, Bash]\ntiers: {Bash: always_allow}")
        await host.message()
        await host.hear("tool_request", call_id="s")
        await host.approve("s")
        await host.hear("stream_end")
        (denied,) = (e for e in host.of("call_announced") if e["call_id"] == "c1")
        assert denied["why"]["row"] == "blocked"


async def test_trust_before_the_first_turn_leaves_the_own_agents_as_they_are(
    talk: Talk, workspace: Path, tmp_path: Path
) -> None:
    project_of(workspace, "")
    agent_of(tmp_path, "tiers: {Bash: always_allow}")
    async with talk([SPAWN], [touch("c1")], [], []) as host:
        await host.ready()
        listed = await ask(host, "trust_workspace", trusted=True)
        await ask(host, "trust_workspace", trusted=True, digest=listed["digest"])
        await host.message()
        await host.hear("tool_request", call_id="s")
        await host.approve("s")
        allowed = await host.hear("call_announced", call_id="c1")
        assert allowed["why"]["row"] == "tier"
        await host.hear("stream_end")
        assert told(host) == []


# --- the store ------------------------------------------------------------------------------------

FORGED = """
import sqlite3
with sqlite3.connect({path!r}) as db:
    db.execute("INSERT INTO grants SELECT 'g-forged', 'forged', user_id, workspace, agent, 'Bash', "
               "'name', '', from_call_id, created_at, NULL, 0, NULL, NULL, NULL, NULL FROM grants")
    db.execute("UPDATE store_versions SET version = version + 1 WHERE name = 'grants'")
"""


def store_of(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db"


async def test_a_grant_that_another_program_writes_does_not_count(
    talk: Talk, tmp_path: Path, workspace: Path
) -> None:
    (workspace / "x.py").write_text(FORGED.format(path=str(store_of(tmp_path))))
    forge = call("Bash", "c2", command=f"{sys.executable} x.py")
    read = call("Read", "c1", file_path="x.py")
    async with talk(*turns(read, forge, touch("c3"), touch("c4"))) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="c1")
        await host.approve("c1", scope="always", persist="project")
        await host.hear("stream_end")
        await host.message(msg_id="m2")
        await host.hear("tool_request", call_id="c2")
        await host.approve("c2")
        result = await host.hear("tool_result", call_id="c2")
        assert result["status"] == "success", result
        await host.hear("stream_end")
        await asks(host, "c3")
        (text,) = told(host)
        assert "grant for main: Bash (project)" in text
        listed = await ask(host, "list_grants")
        assert [each["tool"] for each in listed["grants"]] == ["Read"]
        assert (await accept(host))["ok"]
        assert (await why_of(host, "c4"))["row"] == "grant"


async def test_a_grant_of_a_second_engine_waits_and_its_revoke_counts_at_once(talk: Talk) -> None:
    write = [call("Write", f"w{n}", file_path=f"{n}.txt", content="x") for n in range(5)]
    async with talk(*turns(*write)) as one, talk(*turns(*write)) as other:
        await one.ready()
        await other.ready()
        await asks(other, "w0")
        await one.message()
        await one.hear("tool_request", call_id="w0")
        await one.approve("w0", scope="always", persist="project")
        await one.hear("stream_end")
        await asks(other, "w1")
        assert "grant for main: Write (project)" in told(other)[0]
        assert (await why_of(one, "w1"))["row"] == "grant"
        assert (await accept(other))["ok"]
        assert (await why_of(other, "w2"))["row"] == "grant"
        (grant,) = (await ask(other, "list_grants"))["grants"]
        assert (await ask(one, "revoke_grant", grant_id=grant["grant_id"]))["revoked"]
        await asks(other, "w3")
        await one.message(msg_id="again")
        await one.hear("tool_request", call_id="w2")
        await one.approve("w2", scope="always", persist="project")
        await one.hear("stream_end")
        await asks(other, "w4")  # what was revoked does not come back by somebody else's word


async def test_an_override_and_tiers_of_a_second_engine_wait(talk: Talk) -> None:
    write = [call("Write", f"w{n}", file_path="a.txt", content=str(n)) for n in range(4)]
    async with talk(*turns(*write)) as one, talk() as other:
        await one.ready()
        await other.ready()
        await asks(one, "w0")
        assert (
            await ask(other, "set_tool_override", agent="main", tool="Write", approve_always=True)
        )["ok"]
        await asks(one, "w1")
        assert "Write is not asked about" in told(one)[0]
        assert (
            await ask(one, "set_tool_override", agent="main", tool="Bash", approve_always=True)
        )["ok"]
        await asks(one, "w2")  # the own override has not brought the other along
        tools = [{"name": "Read", "status": "blocked"}, {"name": "Write", "status": "blocked"}]
        assert (await ask(other, "set_agent_tools", agent="main", tools=tools))["ok"]
        heard = await one.turn(msg_id="last")
        (denied,) = (event for event in heard if event["type"] == "call_announced")
        assert denied["why"]["row"] == "blocked"


async def test_tiers_that_somebody_else_lifts_bind_on(talk: Talk) -> None:
    write = [call("Write", f"w{n}", file_path="a.txt", content=str(n)) for n in range(3)]
    needs = [{"name": "Write", "status": "needs_approval"}]
    allows = [{"name": "Write", "status": "always_allow"}]
    async with talk(*turns(*write)) as one, talk() as other:
        await one.ready()
        await other.ready()
        assert (await ask(one, "set_agent_tools", agent="main", tools=needs))["ok"]
        await asks(one, "w0")
        assert (await ask(other, "set_agent_tools", agent="main", tools=allows))["ok"]
        await asks(one, "w1")
        assert "Write is always_allow" in told(one)[0]
        assert (await ask(one, "set_agent_tools", agent="main", tools=allows))["ok"]
        assert (await why_of(one, "w2"))["row"] == "tier"


async def test_tiers_of_an_agent_that_somebody_else_sets_before_it_works_allow_nothing(
    talk: Talk,
) -> None:
    allows = [{"name": "Bash", "status": "always_allow"}]
    spawn = call("Spawn", "s", task="x")
    async with talk([], [spawn], [touch("c1")], [], []) as one, talk() as other:
        await one.ready()
        await other.ready()
        await one.turn(msg_id="m0")
        assert (await ask(other, "set_agent_tools", agent="general", tools=allows))["ok"]
        await one.message()
        await one.hear("tool_request", call_id="s")
        await one.approve("s")
        await one.hear("tool_request", call_id="c1")
        await one.deny("c1")
        await one.hear("stream_end")


# --- during a turn --------------------------------------------------------------------------------


async def test_what_is_tightened_during_a_turn_counts_for_its_next_call(
    talk: Talk, tmp_path: Path
) -> None:
    policy_of(tmp_path, "")
    first = call("Write", "w", file_path="a.txt", content="x")
    async with talk([first], [touch("c1")], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="w")
        path = policy_of(tmp_path, DENY_TOUCH)
        await host.approve("w")
        denied = await host.hear("call_announced", call_id="c1")
        assert denied["why"]["source"] == f"{path}:1"
        await host.hear("stream_end")


async def test_what_is_loosened_during_a_turn_waits(talk: Talk, tmp_path: Path) -> None:
    policy_of(tmp_path, DENY_TOUCH)
    first = call("Write", "w", file_path="a.txt", content="x")
    async with talk([first], [touch("c1")], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="w")
        policy_of(tmp_path, ALLOW_ALL)
        await host.approve("w")
        denied = await host.hear("call_announced", call_id="c1")
        assert denied["why"]["row"] == "deny"
        await host.hear("stream_end")


async def test_a_held_call_is_decided_by_the_rules_as_they_are_then(
    talk: Talk, tmp_path: Path
) -> None:
    policy_of(tmp_path, '[[rule]]\nmatch = "Bash"\ndo = "allow"\n')
    first = call("Write", "w", file_path="a.txt", content="x")
    async with talk([first, touch("c1")], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="w")  # the command waits for it, unannounced
        path = policy_of(tmp_path, DENY_TOUCH)
        await host.approve("w")
        denied = await host.hear("call_announced", call_id="c1")
        assert denied["why"]["source"] == f"{path}:1"
        await host.hear("stream_end")


async def test_a_policy_that_breaks_during_a_turn_ends_it(
    talk: Talk, tmp_path: Path, workspace: Path
) -> None:
    path = policy_of(tmp_path, "")
    first = call("Write", "w", file_path="a.txt", content="x")
    info = call("Read", "r", file_path="b.txt")
    async with talk([first], [info], flags=()) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="w")
        path.write_text("\nbroken")
        await host.approve("w")
        result = await host.hear("tool_result", call_id="w")
        assert result["status"] == "error"
        assert not (workspace / "a.txt").exists()
        end = await host.hear("stream_end")
        assert end["finish_reason"] == "error"
        (error,) = host.of("error")
        assert error["error"]["code"] == "config_error"
        assert f"{path}:2: " in error["error"]["message"]


async def test_arguments_edited_after_a_tightening_are_denied(talk: Talk, tmp_path: Path) -> None:
    policy_of(tmp_path, "")
    async with talk([call("Bash", "c1", command="true")], []) as host:
        await host.ready()
        await host.message()
        card = await host.hear("tool_request", call_id="c1")
        policy_of(tmp_path, DENY_TOUCH)
        await host.approve("c1", digest=card["digest"], args={"command": TOUCH})
        cancelled = await host.hear("tool_cancelled", call_id="c1")
        assert "Bash(touch *)" in cancelled["reason"]
        await host.hear("stream_end")


async def test_what_is_forbidden_while_a_card_waits_does_not_run(
    talk: Talk, tmp_path: Path, workspace: Path
) -> None:
    policy_of(tmp_path, "")
    async with talk([touch("c1")], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="c1")
        policy_of(tmp_path, DENY_TOUCH)
        await host.approve("c1")
        result = await host.hear("tool_result", call_id="c1")
        assert result["status"] == "error"
        assert result["output"] == "denied by policy: `Bash(touch *)` is denied by the policy"
        await host.hear("stream_end")
    assert not (workspace / "made").exists()


async def test_a_yes_counts_whatever_mode_came_while_its_card_waited(
    talk: Talk, workspace: Path
) -> None:
    async with talk([touch("c1")], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="c1")
        await host.say(type="set_mode", mode="plan")
        await host.hear("info")
        await host.approve("c1")
        await host.hear("tool_result", call_id="c1")
        await host.hear("stream_end")
    assert (workspace / "made").exists()


# --- give_grant -----------------------------------------------------------------------------------


async def test_a_grant_may_be_given_without_a_call(talk: Talk) -> None:
    async with talk(*turns(touch("c1"), touch("c2"))) as host:
        await host.ready()
        scope = {"always_prefix": {"prefix": "touch"}}
        given = await ask(host, "give_grant", tool="Bash", scope=scope, persist="project")
        assert given["ok"], given
        (grant,) = given["grants"]
        assert (grant["persist"], grant["by"], grant["prefix"]) == ("project", "host", "touch")
        assert "from_call_id" not in grant
        assert (await why_of(host, "c1"))["row"] == "grant"
        assert (await ask(host, "revoke_grant", grant_id=grant["grant_id"]))["revoked"]
        await asks(host, "c2")
        assert told(host) == []


@pytest.mark.parametrize(
    "given",
    [
        {"tool": "Nothing", "scope": "always"},
        {"tool": "mcp__gone__x", "scope": "always"},
        {"tool": "Bash", "scope": "once"},
        {"tool": "Read", "scope": {"always_prefix": {"prefix": "touch"}}},
        {"tool": "Bash", "scope": {"always_prefix": {"prefix": "env"}}},
        {"tool": "Bash", "scope": {"always_path": {"root": "/srv"}}},
        {"tool": "Read", "scope": {"always_path": {"root": "/"}}},
        {"tool": "Read", "scope": {"always_path": {"root": "~"}}},
        {"tool": "Write", "scope": {"always_path": {"root": "/srv"}}},
        {"tool": "Read", "scope": {"always_path": {"root": "/srv", "write": True}}},
        {"tool": "Read", "scope": "always", "agent": "nobody"},
    ],
)
async def test_a_grant_that_no_card_would_get_is_refused(
    talk: Talk, given: dict[str, object]
) -> None:
    async with talk([]) as host:
        await host.ready()
        refused = await ask(host, "give_grant", **given)
        assert (refused["ok"], refused["error"]["code"]) == (False, "refused")
        assert (await ask(host, "list_grants"))["grants"] == []


async def test_every_command_is_granted_for_the_session_at_most(talk: Talk) -> None:
    async with talk(*turns(touch("c1"))) as host:
        await host.ready()
        given = await ask(host, "give_grant", tool="Bash", scope="always", persist="user")
        assert given["grants"][0]["persist"] == "session"
        assert "kept for this session only" in host.of("info")[0]["message"]
        assert (await why_of(host, "c1"))["row"] == "grant"


@pytest.mark.parametrize("way", ["override", "grant"])
async def test_a_yes_lifts_a_deny_only_if_it_was_given_in_spite_of_it(
    talk: Talk, tmp_path: Path, way: str
) -> None:
    async def give(host: Conversation) -> None:
        if way == "override":
            done = await ask(
                host, "set_tool_override", agent="main", tool="Bash", approve_always=True
            )
        else:
            done = await ask(host, "give_grant", tool="Bash", scope="always", persist="session")
        assert done["ok"], done

    async with talk(*turns(touch("c1"), touch("c2"), touch("c3"))) as host:
        await host.ready()
        await give(host)
        assert (await why_of(host, "c1"))["row"] in ("grant", "override")
        policy_of(tmp_path, '[[rule]]\nmatch = "Bash"\ndo = "deny"\n')
        assert (await why_of(host, "c2"))["row"] == "rule"
        await give(host)
        assert (await why_of(host, "c3"))["row"] in ("grant", "override")
    lasts = way == "override"
    async with talk(*turns(touch("c1"))) as host:
        await host.ready()
        assert (await why_of(host, "c1"))["row"] in (["grant", "override"] if lasts else ["rule"])
    policy_of(tmp_path, '\n[[rule]]\nmatch = "Bash"\ndo = "deny"\n')
    async with talk(*turns(touch("c1"))) as host:
        await host.ready()
        assert (await why_of(host, "c1"))["row"] == "rule"
