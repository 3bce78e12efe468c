"""A small, seeded soak: the same rounds every time. `python -m tests.soak` plays more."""

import pytest

from soak.lasting import last
from soak.playing import round_of

ROUNDS = 2
TURNS = 40


@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_a_hostile_host_breaks_no_promise(seed: int) -> None:
    await round_of(seed, host=True, model=False)


@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_a_hostile_model_breaks_no_promise(seed: int) -> None:
    await round_of(seed, host=False, model=True)


@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_both_at_once_break_no_promise(seed: int) -> None:
    await round_of(seed, host=True, model=True)


async def test_a_long_session_keeps_its_size() -> None:
    await last(0, TURNS)
