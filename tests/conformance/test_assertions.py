"""Each step that looks holds where it should and fails where it should."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wcore.conformance.engine.assertions import LOOKERS
from wcore.conformance.engine.conversation import MismatchError

pytestmark = pytest.mark.anyio

TOLD = {
    "messages": [
        {"role": "user", "content": "first"},
        {"role": "tool", "tool_call_id": "c1", "content": "second"},
    ],
    "tools": [{"type": "function", "function": {"name": "Read"}}],
}
PONG = ({"type": "pong"}, '{"type":"pong"}')
INFO = ({"type": "info", "message": "rt-1"}, '{"type":"info","message":"rt-1"}')

HOLDS: list[dict[str, Any]] = [
    {"file": "a", "is": "text", "within_s": 0}, {"file": "a", "contains": "ex", "within_s": 0},
    {"no_file": "b"}, {"only_files": ["a"]}, {"file_lacks": "a", "text": "z"}, {"still": "a"},
    {"told": ["first", "second"]}, {"told": ["second"], "not": ["third"]},
    {"offered": ["Read"], "not": ["Bash"]}, {"asked": 1}, {"answered": ["c1"]},
    {"request": {"tools": [{"type": "function", "function": {"name": "Read"}}]}},
    {"never_said": "rt-2"}, {"never_said": "rt-1", "outside": ["info"]},
    {"hidden": "k", "in": ["x.a", "x.none"]},
    {"same": ["x.a", "x.b"]}, {"matches": "x", "path": "c", "like": {"d": 1}},
    {"heard": "pong", "times": 1},
]  # fmt: skip
FAILS: list[dict[str, Any]] = [
    {"file": "a", "is": "tex", "within_s": 0}, {"file": "a", "contains": "z", "within_s": 0},
    {"file": "b", "within_s": 0}, {"no_file": "a"}, {"only_files": []}, {"only_files": ["a", "b"]},
    {"file_lacks": "a", "text": "ex"}, {"told": ["second", "first"]}, {"told": ["third"]},
    {"told": ["first"], "not": ["second"]}, {"offered": ["Bash"]}, {"offered": [], "not": ["Read"]},
    {"asked": 0}, {"asked": 2}, {"answered": []}, {"answered": ["c2"]},
    {"request": {"tools": []}}, {"never_said": "rt-1"},
    {"never_said": "rt-1", "outside": ["pong"]}, {"hidden": "s", "in": ["x.none", "x.a"]},
    {"same": ["x.a", "x.c"]}, {"matches": "x", "path": "c", "like": {"d": 2}},
    {"heard": "pong", "times": 2}, {"heard": "info", "times": 0},
]  # fmt: skip


def context(workspace: Path) -> Any:
    """The first of two engines has said `rt-1`, the second runs."""
    (workspace / "a").write_text("text")
    talks = [SimpleNamespace(heard=[INFO]), SimpleNamespace(heard=[PONG], slack=1.0)]
    engine = SimpleNamespace(heard=[PONG, INFO], slack=1.0)
    known = {"x": {"a": "same", "b": "same", "c": {"d": 1}}}
    return SimpleNamespace(
        workspace=workspace,
        provider=SimpleNamespace(asked=[TOLD]),
        talks=talks,
        engine=engine,
        known=known,
    )


async def look(workspace: Path, step: dict[str, Any]) -> None:
    await LOOKERS[next(iter(step))](context(workspace), step)


@pytest.mark.parametrize("step", HOLDS, ids=str)
async def test_what_is_so_holds(step: dict[str, Any], tmp_path: Path) -> None:
    await look(tmp_path, step)


@pytest.mark.parametrize("step", FAILS, ids=str)
async def test_what_is_not_so_fails(step: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(MismatchError):
        await look(tmp_path, step)


def test_every_looker_is_seen_to_hold_and_to_fail() -> None:
    do_not_judge = {"change"}
    wait_for_a_writer = {"moves", "still"}
    assert {next(iter(s)) for s in HOLDS} | do_not_judge | wait_for_a_writer == set(LOOKERS)
    assert {next(iter(s)) for s in FAILS} | do_not_judge | wait_for_a_writer == set(LOOKERS)
