"""What a reply costs: by the list of its provider, at the provider's own address, or not at all."""

import pytest

from wcore.models.factory import ModelEnvironment, create_model
from wcore.models.prices import cost_usd
from wcore.vocabulary import Usage

SPENT = Usage(1_000, 100, cache_read_tokens=200, cache_write_tokens=50)


def test_a_known_model_has_a_price_and_cached_tokens_cost_less() -> None:
    whole = cost_usd("anthropic", "claude-sonnet-4-5", Usage(1_250, 100))
    cached = cost_usd("anthropic", "claude-sonnet-4-5", SPENT)
    assert whole is not None
    assert cached is not None
    assert 0 < cached < whole < 0.1


def test_what_is_not_in_the_list_has_no_price() -> None:
    assert cost_usd("openai", "no-such-model", SPENT) is None
    assert cost_usd("", "gpt-5", SPENT) is None


@pytest.mark.parametrize(
    ("provider", "url", "priced_by"),
    [
        ("openai", None, "openai"),
        ("openai", "https://api.openai.com", "openai"),
        ("openai", "http://127.0.0.1:1/v1", ""),
        ("openai", "https://proxy.example/v1", ""),
        ("ollama", None, ""),
        ("google", None, "google"),
        ("google", "https://proxy.example", ""),
        ("openai-responses", None, "openai"),
    ],
)
def test_another_address_has_no_price_list(provider: str, url: str | None, priced_by: str) -> None:
    assert create_model(provider, "m", ModelEnvironment(base_url=url)).price_provider == priced_by


def test_the_stand_in_costs_nothing_and_says_nothing() -> None:
    assert create_model(None, None).price_provider == ""
