"""What the environment says of proxies and certificates: it works, or one error names it."""

from collections.abc import Callable

import pytest
from models.conftest import KEYS, Engine
from models.dialects import CHAT, Reply, say
from models.serving import Provider
from talking import Conversation

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def without_any(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "socks://127.0.0.1:1080"),
        ("https_proxy", "http://me:secret-word@h:70000"),
        ("SSL_CERT_FILE", "/nonexistent/secret-word.pem"),
        ("SSL_CERT_DIR", "/nonexistent/secret-word"),
    ],
)
async def test_what_cannot_be_used_is_one_error_a_turn_that_names_it(
    talk: Talk, name: str, value: str, capfd: pytest.CaptureFixture[str]
) -> None:
    flags = ("--provider", "openai", "--model", "m", "--base-url", "https://api.invalid")
    async with talk(flags=(*flags, "--verbose"), env={**KEYS, name: value}) as host:
        await host.ready()
        for number in range(2):
            turn = await host.turn(msg_id=f"m{number}")
            assert turn[-1]["finish_reason"] == "error"
            (error,) = [event["error"] for event in turn if event["type"] == "error"]
            assert (error["code"], error["retryable"]) == ("config_error", False)
            assert error["message"].startswith(f"{name}: ")
            assert not [event for event in turn if event["type"] == "info"], "it is tried once"
    told = "".join(capfd.readouterr()) + str(host.heard)
    assert "secret-word" not in told
    assert "raceback" not in told


async def test_a_model_on_this_machine_needs_none_of_it(engine: Engine, provider: Provider) -> None:
    provider.will_say(say(CHAT, Reply(text=("ok",))))
    broken = {"ALL_PROXY": "socks://127.0.0.1:1", "http_proxy": "http://127.0.0.1:9"}
    missing = {"SSL_CERT_FILE": "/nonexistent"}
    async with engine(CHAT, env={**KEYS, **broken, **missing, "NO_PROXY": ""}) as host:
        await host.ready()
        assert (await host.turn())[-1]["finish_reason"] == "stop"
