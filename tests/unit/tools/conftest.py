"""Fixtures of the tool tests: a real folder and the real tools in it."""

import os
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
def _what_ran_before() -> None:
    below.remember()
