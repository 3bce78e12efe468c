"""Fixtures of the tool tests: a real folder and the real tools in it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.tools import below
from unit.tools.room import Room


@pytest.fixture
def room(tmp_path: Path) -> Room:
    workspace = tmp_path / "workspace"
    home = tmp_path / "home"
    workspace.mkdir()
    home.mkdir()
    return Room(os.path.realpath(workspace), os.path.realpath(home))


@pytest.fixture(autouse=True)
def _this_process_as_before() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Leave no orphans to a worker that goes on with other tests: a shell call adopts them."""
    below.remember()
    yield
    below.disown()
