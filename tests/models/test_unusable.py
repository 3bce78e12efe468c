"""A model that cannot be had does not stop the start: each message is told why."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from models.conftest import KEYS
from models.dialects import CHAT, Reply, say
from models.serving import Provider
from talking import Conversation, Event, write_script

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

NO_KEYS = dict.fromkeys(KEYS, "")
AZURE = "https://x.openai.azure.com/openai/deployments/d?api-version=2024-06-01"

#: What is wrong: the arguments, the code that each message gets, what its text names.
WRONG = {
    "vertex": (("--provider", "vertex", "--model", "m"), "config_error", "--provider openai"),
    "copilot": (("--provider", "copilot", "--model", "m"), "config_error", "`copilot`"),
    "chatgpt": (("--provider", "chatgpt"), "config_error", "`chatgpt`"),
    "no name": (("--provider", "openai"), "config_error", "--model NAME"),
    "unknown model": (("--model", "acme-9"), "config_error", "`acme-9`"),
    "no url": (("--provider", "openai", "--model", "m", "--base-url", "x"), "config_error", "http"),
    "query": (("--provider", "openai", "--model", "m", "--base-url", AZURE), "config_error", "`?`"),
    "script": (("--model", "script:nowhere.jsonl"), "config_error", "nowhere.jsonl"),
    "no key": (("--provider", "openai", "--model", "m"), "auth_required", "OPENAI_API_KEY"),
}


def problem_of(turn: Sequence[Event]) -> tuple[str, str]:
    told = [event for event in turn if event["type"] not in ("info", "session_cost")]
    assert [event["type"] for event in told] == ["stream_start", "error", "stream_end"]
    assert told[-1]["finish_reason"] == "error"
    error = told[1]["error"]
    assert error["retryable"] is False
    return error["code"], error["message"]


@pytest.mark.parametrize("wrong", WRONG)
async def test_ready_comes_and_each_message_is_told_what_is_wrong(talk: Talk, wrong: str) -> None:
    flags, code, names = WRONG[wrong]
    async with talk(flags=("--json-stream", *flags), env=NO_KEYS) as host:
        await host.ready()
        (info,) = await host.quiet()
        assert info["type"] == "info"
        assert names in info["message"]
        for msg_id in ("m1", "m2"):
            found, message = problem_of(await host.turn(msg_id=msg_id))
            assert found == code
            assert names in message


async def test_set_config_names_the_model_that_was_missing(talk: Talk, provider: Provider) -> None:
    provider.will_say(say(CHAT, Reply(text=("ok",))))
    flags = ("--provider", "openai", "--base-url", provider.url)
    async with talk(flags=flags, env={"NO_PROXY": "*", **KEYS}) as host:
        await host.ready()
        problem_of(await host.turn())
        await host.say(type="set_config", model="gpt-5")
        changed = await host.hear("config_changed")
        assert changed["capabilities"]["current_model"] == "gpt-5"
        assert (await host.turn(msg_id="m2"))[-1]["finish_reason"] == "stop"
        assert len(CHAT.texts(provider.asked[0])) == 2, "what was said before is not lost"


async def test_no_other_provider_is_asked_instead(talk: Talk) -> None:
    async with talk(flags=("--provider", "vertex", "--model", "m"), env=KEYS) as host:
        await host.ready()
        await host.say(type="set_config", model="gpt-5")
        assert "`vertex`" in (await host.hear("error"))["error"]["message"]
        assert problem_of(await host.turn())[0] == "config_error"


async def test_what_concerns_the_gate_stops_the_start_all_the_same(
    talk: Talk, workspace: Path
) -> None:
    (workspace / ".wcore").mkdir()
    (workspace / ".wcore" / "policy.toml").write_text("allow = 7\n")
    for flags in (("--provider", "vertex"), ("--resume", "missing", "--provider", "vertex")):
        async with talk(flags=flags) as host:
            assert (await host.next())["error"]["code"] == "init_failed"
            assert await host.ended() == 1


async def test_a_conversation_goes_on_though_its_model_is_gone(talk: Talk, tmp_path: Path) -> None:
    script = write_script(tmp_path, ([{"text": "hello"}],))
    async with talk(flags=("--session-id", "s", "--model", f"script:{script}")) as host:
        await host.ready()
        await host.turn()
    script.unlink()
    async with talk(flags=("--resume", "s", "--model", f"script:{script}")) as host:
        assert (await host.ready())["session_id"] == "s"
        assert problem_of(await host.turn(msg_id="m2"))[0] == "config_error"
