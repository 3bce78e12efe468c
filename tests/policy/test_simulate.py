"""`wcore policy simulate`: recorded sessions under another policy."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from policy.asking import wcore
from talking import Conversation, call

Talk = Callable[..., Conversation]


async def record(talk: Talk) -> None:
    """Record a session with every kind of decision: asked, by mode, by grant, by rule."""
    first = [
        call("Bash", "asked", command="git log"),
        call("LS", "mode", path="."),
        call("Read", "secret", file_path=".env"),
        call("Nope", "unknown"),
    ]
    second = [call("Bash", "granted", command="git log -3"), call("Write", "no", file_path="a")]
    async with talk(first, second, [], flags=("--session-id", "s1", "--mode", "read_only")) as host:
        (host.workspace / ".env").write_text("x")
        await host.ready()
        await host.message()
        for _ in range(2):
            asked = await host.hear("tool_request")
            scope = {"always_prefix": {"prefix": "git log"}}
            more = {"scope": scope} if asked["call_id"] == "asked" else {}
            await host.approve(asked["call_id"], **more)
        await host.hear("stream_end")


def simulate(workspace: Path, policy: str) -> dict[str, Any]:
    (workspace / "new.toml").write_text(policy)
    done = wcore(
        *("policy", "simulate", "s1", "latest", "--policy", "new.toml", "--json"), cwd=workspace
    )
    assert done.stdout, done.stderr
    return {**json.loads(done.stdout), "exit": done.returncode}


def changes(told: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {each["call_id"]: (each["was"], each["now"]) for each in told["changes"]}


async def test_what_would_be_decided_differently_is_told(talk: Talk, workspace: Path) -> None:
    await record(talk)
    same = simulate(workspace, "")
    assert (same["exit"], same["differ"], same["calls"]) == (0, 0, 4)
    told = simulate(workspace, '[[rule]]\nmatch = "Bash(git log)"\ndo = "allow"\n')
    assert (told["exit"], changes(told)) == (10, {"asked": ("ask", "allow")})
    told = simulate(workspace, 'deny = ["Bash(git)", "LS"]\n')
    assert changes(told) == {
        "asked": ("ask", "deny"),
        "granted": ("allow", "deny"),
        "mode": ("allow", "deny"),
    }
    assert told["changes"][0]["source"] == "new.toml:1"
    told = simulate(workspace, '[[rule]]\nmatch = "*"\ndo = "allow"\n')
    assert changes(told) == {"asked": ("ask", "allow")}  # `.env` asks whatever rules say


async def test_what_folder_a_command_entered_is_known(talk: Talk, workspace: Path) -> None:
    texts = ("cd sub && echo a", "cd link && echo a")
    calls = [call("Bash", text.split()[1], command=text) for text in texts]
    async with talk(calls, [], flags=("--session-id", "s1")) as host:
        (host.workspace / "sub").mkdir()
        (host.workspace / "link").symlink_to("sub")
        await host.ready()
        await host.message()
        for _ in texts:
            await host.approve((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")
    told = simulate(workspace, '[[rule]]\nmatch = "Bash(echo)"\ndo = "allow"\n')
    assert changes(told) == {"sub": ("ask", "allow")}


async def test_a_call_of_an_agent_is_bound_by_its_own_rules_and_by_those_of_its_parent(
    talk: Talk, workspace: Path
) -> None:
    spawn = call("Spawn", "spawn", task="look")
    below = [call("Bash", "below", command="git log")]
    async with talk([spawn], below, [], [], flags=("--session-id", "s1", "--force")) as host:
        await host.ready()
        await host.turn()
    rule = '[[rule]]\nmatch = "Bash"\ndo = "{}"\nagent = "{}"\n'
    assert changes(simulate(workspace, rule.format("deny", "other"))) == {}
    for agent in ("general", "main"):
        told = simulate(workspace, rule.format("deny", agent))
        assert changes(told) == {"below": ("allow", "deny")}
        assert told["changes"][0]["agent"] == "general"


async def test_for_people_there_is_a_line_for_each_change_and_a_sum(
    talk: Talk, workspace: Path
) -> None:
    await record(talk)
    (workspace / "new.toml").write_text('deny = ["LS"]\n')
    done = wcore("policy", "simulate", "s1", "--policy", "new.toml", cwd=workspace)
    line, total = done.stdout.splitlines()
    assert line.startswith("s1 mode  LS ")
    assert line.endswith("allow -> deny: `LS` is denied by the policy (new.toml:1)")
    assert total == "4 calls, 1 differ: 1 from allow to deny"
    assert not (workspace / "a").exists()


def test_what_is_missing_or_broken_is_said(workspace: Path) -> None:
    (workspace / "new.toml").write_text("deny = 3\n")
    for argv, code, problem in (
        (["s1"], 2, "--policy"),
        (["s1", "--policy", "none.toml"], 2, "no such file"),
        (["s1", "--policy", "new.toml"], 1, "no stored session 's1'"),
    ):
        done = wcore("policy", "simulate", *argv, cwd=workspace)
        assert (done.returncode, done.stdout) == (code, "")
        assert problem in done.stderr


async def test_a_broken_policy_to_try_is_said_with_its_line(talk: Talk, workspace: Path) -> None:
    await record(talk)
    (workspace / "new.toml").write_text("\ndeny = 3\n")
    done = wcore("policy", "simulate", "s1", "--policy", "new.toml", cwd=workspace)
    assert (done.returncode, done.stdout) == (1, "")
    assert "new.toml:2: `deny` must be a list" in done.stderr
