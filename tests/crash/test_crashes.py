"""`kill -9` at every write of the journal, and at any other time: no decision lost, nothing twice.

`WCORE_CRASHES=500 pytest tests/crash` kills five hundred times at random instants.
"""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from crash.lives import check, check_effects, cut_power, first_life, recorded, second_life
from talking import Conversation

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

WRITES = 22  # of the conversation's journal, the end of the turn included; one more at the end
WHEN = ["before", "after"]
INSTANTS = int(os.environ.get("WCORE_CRASHES", "6"))
LIFE_S = 0.8  # about as long as the conversation takes


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("number", range(1, WRITES + 2))
async def test_a_kill_at_a_write_of_the_journal_loses_nothing_and_runs_nothing_twice(
    talk: Talk, workspace: Path, tmp_path: Path, when: str, number: int
) -> None:
    first = await first_life(talk, f"{when}:any:{number}")
    assert first.done is (number > WRITES), "each write has its kill, and there are no more"
    second = await second_life(talk, tmp_path)
    check(first, second, workspace, recorded(tmp_path))


@pytest.mark.parametrize("number", range(1, WRITES + 1))
async def test_a_power_cut_at_a_write_of_the_journal_runs_nothing_twice_and_keeps_every_no(
    talk: Talk, workspace: Path, tmp_path: Path, number: int
) -> None:
    first = await first_life(talk, f"cut:any:{number}")
    cut_power(tmp_path)
    second = await second_life(talk, tmp_path)
    check_effects(first, second, workspace, recorded(tmp_path))


@pytest.mark.parametrize("number", range(INSTANTS))
async def test_a_kill_at_any_instant_loses_nothing_and_runs_nothing_twice(
    talk: Talk, workspace: Path, tmp_path: Path, number: int
) -> None:
    at_s = LIFE_S * random.Random(number).random() if INSTANTS < 100 else LIFE_S * random.random()
    first = await first_life(talk, None, kill_after_s=at_s)
    second = await second_life(talk, tmp_path)
    check(first, second, workspace, recorded(tmp_path))
