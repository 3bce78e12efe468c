"""Fixtures for every room. Hypothesis prints its seed with `print_blob`."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import selection
from hypothesis import settings
from talking import Conversation, write_script
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

pytest_plugins = ("hanging", "second_look")

DYING = Path(__file__).parent / "crash" / "dying.py"

EXAMPLES_WHEN_FAST = 25  # of generated text; the first Python of CI sees four times as many

settings.register_profile("wcore", print_blob=True, deadline=None)
settings.register_profile("fast", settings.get_profile("wcore"), max_examples=EXAMPLES_WHEN_FAST)
settings.load_profile("fast" if selection.IS_FAST else "wcore")


def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers: one more than cores, as many tests wait for a process."""
    return (os.cpu_count() or 2) + 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Deal out files, and of some files the tests one by one."""
    return _Scheduling(config, log)


class _Scheduling(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return selection.scope(nodeid)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what is not chosen before it is imported."""
    return None if selection.is_read(collection_path) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests, and put those of long files first."""
    left_out = [item for item in items if not selection.is_chosen(item.nodeid)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    items[:] = sorted(
        (item for item in items if selection.is_chosen(item.nodeid)),
        key=lambda item: selection.rank(item.nodeid),
    )


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
