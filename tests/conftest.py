"""Fixtures for every room. Hypothesis prints its seed with `print_blob`."""

import gc
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, cast

import forked
import pytest
import selection
from hypothesis import settings
from talking import Conversation, write_script
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

pytest_plugins = ("hanging", "second_look")

DYING = Path(__file__).parent / "crash" / "dying.py"

for name in ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"):  # users have none, nor some tests
    os.environ.pop(name, None)

gc.disable()  # until all is collected: what that makes stays, and is not worth looking at

EXAMPLES_WHEN_FAST = 25  # of generated text; the first Python of CI sees four times as many

settings.register_profile("wcore", print_blob=True, deadline=None)
settings.register_profile("fast", settings.get_profile("wcore"), max_examples=EXAMPLES_WHEN_FAST)
settings.load_profile("fast" if selection.IS_FAST else "wcore")


def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers: four more than cores, as many tests wait for a process or a time."""
    return (os.cpu_count() or 2) + 4


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Deal out files, and of some files the tests one by one."""
    return _Scheduling(config, log)


class _Scheduling(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return selection.scope(nodeid)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what is not chosen before it is imported."""
    return None if selection.is_read(collection_path) else True


def pytest_configure_node(node: WorkerController) -> None:
    """Tell a worker what it cannot see itself."""
    told = cast("dict[str, Any]", node.workerinput)  # pyright: ignore[reportUnknownMemberType]
    told["is_day"] = is_day(node.config)


def is_day(config: pytest.Config) -> bool:
    """Tell whether long tables are sampled: neither by night, nor if tests are named."""
    if told := getattr(config, "workerinput", None):
        return told["is_day"]
    is_named = config.args_source is pytest.Config.ArgsSource.ARGS
    return not (selection.IS_NIGHT or selection.IS_FAST or is_named)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what decides about what is left out."""
    if is_day(config):
        return f"long tables: a part, drawn by {selection.commit()[:9]}; all with WCORE_NIGHT=1"
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests, and put those of long files first."""
    nodes = [item.nodeid for item in items if selection.is_chosen(item.nodeid)]
    chosen = selection.of_a_day(nodes) if is_day(config) else set(nodes)
    if left_out := [item for item in items if item.nodeid not in chosen]:
        config.hook.pytest_deselected(items=left_out)
    items[:] = sorted(
        (item for item in items if item.nodeid in chosen),
        key=lambda item: selection.rank(item.nodeid),
    )


def pytest_collection_finish() -> None:
    """Begin to look for garbage, but never among the tests and what they have imported."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _forked_programs() -> Generator[None]:
    with forked.installed():
        yield


@pytest.fixture(autouse=True)
def _real_programs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    is_real = selection.IS_FAST or selection.IS_NIGHT or request.node.get_closest_marker("real")
    monkeypatch.setattr(forked.Forking, "is_on", not is_real)


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
