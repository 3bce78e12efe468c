"""Fixtures for every room. Hypothesis prints its seed with `print_blob`."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from talking import Conversation, write_script

DYING = Path(__file__).parent / "crash" / "dying.py"

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
    """Start an engine: `async with talk(*replies, flags=[...]) as host`.

    `dies` names the write of the journal at which it is killed; see `crash/dying.py`.
    """

    def start(
        *replies: list[object],
        flags: tuple[str, ...] = (),
        env: dict[str, str] | None = None,
        dies: str | None = None,
    ) -> Conversation:
        model = ["--model", f"script:{write_script(tmp_path, replies)}"] if replies else []
        program = (str(DYING), dies) if dies else ("-m", "wcore")
        home = tmp_path / "home"
        return Conversation(workspace, [*model, *flags], env or {}, home=home, program=program)

    return start
