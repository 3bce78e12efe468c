"""`set_config`: another model, thinking, effort; and what the host is told of it."""

from pathlib import Path
from typing import Any

import pytest
from models.conftest import Engine
from models.dialects import ANTHROPIC, CHAT, Call, Dialect, Reply, say
from models.serving import Provider, Whole
from talking import Conversation, Event

from wcore.vocabulary import Usage

pytestmark = pytest.mark.anyio

OK = Reply(text=("ok",))


async def set_config(host: Conversation, **settings: object) -> list[Event]:
    await host.say(type="set_config", **settings)
    return await host.quiet()


async def asked(host: Conversation, provider: Provider, dialect: Dialect, msg_id: str) -> Any:
    provider.will_say(say(dialect, OK))
    await host.turn(msg_id=msg_id)
    return provider.asked[-1].body


async def test_another_model_of_the_same_provider_answers_next(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    async with engine(dialect) as host:
        await host.ready()
        assert (await asked(host, provider, dialect, "m1"))["model"] == dialect.model
        info, changed = await set_config(host, model="other-model")
        assert info["message"] == "config applied: model other-model"
        assert changed["capabilities"]["current_model"] == "other-model"
        body = await asked(host, provider, dialect, "m2")
        assert body["model"] == "other-model"
        assert len(dialect.texts(provider.asked[1])) == 3, "the new model sees the history"
        (info,) = await set_config(host, model="other-model")
        assert info["message"] == "set_config: no changes"
    assert provider.connections == 1


async def test_the_host_learns_how_full_the_window_of_the_model_is(
    engine: Engine, provider: Provider
) -> None:
    half = say(CHAT, Reply(text=("ok",), usage=Usage(90_000, 6_000, 40_000)))
    async with engine(CHAT, "--session-id", "s") as host:
        capabilities = (await host.ready())["capabilities"]
        assert capabilities["context_limit"] == 272_000
        provider.will_say(half, half)
        await host.turn(msg_id="m1")
        usage = (await host.turn(msg_id="m2"))[-1]["usage"]
        assert (usage["context_tokens"], usage["active_window_percent"]) == (136_000, 50)
        _, changed = await set_config(host, model="gpt-4.1")
        assert changed["capabilities"]["context_limit"] == 1_000_000
    async with engine(CHAT, "--resume", "s") as host:
        await host.ready()
        provider.will_say(Whole(400, {"error": {"message": "no"}}))
        usage = (await host.turn(msg_id="m3"))[-1]["usage"]
        assert usage["active_window_percent"] == 50, "it comes back with the session"


async def test_thinking_is_switched_with_a_budget(engine: Engine, provider: Provider) -> None:
    async with engine(ANTHROPIC, model="claude-sonnet-4-5") as host:
        ready = await host.ready()
        assert ready["capabilities"]["thinking"] is True
        assert ready["capabilities"]["effort"] is False
        assert "thinking" not in await asked(host, provider, ANTHROPIC, "m1")
        info, changed = await set_config(host, thinking="enabled", thinking_budget=2000)
        assert info["message"] == "config applied: thinking enabled, thinking budget 2000"
        assert changed["type"] == "config_changed"
        body = await asked(host, provider, ANTHROPIC, "m2")
        assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
        assert body["max_tokens"] > 2000
        await set_config(host, thinking="disabled")
        body = await asked(host, provider, ANTHROPIC, "m3")
        assert body["thinking"] == {"type": "disabled"}
        (info,) = await set_config(host, thinking="disabled", effort="high")
        assert info["message"] == "set_config: claude-sonnet-4-5 has no effort"


async def test_newer_models_pace_themselves_and_take_an_effort(
    engine: Engine, provider: Provider
) -> None:
    async with engine(ANTHROPIC, model="claude-opus-4-7") as host:
        capabilities = (await host.ready())["capabilities"]
        assert capabilities["effort"] is True
        assert capabilities["effort_levels"] == ["low", "medium", "high", "max"]
        await set_config(host, thinking="enabled", thinking_budget=5000, effort="low")
        body = await asked(host, provider, ANTHROPIC, "m1")
        assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert body["output_config"] == {"effort": "low"}


async def test_effort_is_set_and_forgotten_with_a_model_that_has_none(
    engine: Engine, provider: Provider
) -> None:
    async with engine(CHAT) as host:
        capabilities = (await host.ready())["capabilities"]
        assert capabilities["effort_levels"] == ["minimal", "low", "medium", "high"]
        info, changed = await set_config(host, effort="high")
        assert info["message"] == "config applied: effort high"
        assert changed["type"] == "config_changed"
        assert (await asked(host, provider, CHAT, "m1"))["reasoning_effort"] == "high"
        (info,) = await set_config(host, effort="huge")
        assert info["message"] == (
            "set_config: gpt-5 has no effort huge (it has minimal, low, medium, high)"
        )
        info, changed = await set_config(host, model="gpt-4o")
        assert info["message"] == "config applied: model gpt-4o, effort as the provider has it"
        assert changed["capabilities"]["effort"] is False
        assert "reasoning_effort" not in await asked(host, provider, CHAT, "m2")


async def test_in_a_turn_settings_wait_for_its_end(engine: Engine, provider: Provider) -> None:
    ask = Call("c1", "Bash", ('{"command": "true"}',))
    provider.will_say(say(CHAT, Reply(calls=(ask,))), say(CHAT, OK))
    async with engine(CHAT) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        (info,) = await set_config(host, model="gpt-5-mini")
        assert "will apply after current response" in info["message"]
        await host.approve("c1")
        await host.hear("stream_end")
        assert provider.asked[1].body["model"] == "gpt-5"
        await host.hear("info", message="config applied: model gpt-5-mini")
        await host.hear("config_changed")


async def test_the_limit_of_a_reply_has_its_providers_name(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    async with engine(dialect, "--max-tokens", "77") as host:
        await host.ready()
        body = await asked(host, provider, dialect, "m1")
    name = "max_completion_tokens" if dialect is CHAT else "max_tokens"
    assert body[name] == 77


async def test_the_notes_of_the_project_go_to_the_model_unless_the_host_has_its_own_prompt(
    engine: Engine, provider: Provider, dialect: Dialect, workspace: Path
) -> None:
    (workspace / "AGENTS.md").write_text("use tabs, not spaces")
    async with engine(dialect, "--system-prompt", "be brief") as host:
        await host.ready()
        assert "use tabs" not in str(await asked(host, provider, dialect, "m1"))
    async with engine(dialect) as host:
        await host.ready()
        assert "| use tabs, not spaces" in str(await asked(host, provider, dialect, "m1"))
