"""Fixtures for every room. Hypothesis prints its seed with `print_blob`."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from talking import Conversation, write_script

settings.register_profile("wcore", print_blob=True, deadline=None)
settings.load_profile("wcore")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty folder to work in, outside the repository."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def talk(tmp_path: Path, workspace: Path) -> Callable[..., Conversation]:
    """Start an engine: `async with talk(*replies, flags=[...]) as host`."""

    def start(
        *replies: list[object], flags: tuple[str, ...] = (), env: dict[str, str] | None = None
    ) -> Conversation:
        model = ["--model", f"script:{write_script(tmp_path, replies)}"] if replies else []
        return Conversation(workspace, [*model, *flags], env or {}, home=tmp_path / "home")

    return start
