"""A small, seeded soak: the same rounds every time. `python -m tests.soak` plays more."""

import os

import pytest

from soak.lasting import last
from soak.playing import round_of

ROUNDS = 2
TURNS = 40

slow = pytest.mark.skipif("WCORE_FAST" in os.environ, reason="WCORE_FAST leaves out the soak")


@slow
@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_a_hostile_host_breaks_no_promise(seed: int) -> None:
    await round_of(seed, host=True, model=False)


@slow
@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_a_hostile_model_breaks_no_promise(seed: int) -> None:
    await round_of(seed, host=False, model=True)


@slow
@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_both_at_once_break_no_promise(seed: int) -> None:
    await round_of(seed, host=True, model=True)


@slow
async def test_a_long_session_keeps_its_size() -> None:
    await last(0, TURNS)
