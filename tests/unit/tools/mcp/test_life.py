"""The life of a server: every sequence of moves, not a sample of them."""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Final

import pytest
from spec import life_tables

from wcore.tools.mcp.life import (
    AWAY,
    BUSY,
    MOVES,
    RETRY_S,
    RETRY_S_MAX,
    Life,
    Move,
    State,
    pause_s,
)

STEPS: Final = 6  # 6 moves: 46,656 sequences


def lives() -> Iterator[list[tuple[Move, State]]]:
    """Yield the moves that were made, each with the state that it led to, for every sequence."""
    for moves in product(Move, repeat=STEPS):
        life = Life()
        made: list[tuple[Move, State]] = []
        for move in moves:
            if life.allows(move):
                life.move(move)
                made.append((move, life.state))
        yield made


def test_calls_run_only_with_a_list_that_was_read_since_anything_may_have_changed() -> None:
    ran = 0
    for made in lives():
        for (_, before), (move, state) in pairwise([(Move.END, State.ABSENT), *made]):
            if state is State.READY:
                ran += 1
                assert move is Move.LIST, made
                assert before in BUSY, made
            assert move is not Move.CHANGE or state is not State.READY, made
    assert ran, "some server is ready"


def test_a_server_is_never_run_twice_at_once() -> None:
    for made in lives():
        running = 0
        for move, _ in made:
            running += {Move.START: 1, Move.END: -1}.get(move, 0)
            assert 0 <= running <= 1, made


def test_whatever_is_away_can_be_started_again_and_nothing_leaves_the_end() -> None:
    for state, moves in MOVES.items():
        startable = Move.START in moves
        assert startable == (state in {State.ABSENT, *AWAY}), state
        assert (Move.REMOVE in moves) == (state is not State.REMOVED), state
        assert set(moves.values()) <= set(State), state
    assert not MOVES[State.REMOVED]


def test_a_move_that_the_table_does_not_have_changes_nothing() -> None:
    life = Life()
    with pytest.raises(KeyError):
        life.move(Move.LIST)
    assert life.state is State.ABSENT


def test_every_state_and_move_stands_in_the_printed_table() -> None:
    header, _, *rows = life_tables.of_servers().splitlines()
    assert [cell.strip() for cell in header.split("|")[2:-2]] == list(Move)
    assert [row.split("|")[1].strip() for row in rows[:-1]] == list(State)
    assert set(life_tables.CALLS) == set(State)
    assert set(life_tables.OFFERS) == {Move.LIST, Move.REMOVE}


def test_pauses_grow_up_to_a_limit() -> None:
    pauses = [pause_s(failures) for failures in range(1, 10_000)]
    assert pauses[:4] == [0, RETRY_S, 2 * RETRY_S, 4 * RETRY_S]
    assert pauses == sorted(pauses)
    assert pauses[-1] == RETRY_S_MAX
