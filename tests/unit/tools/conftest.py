"""Fixtures of the tool tests: a real folder and the real tools in it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from supervising import supervised
from unit.tools.room import Room


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    workspace = tmp_path / "workspace"
    home = tmp_path / "home"
    workspace.mkdir()
    home.mkdir()
    with supervised() as supervisor:
        yield Room(os.path.realpath(workspace), os.path.realpath(home), supervisor)
