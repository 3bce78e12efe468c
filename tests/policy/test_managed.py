"""The administrator's file, through the real process: nobody's word counts against it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from policy import managed
from talking import Conversation, call, write_script

ALLOW_ALL = 'default = "allow"\n[[rule]]\nmatch = "*"\ndo = "allow"\n'
Run = Callable[..., Any]


@pytest.fixture
def run(workspace: Path, tmp_path: Path) -> Run:
    """Run wcore under a managed policy, with a user and a trusted project that allow all."""
    problem = managed.why_unavailable(tmp_path)
    if problem:
        pytest.skip(problem)
    user = tmp_path / "home" / ".config" / "wcore" / "policy.toml"
    user.parent.mkdir(parents=True)
    user.write_text(ALLOW_ALL)
    project = workspace / ".wcore" / "policy.toml"
    project.parent.mkdir()
    project.write_text(ALLOW_ALL)
    path = tmp_path / "managed.toml"

    def started(text: str, *argv: str, stdin: str = "") -> Any:
        path.write_text(text)
        return managed.wcore(path, *argv, cwd=workspace, stdin=stdin)

    digest = json.loads(started("", "trust", str(workspace), "--list", "--json").stdout)["digest"]
    agreed = ("--yes", "--digest", digest)
    assert started("", "trust", str(workspace), "--json", *agreed).returncode == 0
    return started


def explained(run: Run, policy: str, *argv: str) -> dict[str, Any]:
    done = run(policy, "policy", "explain", "--json", *argv)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_its_rules_come_before_user_and_trusted_project(run: Run) -> None:
    assert explained(run, "", "ls")["verdict"] == "allow"
    deny = '[[rule]]\nmatch = "Bash"\ndo = "deny"\n'
    told = explained(run, deny, "ls", "--mode", "force")
    assert (told["verdict"], told["source"]) == ("deny", "/etc/wcore/policy.toml:1")
    told = explained(run, '[[rule]]\nmatch = "Bash"\ndo = "ask"\n', "ls")
    assert (told["verdict"], told["row"]) == ("ask", "rule")


def test_the_engine_obeys_it_in_every_mode(run: Run, tmp_path: Path) -> None:
    script = write_script(tmp_path, ([call("Bash", "c", command="touch made")], [{"text": "x"}]))
    host = '{"type":"message","msg_id":"m","content":"go"}\n'
    done = run('deny = ["Bash(touch)"]\n', "--force", "--model", f"script:{script}", stdin=host)
    heard = [json.loads(line) for line in done.stdout.splitlines()]
    (announced,) = (event for event in heard if event["type"] == "call_announced")
    assert announced["why"]["source"] == "/etc/wcore/policy.toml:1"
    assert [event["type"] for event in heard if event.get("call_id") == "c"] == [
        *("call_announced", "tool_cancelled")
    ]
    assert not (tmp_path / "workspace" / "made").exists()


def test_it_forbids_modes(run: Run) -> None:
    limits = '[limits]\nmax_mode = "read_only"\n'
    done = run(limits, "--force")
    assert done.returncode == 2
    assert "ceiling" in done.stdout
    done = run(limits, stdin='{"type":"set_mode","mode":"force"}\n')
    ready, refused = (json.loads(line) for line in done.stdout.splitlines())
    assert ready["capabilities"]["modes"] == ["default", "read_only"]
    assert refused["type"] == "info"


def test_when_it_is_broken_nothing_starts(run: Run) -> None:
    done = run("\ndeny = 3")
    assert done.returncode == 1
    (event,) = (json.loads(line) for line in done.stdout.splitlines())
    assert event["error"]["code"] == "init_failed"
    assert "/etc/wcore/policy.toml:2: " in event["error"]["message"]


def test_no_variable_of_the_environment_moves_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("WCORE_POLICY", "WCORE_MANAGED", "XDG_CONFIG_DIRS", "WCORE_ETC", "PREFIX"):
        monkeypatch.setenv(name, str(tmp_path))
    assert explained(run, 'deny = ["Bash"]\n', "ls")["verdict"] == "deny"


async def test_what_is_lifted_from_it_while_a_session_runs_forbids_on(
    run: Run, workspace: Path, tmp_path: Path
) -> None:
    assert explained(run, 'deny = ["Bash(touch)"]\n', "touch made")["verdict"] == "deny"
    path = tmp_path / "managed.toml"
    touch: list[object] = [call("Bash", command="touch made")]
    script = write_script(tmp_path, (touch, [], touch, [], [call("LS", path=".")], []))
    engine = [sys.executable, "-m", "wcore", "--force", "--model", f"script:{script}"]
    command = [*managed.sandbox(path, tmp_path), *engine]
    start = f"import os; os.execvp({command[0]!r}, {command!r})"
    home = tmp_path / "home"
    async with Conversation(workspace, [], {}, home=home, program=("-c", start)) as host:
        await host.ready()
        await host.turn(msg_id="m1")
        path.write_text("")
        await host.turn(msg_id="m2")
        path.write_text('deny = ["LS"]\n')
        await host.turn(msg_id="m3")
        assert [event["why"]["row"] for event in host.of("call_announced")] == ["deny"] * 3
        assert [event["type"] for event in host.of("tool_result")] == []
        assert "`Bash(touch)` is no longer denied" in host.of("info")[0]["message"]


@pytest.mark.parametrize("store", ["none", "broken", "in the workspace"])
def test_it_can_require_a_store(run: Run, tmp_path: Path, workspace: Path, store: str) -> None:
    script = write_script(tmp_path, ([call("Bash", "c", command="touch made")], [{"text": "x"}]))
    broken = tmp_path / "broken.db"
    broken.write_text("no database" * 100)
    flags = ["--force", "--model", f"script:{script}"]
    if store == "in the workspace":
        state = tmp_path / "home" / ".local"
        state.rename(workspace / "state")
        state.symlink_to(workspace / "state")
    else:
        flags += ["--store", "none" if store == "none" else str(broken)]
    host = '{"type":"message","msg_id":"m","content":"go"}\n'
    done = run('[limits]\nstore = "required"\n', *flags, stdin=host)
    heard = [json.loads(line) for line in done.stdout.splitlines()]
    (told,) = [event["error"] for event in heard if event["type"] == "error"]
    assert "requires a store" in told["message"]
    assert told["code"] == ("init_failed" if store == "none" else "config_error")
    assert not (workspace / "made").exists()
    done = run("", *flags, stdin=host)
    assert (workspace / "made").exists()


def test_nobody_else_can_require_a_store(run: Run, tmp_path: Path) -> None:
    user = tmp_path / "home" / ".config" / "wcore" / "policy.toml"
    user.write_text('[limits]\nstore = "required"\n')
    done = run("", "policy", "explain", "ls")
    assert done.returncode == 1
    assert "administrator's file" in done.stderr
