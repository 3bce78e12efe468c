"""The pictures show what the code does: they are drawn from its table and its conversations."""

from xml.etree import ElementTree

import pytest

from spec.pictures import BOWS, DRAWN, PICTURES, PLACES
from wcore.approval.table import MOVES, State


@pytest.mark.parametrize("name", DRAWN)
def test_the_picture_is_what_would_be_drawn_today(name: str) -> None:
    drawn = (PICTURES / f"{name}.svg").read_text()
    assert DRAWN[name]() == drawn, "run: python tests/write_spec.py"
    ElementTree.fromstring(drawn)


def test_there_are_no_other_pictures() -> None:
    assert {path.stem for path in PICTURES.iterdir()} == set(DRAWN)


def test_every_state_and_every_move_is_drawn_and_no_other() -> None:
    assert set(PLACES) == set(State)
    assert set(BOWS) == {(state, after) for state in MOVES for after in MOVES[state].values()}
