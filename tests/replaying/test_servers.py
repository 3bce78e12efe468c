"""Sessions with MCP servers replay too: who was there, what they offered, and what they asked."""

import json
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace
from replaying.recordings import is_identical, names, replayed, stored
from rogue_servers import ROGUE, approved, asked, connect, ended, tool
from talking import Conversation, call

from wcore.replay.player import replay
from wcore.replay.unsupported import UnreplayableError

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

PARTS = 8  # of the records: each is left out of a replay of its own


async def test_tools_of_servers_that_answer_fail_and_die(talk: Talk, tmp_path: Path) -> None:
    calls = [tool("echo", "e", n=1), tool("progress", "p"), tool("fail", "f"), tool("die", "d")]
    async with talk(calls, [tool("echo", "again")], [tool("hang", "h")], []) as host:
        await host.ready()
        await connect(host)
        assert (await connect(host, "R"))["type"] == "mcp_failed"
        assert (await connect(host, "broken", "rubbish"))["type"] == "mcp_failed"
        assert (await connect(host, "a__b"))["type"] == "mcp_failed"
        await host.message()
        for call_id in ("e", "p", "f", "d", "again"):
            await approved(host, call_id)
        await asked(host, "h")
        await host.approve("h")
        await host.hear("tool_running", call_id="h")
        await host.say(type="stop")
        await host.hear("stream_end")
        assert (await connect(host, "late"))["type"] == "mcp_failed"
        await host.say(type="list_permissions")
        await host.hear("command_result")
        await host.say(type="remove_mcp_server", name="r")
        await host.hear("command_result")
        await host.turn(msg_id="m2")
    started = names(tmp_path)
    await is_identical(host)
    assert names(tmp_path) == started


async def test_a_server_that_is_connected_while_the_turn_waits_for_it(talk: Talk) -> None:
    async with talk([tool("echo")], []) as host:
        await host.ready()
        program = {"command": sys.executable, "args": [str(ROGUE)]}
        await host.say(type="add_mcp_server", name="gone", transport="stdio", **program)
        await host.say(type="remove_mcp_server", name="gone")
        await host.say(type="add_mcp_server", name="r", transport="stdio", **program)
        silent = {**program, "args": [str(ROGUE), "silent"]}
        await host.say(type="add_mcp_server", name="silent", transport="stdio", **silent)
        await host.message()
        await host.hear("info", msg_id="")
        await host.say(type="stop")
        await host.hear("stream_end")
        await host.message(msg_id="m2")
        await host.say(type="stop")
        await host.hear("stream_end")
    await is_identical(host)


async def test_what_servers_ask_of_people_and_of_the_model(talk: Talk, tmp_path: Path) -> None:
    calls = [[tool(name, name)] for name in ("ask", "sample", "leave_open", "ask_url")]
    spawn = [call("Spawn", "s", task="ask")]
    replies = [
        calls[0],
        calls[1],
        [{"text": "lent"}],
        *calls[2:],
        spawn,
        [tool("ask", "i")],
        [],
        [],
    ]
    async with talk(*replies) as host:
        await host.ready()
        await connect(host)
        await host.message()
        while (event := await host.next())["type"] != "stream_end":
            if event["type"] == "tool_request":
                is_form = "schema" in event["tool"]["args"]
                answer = {"answer": json.dumps({"colour": "hunter2"})} if is_form else {}
                if event["tool"]["args"].get("question") != "left open":
                    await host.approve(event["call_id"], **answer)
        outputs = [e["output"] for e in host.of("tool_result")]
        assert "the answer goes to r only" in outputs
        assert "lent" in outputs
        assert "withdrawn" in host.of("tool_cancelled")[0]["reason"]
    await is_identical(host)
    store = tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db"
    assert store.exists()


async def test_stop_with_questions_of_servers_open(talk: Talk) -> None:
    async with talk([tool("flood_questions")], [], flags=("--force",)) as host:
        await host.ready()
        await connect(host)
        await host.message()
        await host.hear("tool_request")
        await host.quiet()
        await host.say(type="stop")
        await host.hear("stream_end")
    await is_identical(host)


async def test_grants_of_tools_that_change(talk: Talk) -> None:
    replies = [[tool(name, f"c{n}")] for n, name in enumerate(["echo", "echo", "change", "echo"])]
    async with talk(*replies, [tool("echo", "last")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        await asked(host, "c0")
        await host.approve("c0", scope="always", persist="user")
        await asked(host, "c2")
        await host.approve("c2", scope="always")
        await asked(host, "last")
        await host.deny("last")
        await host.hear("stream_end")
        assert host.of("call_announced")[0]["why"]["row"] == "grant"
        assert "not the tools that were granted" in host.of("info")[0]["message"]
    await is_identical(host)


@pytest.mark.parametrize("part", range(PARTS))
async def test_every_record_of_a_session_with_a_server_is_missed(
    talk: Talk, tmp_path: Path, part: int
) -> None:
    async with talk([tool("ask")], [], flags=("--session-id", "s")) as host:
        await host.ready()
        await connect(host)
        await host.message()
        await asked(host, "c")
        await host.approve("c")
        card = await host.hear("tool_request")
        await host.approve(card["call_id"], answer='{"colour": "red"}')
        await ended(host, "c")
        await host.hear("stream_end")
    row, records = stored(tmp_path / "home", "s")
    assert (await anyio.to_thread.run_sync(replay, row, records)).divergence is None
    for at, record in islice(enumerate(records[:-1]), part, None, PARTS):
        rest = [*records[:at], *records[at + 1 :]]
        try:
            done = await anyio.to_thread.run_sync(replay, row, rest)
        except (UnreplayableError, LookupError, TypeError, ValueError):
            continue
        nothing_new = str(record.body.get("what")).startswith("reloaded")
        assert done.divergence is not None or nothing_new, f"{record.kind} {record.body}"


async def test_a_session_that_did_not_record_its_servers_is_refused(
    talk: Talk, tmp_path: Path
) -> None:
    async with talk([], flags=("--session-id", "s")) as host:
        await host.ready()
        await host.say(type="add_mcp_server", name="x", transport="stdio", command="no-such-one")
        await host.turn()
    await is_identical(host)
    row, records = stored(tmp_path / "home", "s")
    body = {name: value for name, value in records[0].body.items() if name != "servers"}
    old = [replace(records[0], body=body), *records[1:]]
    with pytest.raises(UnreplayableError, match="an older wcore did not record"):
        await anyio.to_thread.run_sync(replay, row, old)


async def test_servers_that_a_policy_names_are_not_replayed(talk: Talk, tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".config" / "wcore"
    folder.mkdir(parents=True)
    (folder / "policy.toml").write_text('[[mcp]]\nname = "x"\ncommand = "/no/such/program"\n')
    async with talk([]) as host:
        await host.ready()
        await host.hear("mcp_failed")
        await host.turn()
    code, told = await replayed(host)
    assert code == 2
    assert "the policy named MCP servers" in told["problem"]
