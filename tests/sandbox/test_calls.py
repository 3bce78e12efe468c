"""Calls of a model in a sandbox: conversations with a real engine."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import processes
import pytest
import waiting
from sandbox.trying import bubblewraps
from talking import Conversation, call, write_script

Talk = Callable[..., Conversation]
REQUIRED = ("--sandbox", "required", "--force")
AUTO = ("--sandbox", "auto")


async def result_of(
    talk: Talk,
    command: str,
    timeout_s: int = 60,
    meanwhile: Callable[[], object] | None = None,
) -> dict[str, Any]:
    """Return the result of one call that nobody is asked about.

    `meanwhile` is done when the command has written something.
    """
    async with talk(
        [call("Bash", command=command, timeout_s=timeout_s)], [], flags=REQUIRED
    ) as host:
        await host.ready()
        await host.message()
        if meanwhile is not None:
            await host.hear("tool_chunk")
            meanwhile()
        found = await host.hear("tool_result")
        await host.hear("stream_end")
        return found


async def test_a_command_writes_to_the_workspace_only(talk: Talk, workspace: Path) -> None:
    found = await result_of(talk, "echo x >new; echo x >~/new; echo x >../beside; ls new")
    assert (workspace / "new").read_text() == "x\n"
    assert found["output"].splitlines()[-1] == "new"
    assert "new: Read-only file system" in found["output"]
    assert not (workspace.parent / "beside").exists()
    assert found["metadata"]["sandbox"] == {
        "view": "workspace",
        "hosts": [],
        "refused_hosts": [],
        "quarantined": [],
    }


async def test_it_sees_no_secrets_and_has_no_network(talk: Talk, workspace: Path) -> None:
    (workspace / ".env").write_text("secret\n")
    found = await result_of(talk, "cat .env; cat /proc/net/dev | wc -l; exit 5")
    assert "secret" not in found["output"]
    assert ".env: Permission denied" in found["output"]
    assert found["output"].endswith("3\n[exit code 5]")  # two lines of heading, and `lo`
    assert found["metadata"]["exit_code"] == 5


async def test_what_may_not_stay_is_told(talk: Talk, workspace: Path, tmp_path: Path) -> None:
    found = await result_of(talk, "mkdir .vscode; echo x >.vscode/tasks.json; echo done")
    [moved] = found["metadata"]["sandbox"]["quarantined"]
    assert moved["path"] == f"{workspace}/.vscode"
    assert Path(moved["to"]).is_relative_to(tmp_path / "home" / ".local/state/wcore/quarantine")
    assert (Path(moved["to"]) / "tasks.json").read_text() == "x\n"
    assert found["output"].splitlines() == [
        "done",
        f"[{moved['path']} was moved to {moved['to']}: other programs would do what it says]",
    ]


async def test_a_great_many_of_them_are_counted(talk: Talk) -> None:
    script = "for i in {1..999}; do echo a/b$i/.vscode c/b$i/.idea; done | xargs mkdir -p"
    found = await result_of(talk, f"{script}; echo done")
    moved = found["metadata"]["sandbox"]["quarantined"]
    assert len(moved) == 32
    lines = found["output"].splitlines()
    assert len(lines) == 34
    folder = Path(moved[0]["to"]).parent
    assert lines[-1].startswith(f"[1966 more were moved to {folder}: ")
    assert len(list(folder.iterdir())) == 1998


async def test_a_death_by_signal_is_told_as_one(talk: Talk) -> None:
    found = await result_of(talk, "kill -KILL $$")
    assert found["metadata"]["signal"] == "SIGKILL"
    assert found["output"] == "[ended by SIGKILL]"


async def test_what_was_left_running_is_counted_and_ended(talk: Talk) -> None:
    found = await result_of(talk, "sleep 1000 & setsid sleep 1000 & echo started")
    assert found["output"].splitlines()[-1].startswith("[2 processes that were still running")


async def test_a_call_over_its_time_is_ended(talk: Talk) -> None:
    with waiting.patience("the end of its time"):
        found = await result_of(talk, "echo begun; sleep 1000", timeout_s=1)
    assert found["metadata"]["timed_out"] is True
    assert found["output"].startswith("begun\n[timed out after 1 s")


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_nothing_goes_on_after_stop_or_the_engines_death(
    talk: Talk, workspace: Path, how: str
) -> None:
    command = "mkdir .vscode; setsid sleep 1001 & exec sleep 1001"
    async with talk([call("Bash", command=command)], flags=REQUIRED) as host:
        await host.ready()
        await host.message()
        await waiting.until(lambda: len(sleeping(host.process.pid)) == 2, "the command")
        found = sleeping(host.process.pid)
        if how == "stop":
            await host.say(type="stop")
            await host.hear("stream_end")
            assert not (workspace / ".vscode").exists()
        else:
            os.kill(host.process.pid, signal.SIGKILL)
            host.killed = True
            await host.ended()
        for pid in found:
            await waiting.gone(pid)


def sleeping(engine: int) -> list[int]:
    """Return what sleeps below an engine, in whatever session or namespace."""
    below = processes.below(engine)
    return [each.pid for each in below if processes.words(each) == ["sleep", "1001"]]


async def test_where_none_can_be_made_nothing_is_run(talk: Talk, workspace: Path) -> None:
    (workspace / ".env").write_text("x")
    os.link(workspace / ".env", workspace / "other")
    found = await result_of(talk, "echo x >new")
    assert found["status"] == "error"
    assert "another name" in found["output"]
    assert not (workspace / "new").exists()


async def test_calls_of_two_engines_take_turns_in_a_workspace(talk: Talk, workspace: Path) -> None:
    waits = "echo x; until [ -e over ]; do read -t 0.02 <>/dev/zero; done; echo first >>order"
    first, second, third = (
        talk([call("Bash", command=command, timeout_s=60)], [], flags=REQUIRED)
        for command in (waits, "echo second >>order", "echo third >>order")
    )
    async with first, second, third:
        for each in (first, second, third):
            await each.ready()
        await first.message()
        await first.hear("tool_chunk")
        for each in (second, third):
            await each.message()
            await each.hear("tool_running")
        await third.say(type="stop")
        await third.hear("stream_end")  # who waits hears a stop
        (workspace / "over").touch()
        assert (await second.hear("tool_result"))["status"] == "success"
        for each in (first, second):
            await each.hear("stream_end")
    assert (workspace / "order").read_text() == "first\nsecond\n"


async def test_a_call_waits_for_another_engines_no_longer_than_it_may_take(
    talk: Talk, workspace: Path
) -> None:
    waits = "echo x; until [ -e over ]; do read -t 0.02 <>/dev/zero; done"
    first = talk([call("Bash", command=waits, timeout_s=60)], [], flags=REQUIRED)
    second = talk([call("Bash", command="touch new", timeout_s=1)], [], flags=REQUIRED)
    async with first, second:
        for each in (first, second):
            await each.ready()
        await first.message()
        await first.hear("tool_chunk")
        await second.message()
        found = await second.hear("tool_result")
        assert "another program runs in this sandbox, or repository" in found["output"]
        await second.hear("stream_end")
        (workspace / "over").touch()
        await first.hear("stream_end")
    assert not (workspace / "new").exists()


async def test_auto_is_a_sandbox_where_one_works(talk: Talk, workspace: Path) -> None:
    (workspace / ".env").write_text("x")
    os.link(workspace / ".env", workspace / "other")  # what lies here never does without one
    async with talk([call("Bash", command="echo x >new")], [], flags=(*AUTO, "--force")) as host:
        assert (await host.ready())["capabilities"]["sandbox"]["kind"] == "bubblewrap"
        await host.message()
        found = await host.hear("tool_result")
        await host.hear("stream_end")
    assert "another name" in found["output"]
    assert not (workspace / "new").exists()
    assert not [each for each in host.of("info") if "sandbox" in each["message"]]


async def test_auto_asks_as_without_one_where_none_works(tmp_path: Path, workspace: Path) -> None:
    """In a place where every bubblewrap that could be found is one that fails."""
    real = bubblewraps()
    places = [word for each in real for word in ("--ro-bind", "/bin/false", each)]
    outer = [real[0], "--dev-bind", "/", "/", *places, sys.executable, "-m", "wcore"]
    code = f"import os, sys; os.execv({real[0]!r}, [*{outer!r}, *sys.argv[1:]])"
    script = write_script(tmp_path, ([call("Bash", command="echo x >../beside")], []))
    flags = ["--model", f"script:{script}", *AUTO, "--mode", "auto_run"]
    home = tmp_path / "home"
    async with Conversation(workspace, flags, {}, home, program=("-c", code)) as host:
        assert "sandbox" not in (await host.ready())["capabilities"]
        told = (await host.hear("info"))["message"]
        assert told.startswith(f"commands run without a sandbox: {real[0]}: ")
        await host.message()
        card = await host.hear("tool_request")
        assert "sandbox" not in card
        assert card["tool"]["description"].startswith("Execute: ")
        await host.approve(card["call_id"], digest=card["digest"])
        await host.hear("stream_end")
    assert (workspace.parent / "beside").exists()


async def test_without_the_option_nothing_is_different(talk: Talk, workspace: Path) -> None:
    async with talk([call("Bash", command="echo x >../beside")], [], flags=("--force",)) as host:
        await host.ready()
        await host.message()
        found = await host.hear("tool_result")
        await host.hear("stream_end")
    assert (workspace.parent / "beside").exists()
    assert "sandbox" not in found["metadata"]


async def test_the_card_shows_the_sandbox(talk: Talk, tmp_path: Path) -> None:
    policy(tmp_path, '["pypi.org", "*.example.org"]')
    async with talk([call("Bash", command="echo one")], [], flags=REQUIRED[:2]) as host:
        ready = await host.ready()
        assert ready["capabilities"]["sandbox"] == {
            "kind": "bubblewrap",
            "filesystem": "full",
            "network": "hosts",
        }
        await host.message()
        first = await host.hear("tool_request")
        hosts = ["pypi.org", "*.example.org"]
        assert first["sandbox"] == {"view": "workspace", "hosts": hosts, "proposed": []}
        assert first["tool"]["description"] == "Execute in the sandbox: echo one"
        await host.approve(first["call_id"], digest=first["digest"])
        found = await host.hear("tool_result")
        assert found["metadata"]["sandbox"]["hosts"] == hosts
        await host.hear("stream_end")


def policy(tmp_path: Path, hosts: str) -> Path:
    config = tmp_path / "home" / ".config" / "wcore" / "policy.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[sandbox]\nhosts = {hosts}\n")
    return config


@pytest.mark.parametrize("change", ["replaced", "removed", "above"])
async def test_what_loses_its_mask_ends_the_call(talk: Talk, workspace: Path, change: str) -> None:
    """The kernel masks what has a name, not the name: what comes in its place is seen."""
    (workspace / "a").mkdir()
    secret = workspace / "a" / ".env"
    secret.write_text("secret")
    (workspace / "other").write_text("new secret")
    does: dict[str, Callable[[], object]] = {
        "replaced": lambda: (workspace / "other").rename(secret),
        "removed": secret.unlink,
        "above": lambda: (workspace / "a").rename(workspace / "b"),
    }
    script = "echo begun; while ! cat a/.env 2>/dev/null; do sleep 0.01; done; sleep 1000"
    found = await result_of(talk, script, meanwhile=does[change])
    lost = workspace / "a" if change == "above" else secret
    assert found["status"] == "error"
    assert f"[{lost} was replaced from outside, so not held any more: ended]" in found["output"]
    assert "timed" not in found["output"]
    assert "timed_out" not in found["metadata"]


async def test_what_changes_beside_masks_ends_nothing(talk: Talk, workspace: Path) -> None:
    (workspace / ".env").write_text("secret")

    def change() -> None:
        (workspace / ".env").write_text("changed in place")
        (workspace / "over").touch()

    script = "echo begun; while ! [ -e over ]; do touch a; mv a b; rm b; done; echo x >>c"
    found = await result_of(talk, script, meanwhile=change)
    assert found["status"] == "success"
    assert (workspace / "c").read_text() == "x\n"
