"""Which servers are started, by whom, when, and with what."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rogue_servers import ROGUE, approved, asked, connect, tool
from talking import Conversation

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio


def table(name: str, *manner: str) -> str:
    args = json.dumps([str(ROGUE), *manner])
    return f'[[mcp]]\nname = "{name}"\ncommand = "{sys.executable}"\nargs = {args}\n'


def user_policy(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "home" / ".config" / "wcore"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.toml").write_text(text)


def project_policy(workspace: Path, text: str) -> None:
    (workspace / ".wcore").mkdir()
    (workspace / ".wcore" / "policy.toml").write_text(text)


async def test_the_servers_of_the_users_policy_are_there_for_the_first_turn(
    talk: Talk, tmp_path: Path
) -> None:
    user_policy(tmp_path, table("mine") + table("gone").replace(sys.executable, "/no/such/program"))
    async with talk([tool("env", server="mine")], [], env={"SOME_API_KEY": "k" * 20}) as host:
        assert (await host.ready())["capabilities"]["mcp"] is True
        await host.message()
        result = await approved(host, "c")
        environ = json.loads(result["output"])
        assert "SOME_API_KEY" not in environ
        await host.hear("stream_end")
        assert host.kinds("mcp_ready", "mcp_failed", "tool_request").index("tool_request") == 2
        (failed,) = host.of("mcp_failed")
        assert (failed["name"], "no program" in failed["reason"]) == ("gone", True)


async def test_a_server_that_hangs_delays_neither_ready_nor_ping_and_stop_ends_the_wait(
    talk: Talk, tmp_path: Path
) -> None:
    user_policy(tmp_path, table("silent", "silent"))
    async with talk([]) as host:
        await host.ready()
        await host.message()
        assert "waiting for MCP servers: silent" in (await host.hear("info"))["message"]
        await host.quiet()
        await host.say(type="stop")
        await host.hear("stream_end")


async def test_a_projects_servers_start_only_when_it_is_trusted(
    talk: Talk, workspace: Path
) -> None:
    project_policy(workspace, table("theirs"))
    async with talk([], [tool("echo", server="theirs")], []) as host:
        await host.ready()
        failed = await host.next()
        assert failed == {"type": "mcp_failed", "name": "theirs", "reason": "folder not trusted"}
        await host.turn()
        assert len(host.of("mcp_failed")) == 1
        await host.say(type="trust_workspace", trusted=True)
        digest = (await host.hear("command_result"))["digest"]
        await host.say(type="trust_workspace", trusted=True, digest=digest)
        await host.hear("command_result")
        await host.message("again", "m2")
        await approved(host, "c")
        await host.hear("stream_end", msg_id="m2")
        await host.say(type="trust_workspace", trusted=False)
        await host.hear("command_result")
        await host.turn("third", "m3")
        assert len(host.of("mcp_failed")) == 2
        await host.say(type="list_permissions")
        (agent,) = (await host.hear("command_result"))["agents"]
        assert not [t for t in agent["tools"] if t["category"] == "mcp"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[mcp]]\nname='a'", "either `command` or `url`"),
        ("[[mcp]]\nname='a'\ncommand='x'\nfoo=1", "unknown key 'foo'"),
        ("[[mcp]]\ncommand='x'", "`name` is missing"),
        ("[[mcp]]\nname='a'\ncommand='x'\nargs='y'", "must be a list"),
        ("[[mcp]]\nname='a'\nurl='http://x'\nheaders=[1]", "must be a table"),
        ("[[mcp]]\nname='a'\nurl='http://x'\ncall_timeout_s='5'", "must be a number"),
        ("[[mcp]]\nname='a'\nurl='http://x'\ncall_timeout_s=true", "must be a number"),
    ],
)
async def test_a_table_that_is_not_understood_ends_the_start(
    talk: Talk, tmp_path: Path, text: str, said: str
) -> None:
    user_policy(tmp_path, text)
    async with talk([]) as host:
        error = (await host.next())["error"]
        assert (error["code"], said in error["message"]) == ("init_failed", True)
        assert "policy.toml:" in error["message"]
        assert await host.ended() == 1


async def test_a_program_of_the_users_policy_is_never_looked_for_in_the_workspace(
    talk: Talk, tmp_path: Path, workspace: Path
) -> None:
    program = workspace / "wcore-test-server"
    program.write_text("#!/bin/sh\ntouch started\n")
    program.chmod(0o755)
    user_policy(tmp_path, '[[mcp]]\nname = "r"\ncommand = "wcore-test-server"\n')
    async with talk([], env={"PATH": str(workspace)}) as host:
        await host.ready()
        assert "was not found" in (await host.hear("mcp_failed"))["reason"]
        await host.turn()
    assert not (tmp_path / "home" / "started").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "a__b"}, "cannot name a server"),
        ({"name": "_a"}, "cannot name a server"),
        ({"name": "a\u202e__"}, "cannot name a server"),
        ({"name": "\u202e"}, "cannot name a server"),
        ({"name": "r", "call_timeout_s": 0}, "`call_timeout_s` must be 1 to 86400 seconds"),
        ({"name": "r", "start_timeout_s": 1e9}, "`start_timeout_s` must be 1 to 86400 seconds"),
        ({"name": "r", "transport": "carrier-pigeon"}, "unknown transport 'carrier-pigeon'"),
        ({"name": "r", "command": None}, "needs `command`"),
        ({"name": "r", "transport": "sse", "url": "file:///etc/passwd"}, "http:// or https://"),
        ({"name": "r", "command": "no-such-program-here"}, "was not found"),
        ({"name": "r", "command": "./nothing"}, "is no program"),
        ({"name": "r", "env": {"a=b": "c"}}, "cannot name an environment variable"),
    ],
)
async def test_a_refusal_says_why_and_changes_nothing(
    talk: Talk, given: dict[str, object], said: str
) -> None:
    async with talk([]) as host:
        await host.ready()
        server = {"transport": "stdio", "command": sys.executable, "args": [str(ROGUE)], **given}
        await host.say(type="add_mcp_server", **server)
        error = await host.next()
        assert error["type"] == "error"
        assert said in error["error"]["message"]
        failed = await host.next()
        assert (failed["type"], said in failed["reason"]) == ("mcp_failed", True)
        assert (await connect(host, "good"))["type"] == "mcp_ready"
        await host.turn()


async def test_servers_are_added_until_the_first_message(talk: Talk) -> None:
    async with talk([]) as host:
        await host.ready()
        await host.say(type="set_mode", mode="read_only")
        assert (await connect(host))["type"] == "mcp_ready"
        assert "already" in (await connect(host, "R"))["reason"]
        await host.turn()
        late = await connect(host, "late")
        assert late["reason"] == "servers are added before the first message only"
        assert host.of("error")[-1]["error"]["code"] == "refused"


async def test_a_server_can_be_removed_but_not_during_a_turn(talk: Talk) -> None:
    async with talk([tool("echo")], [tool("echo", "later")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        await host.hear("tool_request")
        await host.say(type="remove_mcp_server", name="r", request_id="1")
        result = await host.hear("command_result")
        assert (result["ok"], result["error"]["code"]) == (False, "busy")
        await host.approve("c")
        await host.hear("tool_request")
        await host.deny("later")
        await host.hear("stream_end")
        await host.say(type="remove_mcp_server", name="r")
        assert (await host.hear("command_result"))["ok"] is True
        await host.say(type="remove_mcp_server", name="r")
        assert (await host.hear("command_result"))["error"]["code"] == "refused"
        await host.say(type="list_permissions")
        (agent,) = (await host.hear("command_result"))["agents"]
        assert not [t for t in agent["tools"] if t["category"] == "mcp"]


async def test_a_server_that_never_answers_can_be_removed_and_replaced_at_once(talk: Talk) -> None:
    async with talk([tool("echo")], []) as host:
        await host.ready()
        program = {"command": sys.executable, "args": [str(ROGUE), "silent"]}
        await host.say(type="add_mcp_server", name="r", transport="stdio", **program)
        await host.say(type="remove_mcp_server", name="r")
        assert (await host.hear("command_result"))["ok"] is True
        program["args"] = [str(ROGUE)]
        await host.say(type="add_mcp_server", name="r", transport="stdio", **program)
        await host.hear("mcp_ready")
        await host.message()
        assert (await approved(host, "c"))["status"] == "success"
        await host.hear("stream_end")
        assert [e["reason"] for e in host.of("mcp_failed")] == ["it was removed"]
        assert host.of("error") == []


async def test_the_hosts_server_in_place_of_one_that_failed_stays(
    talk: Talk, tmp_path: Path
) -> None:
    user_policy(tmp_path, '[[mcp]]\nname = "r"\ncommand = "/no/such/program"\n')
    async with talk([tool("echo")], []) as host:
        await host.ready()
        assert "is no program" in (await host.hear("mcp_failed"))["reason"]
        assert (await connect(host, "r"))["type"] == "mcp_ready"
        await host.message()
        assert (await approved(host, "c"))["status"] == "success"
        await host.hear("stream_end")
        assert len(host.of("mcp_failed")) == 1


async def test_secrets_of_a_definition_are_shown_to_nobody(talk: Talk) -> None:
    secret = "s3cret-" + "v" * 20
    async with talk([tool("env")], []) as host:
        await host.ready()
        await connect(host, env={"GITHUB_TOKEN": secret, "LEVEL": "production"})
        await host.message()
        output = (await approved(host, "c"))["output"]
        assert secret not in output
        assert '"GITHUB_TOKEN": "[REDACTED]"' in output
        assert "production" in output
        await host.hear("stream_end")


async def test_a_slow_start_goes_on_behind_the_turn_and_its_tools_come_with_the_next(
    talk: Talk, tmp_path: Path
) -> None:
    user_policy(tmp_path, table("mine", "slow"))
    async with talk([tool("echo", server="mine")], []) as host:
        await host.ready()
        await host.message()
        assert "waiting for MCP servers: mine" in (await host.hear("info"))["message"]
        await host.say(type="stop")
        await host.hear("stream_end")
        (tmp_path / "home" / "go").touch()
        assert (await host.hear("mcp_ready"))["name"] == "mine"
        await host.message("again", "m2")
        assert (await approved(host, "c"))["status"] == "success"
        await host.hear("stream_end", msg_id="m2")
        assert host.of("mcp_failed") == []


async def test_a_turn_waits_for_a_server_only_once(talk: Talk, tmp_path: Path) -> None:
    user_policy(tmp_path, table("mine", "slow"))
    async with talk([{"text": "ok"}], [{"text": "ok"}]) as host:
        await host.ready()
        await host.message()
        await host.hear("info")
        await host.say(type="stop")
        await host.hear("stream_end")
        await host.turn("again", "m2")
        assert len(host.of("info")) == 1


async def test_a_server_that_failed_is_tried_again_by_the_next_turn(
    talk: Talk, workspace: Path
) -> None:
    async with talk([], [tool("echo")], []) as host:
        await host.ready()
        failed = await connect(host, "r", "broken")
        assert "exit code 4" in failed["reason"]
        await host.turn()
        (workspace / "go").touch()
        await host.say(type="remove_mcp_server", name="r")
        assert (await host.hear("command_result"))["ok"] is True
        assert [e["name"] for e in host.of("mcp_failed")] == ["r"]
    async with talk([tool("echo")], []) as host:
        (workspace / "go").unlink()
        await host.ready()
        await connect(host, "r", "broken")
        (workspace / "go").touch()
        await host.message()
        await host.hear("mcp_ready")
        assert (await approved(host, "c"))["status"] == "success"
        await host.hear("stream_end")


async def test_servers_are_named_in_any_script_and_people_see_the_true_name(talk: Talk) -> None:
    names = ["数据库", "日历日", "café [dev]"]
    async with talk([]) as probe:
        await probe.ready()
        parts: list[str] = []
        for name in names:
            assert (await connect(probe, name))["name"] == name
            told = next(e["message"] for e in probe.of("info") if name in e["message"])
            parts.append(told.rpartition("mcp__")[2].removesuffix("__…"))
    assert len(set(parts)) == len(names)
    async with talk([tool("echo", server=parts[0])], []) as host:
        await host.ready()
        await connect(host, names[0])
        await host.message()
        card = await asked(host, "c")
        assert card["preview"]["text"].startswith("数据库: echo\n")
        assert card["tool"]["description"].startswith("数据库/echo ")
        assert (await approved(host, "c"))["status"] == "success"
        await host.hear("stream_end")
