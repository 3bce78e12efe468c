"""Modes: what runs unasked, who may change it, and when hosts are told."""

from collections.abc import Callable

import pytest
from talking import Conversation, call

from wcore.vocabulary import MODE_ALIASES, Mode

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

CALLS = [
    call("Read", "read", file_path="a.txt"),
    call("LS", "ls", path="."),
    call("Glob", "glob", pattern="*"),
    call("Grep", "grep", pattern="x"),
    call("Write", "write", file_path="b.txt", content="b"),
    call("Edit", "edit", file_path="c.txt", old_string="a", new_string="b"),
    call("Delete", "delete", file_path="d.txt"),
    call("Bash", "bash", command="true"),
    call("AskUserQuestion", "ask", question="Q?", header="h", options=[{"label": "a"}]),
]
INFO = {"read", "ls", "glob", "grep"}
EVERYTHING = INFO | {"write", "edit", "delete", "bash", "ask"}
ASKED = {
    "default": EVERYTHING,
    "read_only": EVERYTHING - INFO,
    "auto_edit": {"delete", "bash", "ask"},
    "force": {"ask"},
}


async def asked_in(host: Conversation, msg_id: str = "m1") -> set[str]:
    """Run `CALLS`, deny every question, return what asked."""
    for name in "acd":
        (host.workspace / f"{name}.txt").write_text("a")
    await host.message(msg_id=msg_id)
    start = len(host.heard)
    while (event := await host.next())["type"] != "stream_end":
        if event["type"] == "tool_request":
            await host.deny(event["call_id"])
    return {e["call_id"].split("#")[0] for e in host.heard[start:] if e["type"] == "tool_request"}


@pytest.mark.parametrize("mode", ASKED)
async def test_a_mode_asks_about_exactly_what_it_does_not_cover(talk: Talk, mode: str) -> None:
    async with talk(CALLS, [], flags=("--mode", mode)) as host:
        ready = await host.ready()
        assert ready["capabilities"]["current_mode"] == mode
        assert await asked_in(host) == ASKED[mode]


async def test_force_asks_again_after_default(talk: Talk) -> None:
    run = [call("Bash", command="true")]
    async with talk(run, run, [], flags=("--force",)) as host:
        await host.ready()
        await host.say(type="set_mode", mode="default")
        assert (await host.hear("config_changed"))["capabilities"]["current_mode"] == "default"
        await host.message()
        await host.deny((await host.hear("tool_request"))["call_id"])
        await host.deny((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")


async def test_a_mode_is_announced_by_the_name_it_was_set_by(talk: Talk) -> None:
    own = [mode.value for mode in Mode if mode not in (Mode.PLAN, Mode.AUTO_RUN)]
    known = list(MODE_ALIASES)
    names = [*known, *known[::-1]]
    async with talk() as host:
        now = (await host.ready())["capabilities"]
        for name, before in zip(names, ["default", *names], strict=False):
            mode = MODE_ALIASES[name]
            await host.say(type="set_mode", mode=name)
            info = await host.next()
            assert info["message"].startswith(f"mode updated: {name}"), name
            assert mode in info["message"], name
            if name != before:
                now = (await host.next())["capabilities"]
            assert now["current_mode"] == name
            rest = [each for each in now["modes"] if each != name]
            shown = [each for each in own if each != name]
            assert rest == shown, name
            if name != mode:
                assert now["modes"].index(name) == now["modes"].index(mode) + 1
        assert await host.quiet() == []


@pytest.mark.parametrize("flags", [("--mode", "yolo"), ("--yolo",)], ids=" ".join)
async def test_a_mode_of_the_start_has_its_name_too_and_runs_what_it_means(
    talk: Talk, flags: tuple[str, ...]
) -> None:
    async with talk(CALLS, [], flags=flags) as host:
        capabilities = (await host.ready())["capabilities"]
        assert capabilities["current_mode"] == "yolo"
        assert capabilities["modes"] == ["default", "read_only", "auto_edit", "force", "yolo"]
        assert await asked_in(host) == ASKED["force"]


async def test_a_name_goes_when_the_mode_falls(talk: Talk) -> None:
    async with talk([], flags=("--yolo",)) as host:
        await host.ready()
        (host.workspace / ".wcore").mkdir()
        policy = host.workspace / ".wcore" / "policy.toml"
        policy.write_text('[limits]\nmax_mode = "auto_edit"\n')
        await host.turn()
        now = (await host.hear("config_changed"))["capabilities"]
        assert now["current_mode"] == "auto_edit"
        assert now["modes"] == ["default", "read_only", "auto_edit"]


async def test_setting_the_same_mode_again_is_info_only(talk: Talk) -> None:
    async with talk() as host:
        await host.ready()
        await host.say(type="set_mode", mode="default")
        assert [event["type"] for event in await host.quiet()] == ["info"]


async def test_an_unknown_mode_is_malformed_and_changes_nothing(talk: Talk) -> None:
    async with talk([call("Bash", command="true")], []) as host:
        await host.ready()
        await host.say(type="set_mode", mode="Force")
        (error,) = await host.quiet()
        assert error["error"]["code"] == "protocol_error"
        await host.message()
        await host.deny((await host.hear("tool_request"))["call_id"])
        await host.hear("stream_end")


async def test_nothing_raises_the_mode_above_the_ceiling(talk: Talk) -> None:
    async with talk(flags=("--max-mode", "auto_edit")) as host:
        ready = await host.ready()
        assert ready["capabilities"]["modes"] == ["default", "read_only", "auto_edit"]
        for mode in ("force", "yolo"):
            await host.say(type="set_mode", mode=mode)
            (info,) = await host.quiet()
            assert "refused" in info["message"]
        await host.say(type="set_mode", mode="acceptEdits")
        assert (await host.hear("config_changed"))["capabilities"]["current_mode"] == "acceptEdits"


async def test_during_a_turn_the_mode_counts_at_once_and_is_announced_after_it(talk: Talk) -> None:
    first, second = call("Bash", "c1", command="true"), call("Bash", "c2", command="true")
    async with talk([first], [second], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.say(type="set_mode", mode="force")
        assert [event["type"] for event in await host.quiet()] == ["info"]
        await host.approve("c1")
        await host.hear("call_announced", call_id="c2")
        await host.hear("stream_end")
        assert (await host.next())["type"] == "config_changed"
        assert await host.quiet() == []


async def test_settings_wait_for_the_end_of_the_turn_and_the_last_one_counts(
    talk: Talk,
) -> None:
    async with talk([call("Bash", "c1", command="true")], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.say(type="set_config", model="no-such-model")
        await host.say(type="set_config", model="offline")
        assert [event["type"] for event in await host.quiet()] == ["info", "info"]
        await host.approve("c1")
        await host.hear("stream_end")
        assert (await host.next())["message"] == "config applied: model offline"
        changed = await host.next()
        assert changed["capabilities"]["current_model"] == "offline"
        turn = await host.turn("hello", "m2")
        assert "offline" in "".join(e["text"] for e in turn if e["type"] == "text_delta")


async def test_idle_settings_answer_at_once(talk: Talk) -> None:
    async with talk() as host:
        await host.ready()
        await host.say(type="set_config")
        assert [event["message"] for event in await host.quiet()] == ["set_config: no changes"]
        await host.say(type="set_config", model="no-such-model")
        assert [event["error"]["code"] for event in await host.quiet()] == ["config_error"]
