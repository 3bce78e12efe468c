"""The way of a command through functions: how many somebody reads who follows it, and which."""

import json
import re
from pathlib import Path
from typing import Final

import pytest
from talking import Conversation, call, write_script

COUNTER = Path(__file__).parent / "hop_counter.py"
#: Command, the event that it leads to, and through how many functions it may go at most.
BUDGETS: Final = {("ping", "pong"): 4, ("tool_approve", "tool_running"): 45}


ARCHITECTURE: Final = Path(__file__).parents[1] / "ARCHITECTURE.md"
STEPS_MAX: Final = 15  # of the walk: what is read at one go


@pytest.fixture
async def ways(tmp_path: Path, workspace: Path) -> dict[tuple[str, str], list[str]]:
    """Return the functions on the way from a command to an event, in the order of their calls."""
    found = tmp_path / "hops.jsonl"
    script = write_script(tmp_path, ([call("Bash", "c", command="echo x")], [{"text": "done"}]))
    flags = ["--model", f"script:{script}"]
    program = (str(COUNTER), str(found))
    async with Conversation(workspace, flags, {}, tmp_path / "home", program) as host:
        await host.hear("ready")
        await host.say(type="message", msg_id="m", content="go")
        await host.hear("tool_request")
        await host.say(type="ping")
        await host.hear("pong")
        await host.approve("c")
        await host.hear("stream_end")
    lines = [json.loads(line) for line in found.read_text().splitlines()]
    return {(line["command"], line["event"]): line["functions"] for line in reversed(lines)}


@pytest.mark.anyio
@pytest.mark.parametrize("way", BUDGETS, ids="-".join)
async def test_a_command_goes_through_few_functions(
    ways: dict[tuple[str, str], list[str]], way: tuple[str, str]
) -> None:
    functions = ways[way]
    assert functions
    listed = "\n".join(functions)
    assert len(functions) <= BUDGETS[way], f"{len(functions)} functions:\n{listed}"


@pytest.mark.anyio
async def test_the_walk_of_an_approved_call_is_written_down_as_it_is(
    ways: dict[tuple[str, str], list[str]],
) -> None:
    steps = re.findall(r"^\d+\. .*$", ARCHITECTURE.read_text(), re.MULTILINE)
    steps = steps[: steps.index(next(each for each in steps if "finish.py:finish" in each)) + 1]
    assert len(steps) <= STEPS_MAX
    named = [re.findall(r"`([\w/]+\.py:[\w.]+)`", step) for step in steps]
    assert all(named), "each step names a function"
    left = iter([*ways["message", ""], *ways["tool_approve", "tool_result"]])
    for function in (each for step in named for each in step):
        assert function in left, "it is not passed, or not in this order"  # goes on behind it
