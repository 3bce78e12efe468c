"""Policies, tiers and trust in a real engine: what a host sees, and what never happens."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from policy.asking import explain, trust, wcore
from talking import Conversation, call

Talk = Callable[..., Conversation]

ALLOW_ALL = '[[rule]]\nmatch = "*"\ndo = "allow"\n'


def write_policy(folder: Path, text: str) -> Path:
    path = folder / ".wcore" / "policy.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def write_user_policy(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "home" / ".config" / "wcore" / "policy.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def ask(host: Conversation, kind: str, **fields: object) -> dict[str, Any]:
    await host.say(type=kind, request_id="r", **fields)
    return await host.hear("command_result", command=kind)


# --- files ----------------------------------------------------------------------------------------


async def test_a_rule_of_the_user_allows_and_is_named(talk: Talk, tmp_path: Path) -> None:
    path = write_user_policy(tmp_path, "\n" + ALLOW_ALL)
    async with talk([call("Write", "c", file_path="a.txt", content="x")], []) as host:
        await host.ready()
        await host.turn()
        why = host.of("call_announced")[0]["why"]
        assert (why["row"], why["rule"], why["source"]) == ("rule", "*", f"{path}:2")
    assert (host.workspace / "a.txt").read_text() == "x"


async def test_a_cloned_folder_loosens_nothing(talk: Talk, workspace: Path) -> None:
    write_policy(workspace, f'default = "allow"\n{ALLOW_ALL}')
    async with talk([call("Bash", "c", command="touch made")], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="c")
        await host.deny("c")
        await host.hear("stream_end")
    assert not (workspace / "made").exists()


async def test_a_cloned_folder_that_asks_lifts_no_default_that_denies(
    talk: Talk, workspace: Path, tmp_path: Path
) -> None:
    write_user_policy(tmp_path, 'default = "deny"\n')
    write_policy(workspace, '[[rule]]\nmatch = "Bash"\ndo = "ask"\n')
    async with talk([call("Bash", "c", command="touch made")], []) as host:
        await host.ready()
        await host.turn()
        assert host.of("call_announced")[0]["why"]["row"] == "default"
        assert host.of("tool_cancelled")


async def test_a_cloned_folder_may_forbid_even_in_mode_force(talk: Talk, workspace: Path) -> None:
    path = write_policy(workspace, 'deny = ["Bash(touch *)"]\n')
    async with talk([call("Bash", "c", command="touch made")], [], flags=("--force",)) as host:
        await host.ready()
        await host.turn()
        why = host.of("call_announced")[0]["why"]
        assert (why["row"], why["source"], why["span"]) == ("deny", f"{path}:1", [0, 10])
        assert host.of("tool_cancelled")
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("kind", ["text", "unknown key", "link", "fifo", "folder"])
def test_a_broken_policy_stops_the_start(workspace: Path, tmp_path: Path, kind: str) -> None:
    path = write_policy(workspace, "a = [" if kind == "text" else 'allow = ["*"]\n')
    if kind in ("link", "fifo", "folder"):
        path.unlink()
    if kind == "link":
        (tmp_path / "elsewhere.toml").write_text("")
        path.symlink_to(tmp_path / "elsewhere.toml")
    if kind == "fifo":
        import os

        os.mkfifo(path)
    if kind == "folder":
        path.mkdir()
    done = wcore(cwd=workspace)
    assert done.returncode == 1
    (event,) = (json.loads(line) for line in done.stdout.splitlines())
    assert event["error"]["code"] == "init_failed"
    assert f"{path}:1: " in event["error"]["message"]


async def test_a_policy_broken_later_refuses_turns_until_it_is_mended(
    talk: Talk, workspace: Path
) -> None:
    path = write_policy(workspace, "")
    async with talk([], [call("LS", "c", path=".")], [], flags=("--force",)) as host:
        await host.ready()
        await host.turn(msg_id="m1")
        path.write_text("\nbroken")
        await host.turn(msg_id="m2")
        error = host.of("error")[0]["error"]
        assert error["code"] == "config_error"
        assert f"{path}:2: " in error["message"]
        assert host.of("stream_end")[1]["finish_reason"] == "error"
        path.write_text('deny = ["LS"]')
        await host.turn(msg_id="m3")
        assert host.of("call_announced")[0]["why"]["row"] == "deny"


# --- limits ---------------------------------------------------------------------------------------


async def test_a_reload_lowers_the_ceiling_and_never_raises_it(talk: Talk, workspace: Path) -> None:
    path = write_policy(workspace, "")
    async with talk([], [], [], flags=("--mode", "force")) as host:
        await host.ready()
        await host.turn(msg_id="m1")
        path.write_text('[limits]\nmax_mode = "read_only"\n')
        await host.turn(msg_id="m2")
        changed = await host.hear("config_changed")
        assert changed["capabilities"]["current_mode"] == "read_only"
        assert changed["capabilities"]["modes"] == ["default", "read_only"]
        path.write_text("")
        await host.turn(msg_id="m3")
        await host.say(type="set_mode", mode="force")
        assert "refused" in (await host.hear("info"))["message"]


async def test_a_start_above_the_ceiling_of_the_project_starts_at_it(
    talk: Talk, workspace: Path
) -> None:
    write_policy(workspace, '[limits]\nmax_mode = "read_only"\n')
    async with talk(flags=("--force",)) as host:
        ready = await host.ready()
        assert ready["capabilities"]["current_mode"] == "read_only"
        assert (await host.next())["type"] == "info"


def test_a_start_above_the_ceiling_of_the_user_is_wrong_usage(
    workspace: Path, tmp_path: Path
) -> None:
    write_user_policy(tmp_path, '[limits]\nmax_mode = "read_only"\n')
    done = wcore("--force", cwd=workspace)
    assert done.returncode == 2
    assert "ceiling" in done.stdout


async def test_a_card_of_an_agent_at_work_expires_as_the_rules_now_say(
    talk: Talk, workspace: Path
) -> None:
    path = write_policy(workspace, "")
    reads = [[call("Read", f"r{n}", file_path="a.txt")] for n in (1, 2)]
    spawn = [call("Spawn", "s", task="t", agent="general")]
    async with talk(spawn, *reads, [], []) as host:
        await host.ready()
        await host.message()
        await host.approve((await host.hear("tool_request", call_id="s"))["call_id"])
        await host.hear("tool_request", call_id="r1")
        path.write_text("[limits]\nttl = 60\n")
        await host.approve("r1")
        card = await host.hear("tool_request", call_id="r2")
        await host.say(type="list_pending")
        (pending,) = (await host.hear("command_result"))["calls"]
        assert pending["expires_in_s"] <= card["expires_in_s"] == 60
        await host.approve("r2")
        await host.hear("stream_end")


async def test_a_policy_may_forbid_grants(talk: Talk, workspace: Path) -> None:
    write_policy(workspace, "[limits]\ngrants = false\n")
    one, two = (call("Bash", f"c{n}", command="true") for n in (1, 2))
    async with talk([one], [two], []) as host:
        await host.ready()
        await host.message()
        assert "suggestions" not in await host.hear("tool_request")
        await host.approve("c1", scope="always")
        assert "forbids" in (await host.hear("info"))["message"]
        await host.hear("tool_request", call_id="c2")
        await host.deny("c2")
        await host.hear("stream_end")


# --- trust ----------------------------------------------------------------------------------------


def test_trust_lasts_until_a_project_file_changes(workspace: Path, tmp_path: Path) -> None:
    path = write_policy(workspace, ALLOW_ALL)
    assert explain("ls", cwd=workspace)["verdict"] == "ask"
    done = trust(workspace)
    assert done.returncode == 0
    assert 'match = "*"' in done.stdout
    told = explain("ls", cwd=workspace)
    assert (told["verdict"], told["source"]) == ("allow", f"{path}:1")
    record = tmp_path / "home" / ".local" / "state" / "wcore" / "trust.json"
    assert record.stat().st_mode & 0o777 == 0o600
    (workspace / ".wcore" / "more.md").write_text("x")
    assert explain("ls", cwd=workspace)["verdict"] == "ask"
    (workspace / ".wcore" / "more.md").unlink()
    assert explain("ls", cwd=workspace)["verdict"] == "allow"
    assert wcore("trust", str(workspace), "--revoke", cwd=workspace).returncode == 0
    assert explain("ls", cwd=workspace)["verdict"] == "ask"


def test_a_broken_record_of_trust_trusts_nothing(workspace: Path, tmp_path: Path) -> None:
    write_policy(workspace, ALLOW_ALL)
    trust(workspace)
    record = tmp_path / "home" / ".local" / "state" / "wcore" / "trust.json"
    for text in ("{", "[]", '{"folders": 3}', "[" * 100_000):
        record.write_text(text)
        assert explain("ls", cwd=workspace)["verdict"] == "ask"


async def test_trust_over_the_wire_needs_the_digest_of_what_was_shown(
    talk: Talk, workspace: Path
) -> None:
    path = write_policy(workspace, ALLOW_ALL)
    async with talk([call("Bash", "c", command="true")], []) as host:
        await host.ready()
        listed = await ask(host, "trust_workspace", trusted=True)
        assert (listed["ok"], listed["trusted"]) == (True, False)
        assert [file["path"] for file in listed["files"]] == ["policy.toml"]
        path.write_text(ALLOW_ALL + "\n")
        refused = await ask(host, "trust_workspace", trusted=True, digest=listed["digest"])
        assert refused["error"]["code"] == "refused"
        listed = await ask(host, "trust_workspace", trusted=True)
        trusted = await ask(host, "trust_workspace", trusted=True, digest=listed["digest"])
        assert trusted["trusted"]
        await host.turn()
        assert host.of("call_announced")[0]["why"]["row"] == "rule"


# --- tiers ----------------------------------------------------------------------------------------


async def test_a_blocked_tool_is_unknown_to_the_model_and_never_prepared(talk: Talk) -> None:
    tools = [{"name": "LS"}, {"name": "Bash", "status": "blocked"}]
    async with talk([call("Bash", "c", command="true")], [], flags=("--force",)) as host:
        await host.ready()
        listed = await ask(host, "set_agent_tools", agent="main", tools=tools)
        statuses = {t["name"]: t["status"] for t in listed["agents"][0]["tools"]}
        assert statuses == {"LS": "always_allow", "Bash": "blocked"}
        await host.turn()
        assert host.of("call_announced")[0]["why"]["row"] == "blocked"
        history = await ask(host, "get_history")
        output = next(m["output"] for m in history["messages"] if m["role"] == "tool")
        assert output == "unknown tool 'Bash'; there are LS"


async def test_tiers_ask_and_allow_and_an_override_counts_at_once(talk: Talk) -> None:
    replies = [[call("Bash", f"c{n}", command="true")] for n in (1, 2)]
    async with talk(*replies, []) as host:
        await host.ready()
        tools = [{"name": "Bash", "status": "needs_approval"}]
        await ask(host, "set_agent_tools", agent="main", tools=tools)
        await host.message()
        assert (await host.hear("tool_request"))["why"]["row"] == "tier"
        await ask(host, "set_tool_override", agent="main", tool="Bash", approve_always=True)
        await host.approve("c1")
        assert (await host.hear("call_announced"))["why"]["rule"] == "override"
        await host.hear("stream_end")
        listed = await ask(host, "list_permissions")
        assert listed["agents"][0]["tools"][0]["override"] is True


async def test_a_tool_blocked_while_its_call_waits_is_denied_at_once(talk: Talk) -> None:
    async with talk([call("Bash", "c", command="true")], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="c")
        await ask(host, "set_agent_tools", agent="main", tools=[{"name": "LS"}])
        assert (await host.hear("call_settled"))["by"] == "policy"
        await host.hear("stream_end")


async def test_files_with_a_byte_order_mark_in_front_are_read(
    talk: Talk, workspace: Path, tmp_path: Path
) -> None:
    mark, home = "\ufeff", tmp_path / "home" / ".config" / "wcore"
    write_user_policy(tmp_path, f'{mark}deny = ["Bash(git)"]\r\n')
    (home / "agents").mkdir()
    (home / "agents" / "careful.md").write_text(f"{mark}---\r\ndescription: d\r\n---\r\nBe so.")
    (workspace / "AGENTS.md").write_text(f"{mark}use tabs\r\n")
    calls = [call("Bash", "c", command="git log"), call("Spawn", "s", task="t", agent="careful")]
    async with talk(calls, [], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="s")
        await host.approve("s")
        await host.hear("stream_end")
        assert [each["call_id"] for each in host.of("tool_cancelled")] == ["c"]
        assert host.of("tool_result")[-1]["status"] == "success"
        assert not [each for each in host.of("info") if "is not used" in each["message"]]
