"""Keys: where they come from, where they go, and where they never go."""

import json
from collections.abc import Callable

import pytest
from models.conftest import KEYS, Engine
from models.dialects import ANTHROPIC, CHAT, Call, Dialect, Reply, say
from models.serving import Provider, Whole
from talking import Conversation

Talk = Callable[..., Conversation]
pytestmark = [pytest.mark.anyio, pytest.mark.real]  # a forked engine has no first environment

NO_KEYS = dict.fromkeys(KEYS, "")


async def test_the_key_goes_to_the_provider_and_nowhere_else(
    engine: Engine, provider: Provider, dialect: Dialect, capfd: pytest.CaptureFixture[str]
) -> None:
    show = Call(
        "c1",
        "Bash",
        (json.dumps({"command": "env | grep -c _API_KEY; env; cat /proc/$PPID/environ"}),),
    )
    provider.will_say(say(dialect, Reply(calls=(show,))), say(dialect, Reply(text=("ok",))))
    provider.will_say(Whole(401, {"error": {"message": f"bad: {KEYS}"}}))
    async with engine(dialect, "--force", "--verbose") as host:
        await host.ready()
        await host.turn()
        await host.turn(msg_id="m2")
    sent = provider.asked[0].headers
    key = KEYS[f"{dialect.provider.upper()}_API_KEY"]
    given = sent.get("x-api-key") or sent["authorization"].removeprefix("Bearer ")
    assert given == key
    everything = json.dumps(host.heard) + "".join(capfd.readouterr())
    everything += "".join(asked.raw.decode() for asked in provider.asked)
    assert all(key not in everything for key in KEYS.values())
    ((_, printed),) = dialect.results(provider.asked[1])
    assert printed.startswith("0\n"), "the child has no key in its environment"
    assert "NO_PROXY" in printed, "it did print its environment"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"])
async def test_without_a_key_the_first_message_says_which_one(talk: Talk, name: str) -> None:
    flags = ("--provider", name.partition("_")[0].lower(), "--model", "m")
    async with talk(flags=flags, env=NO_KEYS) as host:
        await host.ready()
        turn = await host.turn()
        assert turn[-1]["finish_reason"] == "error"
        (error,) = [event["error"] for event in turn if event["type"] == "error"]
        assert (error["code"], error["retryable"]) == ("auth_required", False)
        assert name in error["message"]


async def test_loopback_needs_no_key(engine: Engine, provider: Provider, dialect: Dialect) -> None:
    provider.will_say(say(dialect, Reply(text=("ok",))))
    async with engine(dialect, env=NO_KEYS) as host:
        await host.ready()
        assert (await host.turn())[-1]["finish_reason"] == "stop"
    assert not {"authorization", "x-api-key"} & set(provider.asked[0].headers)


async def test_the_base_url_of_the_environment_counts_without_the_flag(
    talk: Talk, provider: Provider
) -> None:
    provider.will_say(say(CHAT, Reply(text=("ok",))))
    env = {**KEYS, "OPENAI_BASE_URL": f"{provider.url}/v1/", "NO_PROXY": "*"}
    async with talk(flags=("--model", "gpt-5"), env=env) as host:
        await host.ready()
        await host.turn()
    assert provider.asked[0].headers["authorization"] == f"Bearer {KEYS['OPENAI_API_KEY']}"


async def test_a_proxy_is_not_used_for_loopback(engine: Engine, provider: Provider) -> None:
    provider.will_say(say(ANTHROPIC, Reply(text=("ok",))))
    proxy = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
    env = {**KEYS, **proxy, "NO_PROXY": "", "no_proxy": ""}
    async with engine(ANTHROPIC, env=env) as host:
        await host.ready()
        assert (await host.turn())[-1]["finish_reason"] == "stop"


async def test_a_key_alone_leaves_the_stand_in(talk: Talk) -> None:
    async with talk(env=KEYS) as host:
        ready = await host.ready()
    assert ready["capabilities"]["current_model"] == "offline"
