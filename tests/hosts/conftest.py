"""What host tests need: a home of their own, and engines that misbehave on request."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts.places import FAKE_ENGINE, PYTHON, Place
from talking import write_script


@pytest.fixture
def place(tmp_path: Path, workspace: Path) -> Place:
    """A workspace, and an environment that leads nowhere else."""
    home = tmp_path / "home"
    home.mkdir()
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("XDG_", "PYTHON", "COLUMNS", "LINES"))
    }
    env |= {"HOME": str(home), "TERM": "xterm-256color"}

    def script(*replies: list[object]) -> str:
        return f"script:{write_script(tmp_path, replies)}"

    return Place(workspace, env, script)


@pytest.fixture
def fake() -> Callable[[str], list[str]]:
    """Return the command of an engine that behaves as the named scenario says."""
    return lambda scenario: [*PYTHON, str(FAKE_ENGINE), scenario]
