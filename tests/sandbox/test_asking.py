"""Calls that ask for hosts, or to leave the sandbox, and what a yes to them covers."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sandbox.test_calls import policy
from sandbox.test_network import ASK, port
from talking import Conversation, call

__all__ = ["port"]
Talk = Callable[..., Conversation]
Start = Callable[..., Any]
SANDBOX = ("--sandbox", "required")
ODD_HOSTS = (
    *("*", "*.example.org", "10.0.0.0/8", "10.0.0.1", "a.b:*", "a b", "127.1", "2130706433"),
    *("0x7f000001", "a.0177", "::1", "[::1]:80", "", "\u212a.example"),  # the sign of Kelvin
)
LEAVES = "echo x >>../beside"


@pytest.fixture
def held(talk: Talk) -> Start:
    """Start an engine that runs commands in a sandbox; each reply makes one call, as arguments."""

    @asynccontextmanager
    async def start(*calls: dict[str, Any], mode: str = "default") -> AsyncGenerator[Conversation]:
        script = [[call("Bash", **each)] for each in calls]
        async with talk(*script, [], flags=(*SANDBOX, "--mode", mode)) as host:
            await host.ready()
            await host.message()
            yield host
            await host.hear("stream_end")

    return start


def beside(workspace: Path) -> str:
    path = workspace.parent / "beside"
    return path.read_text() if path.exists() else ""


# --- outside of the sandbox -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["default", "auto_run", "force"])
async def test_what_would_run_outside_asks_in_every_mode(
    held: Start, workspace: Path, mode: str
) -> None:
    async with held({"command": LEAVES, "outside_sandbox": True}, mode=mode) as host:
        card = await host.hear("tool_request")
        assert card["why"]["row"] == "sandbox"
        assert card["sandbox"] == {"view": "none", "hosts": [], "proposed": []}
        assert card["tool"]["description"] == f"Execute outside of the sandbox: {LEAVES}"
        assert beside(workspace) == ""
        await host.approve(card["call_id"], digest=card["digest"])
        found = await host.hear("tool_result")
        assert found["metadata"]["sandbox"] == {"view": "none"}
    assert beside(workspace) == "x\n"


async def test_a_grant_counts_for_calls_that_reach_no_more(held: Start, workspace: Path) -> None:
    touch = {"command": "touch a"}
    outside = {"command": f"touch b; {LEAVES}", "outside_sandbox": True}
    calls = [touch, touch, outside, outside, touch | {"outside_sandbox": True}]
    async with held(*calls) as host:
        first = await host.hear("tool_request")
        await host.approve(first["call_id"], scope={"always_prefix": {"prefix": "touch"}})
        assert (await host.hear("call_announced"))["sandbox"]["view"] == "workspace"
        for scope in ("once", "always"):
            card = await host.hear("tool_request")
            assert card["sandbox"]["view"] == "none"
            await host.approve(card["call_id"], scope=scope)
        last = await host.hear("call_announced")
        assert (last["sandbox"]["view"], last["why"]["row"]) == ("none", "grant")
    assert beside(workspace) == "x\nx\n"


async def test_a_grant_from_within_does_not_count_where_there_is_no_sandbox(
    held: Start, talk: Talk
) -> None:
    async with held({"command": "touch a"}) as host:
        card = await host.hear("tool_request")
        scope = {"always_prefix": {"prefix": "touch"}}
        await host.approve(card["call_id"], scope=scope, persist="user")
    async with talk([call("Bash", command="touch a")], []) as host:
        await host.ready()
        await host.message()
        again = await host.hear("tool_request")
        await host.approve(again["call_id"], scope=scope, persist="user")
        await host.hear("stream_end")
    async with held({"command": "touch a"}, {"command": "touch b"}) as host:
        assert (await host.hear("call_announced"))["why"]["row"] == "grant"


async def test_a_yes_to_leaving_is_not_given_beforehand(held: Start, workspace: Path) -> None:
    rules = workspace.parent / "home" / ".config" / "wcore" / "policy.toml"
    rules.parent.mkdir(parents=True)
    rules.write_text('[[rule]]\nmatch = "Bash"\ndo = "allow"\n')
    calls = ({"command": "true"}, {"command": LEAVES, "outside_sandbox": True})
    async with held(*calls) as host:
        assert (await host.hear("call_announced"))["why"]["row"] == "rule"
        card = await host.hear("tool_request")
        assert card["why"]["row"] == "sandbox"
        await host.deny(card["call_id"])
    assert beside(workspace) == ""


# --- hosts ----------------------------------------------------------------------------------------


async def test_hosts_are_reached_that_a_person_agreed_to(
    held: Start, tmp_path: Path, port: int
) -> None:
    policy(tmp_path, '["127.0.0.0/8:1"]')
    host_name = f"localhost:{port}"
    command = ASK.format(host="localhost", port=port)
    asked = {"command": command, "hosts": [host_name]}
    async with held(asked, asked, {"command": "true"}, mode="auto_run") as host:
        card = await host.hear("tool_request")
        hosts = ["127.0.0.0/8:1", host_name]
        assert card["sandbox"] == {"view": "workspace", "hosts": hosts, "proposed": [host_name]}
        assert card["why"]["row"] == "sandbox"
        assert card["tool"]["description"].startswith(
            f"Execute in the sandbox, reaching {host_name}: "
        )
        await host.deny(card["call_id"])
        again = await host.hear("tool_request")
        await host.approve(again["call_id"])
        # Agreed to, so that it is tried; and refused, since it leads to this machine.
        found = await host.hear("tool_result")
        assert "403" not in found["output"] or found["metadata"]["sandbox"]["refused_hosts"]
        assert found["metadata"]["sandbox"]["hosts"] == hosts
        last = await host.hear("call_announced")
        assert last["sandbox"]["hosts"] == hosts[:1]


async def test_a_host_can_be_agreed_to_for_the_session(held: Start) -> None:
    asks = {"command": "true", "hosts": ["a.example", "b.example"]}
    async with held(asks, {"command": "true"}, asks, asks, mode="auto_run") as host:
        card = await host.hear("tool_request")
        scope = {"always_host": {"host": "a.example"}}
        assert scope in card["suggestions"]
        await host.approve(card["call_id"], scope=scope, persist="user")
        told = await host.hear("info")
        assert "session only" in told["message"]
        assert (await host.hear("call_announced"))["sandbox"]["hosts"] == ["a.example"]
        left = await host.hear("tool_request")
        assert left["sandbox"]["proposed"] == ["b.example"]
        await host.say(type="list_grants", request_id="r1")
        (grant,) = (await host.hear("command_result", request_id="r1"))["grants"]
        assert (grant["kind"], grant["host"]) == ("host", "a.example")
        await host.say(type="revoke_grant", request_id="r2", grant_id=grant["grant_id"])
        await host.hear("command_result", request_id="r2")
        await host.approve(left["call_id"])
        found = await host.hear("tool_result")
        assert found["status"] == "error"
        assert "agrees any more to a.example" in found["output"]
        card = await host.hear("tool_request")
        assert card["sandbox"]["proposed"] == ["a.example", "b.example"]
        await host.approve(card["call_id"], scope={"always_host": {"host": "c.example"}})
        told = await host.hear("info")
        assert "approved once only: the call does not ask for 'c.example'" in told["message"]


async def test_a_grant_carries_the_hosts_that_it_was_given_with(held: Start) -> None:
    asks = {"command": "true 1", "hosts": ["a.example", "b.example"]}
    fewer = {"command": "true 2", "hosts": ["b.example"]}
    more = {"command": "true 3", "hosts": ["b.example", "c.example"]}
    async with held(asks, fewer, {"command": "true 4"}, more) as host:
        card = await host.hear("tool_request")
        await host.approve(card["call_id"], scope={"always_prefix": {"prefix": "true"}})
        for hosts in (["b.example"], []):
            assert (await host.hear("call_announced"))["sandbox"]["hosts"] == hosts
        card = await host.hear("tool_request")
        assert card["why"]["row"] == "sandbox"
        await host.deny(card["call_id"])


@pytest.mark.parametrize("name", ODD_HOSTS)
async def test_only_hosts_can_be_asked_for_and_by_name(held: Start, name: str) -> None:
    async with held({"command": "true", "hosts": [name]}, mode="force") as host:
        found = await host.hear("tool_result")
        assert found["status"] == "error"
        assert "by name" in found["output"] or "names no host" in found["output"]
    assert not host.of("tool_request")


# --- what the host changes ------------------------------------------------------------------------


async def test_the_host_changes_what_a_call_runs_in(held: Start, workspace: Path) -> None:
    asks = {"command": LEAVES, "hosts": ["a.example"]}
    async with held(asks, asks) as host:
        card = await host.hear("tool_request")
        await host.approve(card["call_id"], sandbox={"view": "none"})
        assert "need the digest" in (await host.hear("info"))["message"]
        wish = {"view": "workspace", "hosts": ["b.example"]}
        await host.approve(card["call_id"], sandbox=wish, digest=card["digest"])
        settled = await host.hear("call_settled")
        assert settled["args"]["hosts"] == ["b.example"]
        assert settled["digest"] != card["digest"]
        found = await host.hear("tool_result")
        assert found["metadata"]["sandbox"]["hosts"] == ["b.example"]
        assert beside(workspace) == ""
        card = await host.hear("tool_request")
        await host.approve(card["call_id"], sandbox={"view": "none"}, digest=card["digest"])
        await host.hear("tool_result")
    assert beside(workspace) == "x\n"


async def test_a_call_without_a_sandbox_has_none_to_change(talk: Talk) -> None:
    async with talk([call("Bash", command="true")], []) as host:
        await host.ready()
        await host.message()
        card = await host.hear("tool_request")
        await host.approve(card["call_id"], sandbox={"view": "none"}, digest=card["digest"])
        assert "runs in no sandbox" in (await host.hear("info"))["message"]
        await host.deny(card["call_id"])
        await host.hear("stream_end")


RULES = """
[[rule]]
match = "Bash(echo *)"
do = "allow"
hosts = ["Example.org", "pypi.org"]

[[rule]]
match = "Bash(touch *)"
do = "allow"
outside_sandbox = true

[[rule]]
match = "Bash(ls *)"
do = "allow"
"""


@pytest.mark.parametrize(
    ("wish", "asks"),
    [
        ({"command": "echo x"}, False),
        ({"command": "echo x", "hosts": ["pypi.org", "example.org"]}, False),
        ({"command": "echo x", "hosts": ["pypi.org:8080"]}, True),
        ({"command": "echo x", "hosts": ["pypi.org", "other.org"]}, True),
        ({"command": "echo x", "outside_sandbox": True}, True),
        ({"command": "touch x", "outside_sandbox": True}, False),
        ({"command": "touch x", "hosts": ["other.org"]}, False),  # outside everything is reached
        ({"command": "ls -l"}, False),
        ({"command": "ls -l", "outside_sandbox": True}, True),
        ({"command": "ls -l", "hosts": ["pypi.org"]}, True),
    ],
)
async def test_a_rule_says_what_calls_may_reach(
    held: Start, tmp_path: Path, wish: dict[str, Any], *, asks: bool
) -> None:
    policy(tmp_path, "[]").write_text(RULES)
    async with held(wish, mode="force" if asks else "default") as host:
        if asks:
            card = await host.hear("tool_request")
            assert card["why"]["row"] == "sandbox"
            await host.deny(card["call_id"])
        else:
            result = await host.hear("tool_result")
            assert result["status"] == "success"
            shown = result["metadata"]["sandbox"]
            outside = wish.get("outside_sandbox", False)
            assert shown["view"] == ("none" if outside else "workspace")


# --- modes ----------------------------------------------------------------------------------------


async def test_plan_looks_and_changes_nothing(held: Start, talk: Talk, workspace: Path) -> None:
    (workspace / "a").write_text("before")
    looks = {"command": "cat a ~/../../etc/hostname; echo x >/tmp/x; ls /tmp; echo after >a"}
    leaves = {"command": LEAVES, "outside_sandbox": True}
    async with held(looks, looks, leaves, mode="plan") as host:
        await host.hear("tool_result")
        found = await host.hear("tool_result")
        assert found["output"].splitlines().count("x") == 1, "nothing of the first is left"
        assert "before" in found["output"]
        assert "a: Read-only file system" in found["output"]
        assert found["metadata"]["sandbox"]["view"] == "read_only"
        denied = await host.hear("tool_cancelled")
        assert "mode plan" in denied["reason"]
    assert not host.of("tool_request")
    write = call("Write", file_path="b", content="x")
    async with talk([write], [call("Bash", command="ls")], [], flags=("--mode", "plan")) as host:
        ready = await host.ready()
        assert ready["capabilities"]["modes"][0] == "plan"
        await host.message()
        for _ in range(2):  # without a sandbox commands are denied, too
            assert "mode plan" in (await host.hear("tool_cancelled"))["reason"]
        await host.hear("stream_end")
    assert not (workspace / "b").exists()
    assert (workspace / "a").read_text() == "before"


async def test_auto_run_runs_what_the_sandbox_holds(
    held: Start, talk: Talk, workspace: Path
) -> None:
    (workspace / ".git").mkdir()
    held_back = {"command": "echo x >.git/config; echo x >a; cat ~/nothing ../beside"}
    async with held(held_back, {"command": "rm a"}, mode="auto_run") as host:
        for _ in range(2):
            await host.hear("tool_result")
    assert not host.of("tool_request")
    assert not (workspace / ".git" / "config").exists()
    delete = call("Delete", file_path="a")
    (workspace / "a").write_text("x")
    async with talk(
        [delete], [call("Bash", command="ls")], [], flags=("--mode", "auto_run")
    ) as host:
        ready = await host.ready()
        assert ready["capabilities"]["current_mode"] == "auto_run"
        await host.message()
        for _ in range(2):  # without a sandbox commands ask; Delete does in any case
            await host.deny((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")


async def test_both_modes_are_announced_where_there_is_a_sandbox(held: Start, talk: Talk) -> None:
    async with held() as host:
        modes = host.heard[0]["capabilities"]["modes"]
        assert modes == ["plan", "default", "read_only", "auto_edit", "auto_run", "force"]
    async with talk(flags=("--max-mode", "read_only")) as host:
        assert (await host.ready())["capabilities"]["modes"] == ["default", "read_only"]
        await host.say(type="set_mode", mode="auto_run")
        assert "refused" in (await host.hear("info"))["message"]
        await host.say(type="set_mode", mode="plan")
        changed = await host.hear("config_changed")
        assert changed["capabilities"]["modes"] == ["plan", "default", "read_only"]


async def test_a_yes_to_an_exact_text_does_not_last_in_the_sandbox(held: Start) -> None:
    """What lies in `/tmp` for us is not what lies there within, and a command can write that."""
    path = "/var/tmp/u.sh"
    writes = {"command": f"echo 'echo HI' >{path}"}
    runs = {"command": f"sh {path}", "hosts": ["a.example"]}
    async with held(writes, runs, runs, mode="auto_run") as host:
        card = await host.hear("tool_request")
        scope = {"always_exact": {"command": runs["command"]}}
        assert scope not in card["suggestions"]
        await host.approve(card["call_id"], scope=scope)
        assert "may lead to other files" in (await host.hear("info"))["message"]
        assert "HI" in (await host.hear("tool_result"))["output"]
        await host.deny((await host.hear("tool_request"))["call_id"])
