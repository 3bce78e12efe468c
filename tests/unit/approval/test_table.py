"""The life of a call: every sequence of moves, not a sample of them."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Final

import pytest
from spec import life_tables
from tables import rows

from wcore.approval.table import MOVES, Ledger, Move, State, UnknownCallError

STEPS: Final = 5  # 8 moves: 32,768 sequences
FINAL: Final = {State.ENDED, State.DENIED, State.EXPIRED, State.CANCELLED}
PATHS: Final = {  # how to get to each unfinished state
    State.PROPOSED: (),
    State.WAITING: (Move.ASK,),
    State.CLEARED: (Move.ALLOW,),
    State.RUNNING: (Move.ASK, Move.APPROVE, Move.RUN),
}


def lives() -> Iterator[tuple[list[Move], list[State]]]:
    """Yield the moves that were made and the states they led to, for every sequence."""
    for moves in product(Move, repeat=STEPS):
        ledger = Ledger()
        ledger.propose("c")
        made: list[Move] = []
        states: list[State] = []
        for move in moves:
            before = ledger.state("c")
            try:
                states.append(ledger.move("c", move))
                made.append(move)
            except UnknownCallError:
                assert ledger.state("c") is before, "a refused move changes nothing"
        yield made, states


def at(state: State) -> Ledger:
    ledger = Ledger()
    ledger.propose("c")
    for move in PATHS[state]:
        ledger.move("c", move)
    assert ledger.state("c") is state
    return ledger


def test_no_call_ever_runs_without_an_allow_or_an_approval() -> None:
    ran = 0
    for made, _ in lives():
        if Move.RUN in made:
            ran += 1
            assert {Move.ALLOW, Move.APPROVE} & set(made[: made.index(Move.RUN)]), made
    assert ran, "some call runs"


def test_a_call_that_was_asked_runs_only_after_an_approval() -> None:
    for made, _ in lives():
        if Move.ASK in made and Move.RUN in made:
            assert Move.APPROVE in made[: made.index(Move.RUN)], made


def test_a_call_runs_is_asked_and_is_answered_at_most_once() -> None:
    answers = (Move.APPROVE, Move.EXPIRE)
    for made, _ in lives():
        count = Counter(made)
        assert count[Move.RUN] <= 1
        assert count[Move.ASK] <= 1
        assert sum(count[answer] for answer in answers) <= count[Move.ASK], made


def test_nothing_follows_a_final_state() -> None:
    for made, states in lives():
        assert not FINAL & set(states[:-1]), made


def test_every_call_has_at_most_one_end_and_a_denied_one_never_ran() -> None:
    for made, states in lives():
        assert sum(state in FINAL for state in states) <= 1, made
        if {State.DENIED, State.EXPIRED} & set(states):
            assert State.RUNNING not in states, made


def test_every_unfinished_state_can_be_cancelled() -> None:
    for state in set(State) - FINAL:
        assert at(state).move("c", Move.CANCEL) is State.CANCELLED


def test_every_unfinished_state_can_be_reached_and_has_a_way_to_an_end() -> None:
    assert set(PATHS) == set(State) - FINAL
    for state in PATHS:
        reached = {state}
        while more := {after for s in reached for after in MOVES[s].values()} - reached:
            reached |= more
        assert reached & FINAL, state


def test_final_states_have_an_empty_row_and_no_other_state_has() -> None:
    assert {state for state in State if not MOVES[state]} == FINAL


@rows("state", PATHS)
@rows("move", Move)
def test_a_move_does_what_the_table_says_or_is_refused_and_changes_nothing(
    state: State, move: Move
) -> None:
    ledger = at(state)
    after = MOVES[state].get(move)
    if after is None:
        with pytest.raises(UnknownCallError, match="'c'"):
            ledger.move("c", move)
        assert ledger.state("c") is state
    else:
        assert ledger.move("c", move) is after
        assert ledger.state("c") is (None if after in FINAL else after)


@pytest.mark.parametrize("move", Move)
def test_a_call_that_was_never_proposed_cannot_be_moved(move: Move) -> None:
    ledger = Ledger()
    ledger.propose("other")
    with pytest.raises(UnknownCallError):
        ledger.move("c", move)
    assert ledger.state("other") is State.PROPOSED
    assert not ledger.is_used("c")


def test_an_id_is_never_used_twice_not_even_after_the_call_ended() -> None:
    ledger = Ledger()
    ledger.propose("c")
    with pytest.raises(AssertionError):
        ledger.propose("c")
    ledger.move("c", Move.END)
    assert ledger.is_used("c")
    assert ledger.state("c") is None
    with pytest.raises(AssertionError):
        ledger.propose("c")


def test_calls_do_not_move_each_other() -> None:
    ledger = Ledger()
    for call_id in ("a", "b"):
        ledger.propose(call_id)
        ledger.move(call_id, Move.ASK)
    ledger.move("a", Move.APPROVE)
    assert (ledger.state("a"), ledger.state("b")) == (State.CLEARED, State.WAITING)


def test_the_printed_table_is_the_table() -> None:
    header, rule, *rows = life_tables.of_calls().splitlines()
    columns = [cell.strip() for cell in header.strip("|").split("|")]
    assert columns == ["state", *Move]
    assert set(rule) == {"|", "-"}
    printed = {
        (row[0], column): cell
        for row in ([cell.strip() for cell in line.strip("|").split("|")] for line in rows)
        for column, cell in zip(columns[1:], row[1:], strict=True)
    }
    assert printed == {
        (str(state), str(move)): str(MOVES[state].get(move, "")) for state in State for move in Move
    }
