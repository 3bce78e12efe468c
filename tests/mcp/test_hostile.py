"""Servers that die, flood, print rubbish, lie or hang cost their own calls and nothing else."""

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
import waiting
from rogue_servers import approved, asked, connect, ended, tool
from talking import Conversation, call

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("die", "ended with exit code 3"),
        ("rubbish", "no MCP message"),
        ("line", "longer than"),
        ("crowd", "more than 50000 objects"),
        ("abyss", "cannot be read"),
    ],
)
async def test_a_server_that_fails_in_a_call_fails_that_call_and_is_started_again(
    talk: Talk, name: str, said: str
) -> None:
    async with talk([tool(name)], [tool("echo", "again", n=1)], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        failed = await approved(host, "c")
        assert failed["status"] == "error"
        assert said in failed["output"]
        assert "Traceback" not in failed["output"]
        again = await approved(host, "again")
        assert (again["status"], json.loads(again["output"])) == ("success", {"n": 1})
        await host.hear("stream_end")


async def test_a_flood_leaves_room_for_everything_else_and_ends_with_stop(talk: Talk) -> None:
    calls = [tool("flood"), call("Bash", "b", command="echo hi")]
    async with talk(calls, [tool("echo", "next")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        await host.hear("tool_request", call_id="b")
        await host.approve("c")
        await host.hear("tool_running", call_id="c")
        await host.approve("b")
        assert (await ended(host, "b"))["status"] == "success"
        await host.say(type="ping")
        await host.hear("pong")
        await host.say(type="stop")
        assert (await ended(host, "c"))["type"] == "tool_cancelled"
        await host.hear("stream_end")


async def test_stop_ends_a_call_that_never_answers_and_the_server_is_told(
    talk: Talk, tmp_path: Path
) -> None:
    async with talk([tool("hang")], [tool("echo", "next")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        await host.hear("tool_request")
        await host.approve("c")
        await host.hear("tool_running")
        await host.say(type="stop")
        assert (await ended(host, "c"))["reason"] == "stopped by the user"
        await host.hear("stream_end")
        await waiting.until((tmp_path / "trace").exists, "the server's trace")
        await host.message("on", "m2")
        assert (await approved(host, "next"))["status"] == "success"
        await host.hear("stream_end", msg_id="m2")


async def test_a_giant_result_is_cut_with_a_marker(talk: Talk) -> None:
    async with talk([tool("giant")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        result = await approved(host, "c")
        assert len(result["output"]) <= 256 * 1024
        assert "bytes left out" in result["output"]
        assert result["metadata"] == {"server": "r", "truncated": True}
        await host.hear("stream_end")


async def test_names_of_tools_can_take_nobody_elses_place(talk: Talk) -> None:
    calls = [tool("Bash", "b"), call("mcp__other__echo", "o")]
    async with talk(calls, []) as host:
        await host.ready()
        ready = await connect(host, "r", "odd")
        assert all("\u202e" not in name for name in ready["tools"])
        await host.say(type="list_permissions")
        (agent,) = (await host.hear("command_result"))["agents"]
        names = [t["name"] for t in agent["tools"] if t["category"] == "mcp"]
        beginnings = [name[len("mcp__r__") :][:11] for name in names]
        assert beginnings[:2] == ["Bash", "mcp__other_"]
        assert [name.rpartition("_")[0] for name in beginnings[2:5]] == ["a_b", "a_b", "x_y"]
        assert beginnings[5:] == ["n" * 11]  # nothing, deep and wide have no name
        (told,) = [e["message"] for e in host.of("info") if "left out" in e["message"]]
        assert ": no tool can have that name" in told
        assert "deep: its schema is nested too deeply" in told
        assert "'wrong': no valid MCP describes it" in told
        assert all(len(name) <= 64 for name in names)
        await host.message()
        request = await host.hear("tool_request", call_id="b")
        assert request["tool"]["category"] == "mcp"
        assert (await ended(host, "o"))["output"].startswith("unknown tool")
        await host.deny("b")
        await host.hear("stream_end")


async def test_what_a_result_is_made_of_is_described_and_nothing_else_goes_on(talk: Talk) -> None:
    async with talk([tool("blocks"), tool("fail", "f"), tool("stderr", "e")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        result = await approved(host, "c")
        assert result["output"] == (
            "[image: image/png, 3 bytes, not shown]\n"
            "[resource link: a⟨U+202E⟩b <file:///a%20b>]\n[resource: file:///t]\ninside"
        )
        assert result["metadata"] == {"server": "r"}
        failed = await approved(host, "f")
        assert (failed["status"], failed["output"]) == ("error", "it did not work")
        assert (await approved(host, "e"))["output"] == "said"
        await host.hear("stream_end")


async def test_a_part_that_cannot_be_read_costs_itself_only(talk: Talk) -> None:
    async with talk([tool("mixed"), tool("codeless", "e")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        result = await approved(host, "c")
        assert (result["status"], result["output"].splitlines()) == (
            "success",
            [
                "first",
                "[left out: a part of the kind 'hologram⟨U+202E⟩', which cannot be read]",
                "second",
                "[left out: a part of the kind unknown, which cannot be read]",
                "[left out: a part of the kind 'image', which cannot be read]",
                "third",
            ],
        )
        failed = await approved(host, "e")
        assert failed["status"] == "error"
        assert "it is no valid MCP, and tells of an error: the disk is full" in failed["output"]
        await host.hear("stream_end")


async def test_progress_is_shown_as_chunks(talk: Talk) -> None:
    async with talk([tool("progress")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        await approved(host, "c")
        chunks = [event["chunk"] for event in host.of("tool_chunk")]
        assert chunks == [f"step⟨U+001B⟩{n}\n" for n in (1, 2, 3)]
        await host.hear("stream_end")


async def test_a_servers_own_children_die_with_the_engine_even_by_sigkill(talk: Talk) -> None:
    for killed in (False, True):
        async with talk([tool("child")], []) as host:
            await host.ready()
            await connect(host)
            await host.message()
            pid = int((await approved(host, "c"))["output"])
            assert waiting.is_living(pid)
            await host.hear("stream_end")
            if killed:
                host.process.kill()
                host.exit_code = await host.process.wait()
        await waiting.gone(pid)


@pytest.mark.parametrize(
    ("manner", "said"), [("rubbish", "no MCP message"), ("big", "longer than")]
)
async def test_a_server_that_cannot_be_understood_is_not_ready(
    talk: Talk, manner: str, said: str
) -> None:
    async with talk([]) as host:
        await host.ready()
        failed = await connect(host, "r", manner)
        assert failed["type"] == "mcp_failed"
        assert said in failed["reason"]
        await host.turn()


async def test_a_banner_on_stdout_is_borne(talk: Talk) -> None:
    async with talk([]) as host:
        await host.ready()
        assert (await connect(host, "r", "banner"))["type"] == "mcp_ready"


async def test_a_server_that_kills_what_holds_it_dies_with_it(talk: Talk) -> None:
    async with talk([tool("kill_holder")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        await approved(host, "c")  # its answer may be faster than its death
        await waiting.gone(int((host.workspace / "killed").read_text()))
        await host.hear("stream_end")


async def test_half_a_character_is_borne(talk: Talk) -> None:
    async with talk([tool("half")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        assert (await approved(host, "c"))["output"] == "a\ufffdb"
        await host.hear("stream_end")


def memory_mib(host: Conversation, what: str = "VmRSS") -> int:
    status = Path(f"/proc/{host.process.pid}/status").read_text()
    return next(int(row.split()[1]) for row in status.splitlines() if what in row) // 1024


@pytest.mark.parametrize("name", ["pings", "relist"])
async def test_a_server_that_only_makes_us_work_fills_no_memory(talk: Talk, name: str) -> None:
    async with talk([tool(name)], []) as host:
        await host.ready()
        await connect(host)
        before = memory_mib(host)
        await host.message()
        await asked(host, "c")
        await host.approve("c")
        with anyio.move_on_after(3):
            while True:
                await host.quiet()
        grown = memory_mib(host) - before
        await host.say(type="stop")
        await host.hear("stream_end")
        assert grown < 64


async def test_a_list_without_end_is_given_up_and_not_held(talk: Talk) -> None:
    async with talk([]) as host:
        await host.ready()
        failed = await connect(host, "r", "pages")
        assert failed["type"] == "mcp_failed"
        assert failed["reason"] == "it lists more tools than anybody can hold"
        assert memory_mib(host, "VmHWM") < 256
        await host.turn()


async def test_a_list_that_leads_back_keeps_what_came_before_and_says_so(talk: Talk) -> None:
    async with talk([]) as host:
        await host.ready()
        ready = await connect(host, "r", "circle")
        assert "echo" in ready["tools"]
        assert "on_page_2" not in ready["tools"]
        (told,) = [e["message"] for e in host.of("info") if "left out" in e["message"]]
        assert "tools left out: page 2 of its list, which leads back" in told
        await host.turn()


async def test_a_deeply_nested_result_is_not_made_larger_than_it_came(talk: Talk) -> None:
    async with talk([tool("nested")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        result = await approved(host, "c")
        assert len(result["output"]) <= 256 * 1024
        assert memory_mib(host, "VmHWM") < 256
        await host.hear("stream_end")
