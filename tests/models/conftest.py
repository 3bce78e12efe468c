"""Fixtures: a scripted provider, a dialect, and an engine that uses both."""

from collections.abc import AsyncGenerator, Callable

import pytest
from models.dialects import BOTH, Dialect
from models.serving import Provider, serving
from talking import Conversation

KEYS = {"OPENAI_API_KEY": "sk-test-0123456789abcdef", "ANTHROPIC_API_KEY": "sk-ant-0123456789abc"}

Engine = Callable[..., Conversation]


@pytest.fixture
async def provider() -> AsyncGenerator[Provider, None]:
    async with serving() as server:
        yield server


@pytest.fixture(params=BOTH, ids=lambda dialect: dialect.path.rpartition("/")[2])
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return request.param


@pytest.fixture
def engine(talk: Callable[..., Conversation], provider: Provider) -> Engine:
    """Start an engine that talks to the scripted provider: `async with engine(dialect)`."""

    def start(
        dialect: Dialect, *flags: str, model: str = "", env: dict[str, str] | None = None
    ) -> Conversation:
        chosen = ("--provider", dialect.provider, "--model", model or dialect.model)
        around = {"NO_PROXY": "*", **(KEYS if env is None else env)}
        return talk(flags=(*chosen, "--base-url", provider.url, *flags), env=around)

    return start
