"""Fuzzing and mutation with fixed budgets; their commands run for as long as you like."""

import sys

import pytest

from .fuzz import fuzz
from .grammar import Maker
from .mutate import decided, kind_of, mutants, mutate, originals, sample
from .oracle import Oracle
from .trial import Figures

SEEDS = (3, 4, 5, 6)
DECIDED = 5_000  # of each seed
EXECUTED_OF_FUZZ = 150
EXECUTED_OF_MUTANTS = 130


def report(capsys: pytest.CaptureFixture[str], what: str, figures: Figures) -> None:
    """Print the figures past pytest's capture: a budget that nobody sees is no proof."""
    with capsys.disabled():  # to standard error, which the workers of xdist share with it
        sys.stderr.write(f"\n{what}: {figures.line()}\n")
        sys.stderr.flush()


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_approved_of_made_texts_is_sound(
    oracle: Oracle, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    figures = fuzz(oracle, seed, count=DECIDED, jobs=1, execute_max=EXECUTED_OF_FUZZ)
    report(capsys, f"fuzz, seed {seed}", figures)
    assert not figures.failures
    assert figures.decided == DECIDED
    assert figures.executed == EXECUTED_OF_FUZZ
    assert figures.incomplete < EXECUTED_OF_FUZZ // 20


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_approved_of_mutants_is_sound(
    oracle: Oracle, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    figures = mutate(oracle, seed, count=DECIDED, jobs=1, execute_max=EXECUTED_OF_MUTANTS)
    report(capsys, f"mutation, seed {seed}", figures)
    assert not figures.failures
    assert figures.decided == DECIDED
    assert figures.executed == EXECUTED_OF_MUTANTS
    assert figures.incomplete < EXECUTED_OF_MUTANTS // 20


def test_a_seed_makes_the_same_texts_again() -> None:
    once, again = Maker(7), Maker(7)
    assert [once.make() for _ in range(200)] == [again.make() for _ in range(200)]
    assert once.make() != Maker(8).make()


def test_the_grammar_writes_all_that_bash_has_a_notation_for() -> None:
    maker = Maker(11)
    texts = "\0".join(maker.make().text for _ in range(5000))
    wanted = (
        "$( ` ${ $(( $[ $' $\" <( >( <<X <<< &> {fd}> |& ;; <> >| /dev/tcp if for while case () { "
        "coproc [[ (( ! time \\\n # \r \u200b ~root X=1 -v =~ {Z..a} ${NAME} \u2192 < eval"
    ).split(" ")
    assert [piece for piece in wanted if piece not in texts] == []


def test_a_mutant_differs_by_one_byte_and_names_the_token() -> None:
    original = next(made for made in originals() if made.text == "make all")
    found = list(mutants(original, b";\n"))
    assert len(found) == len({made.text for made, _ in found}) + 1  # "make al" comes twice: ll
    assert ("make;all", "replace blank") in [(made.text, kind) for made, kind in found]
    assert kind_of("é".encode(), 0) == "beyond ASCII"
    assert kind_of(b"", 0) == "end"


def test_mutants_are_executed_one_of_every_kind_first() -> None:
    figures = Figures()
    chosen = sample(seed=5, count=2000)
    approved = decided(chosen, figures)
    kinds = dict(reversed(chosen))
    first = [kinds[made] for made in approved[:10]]
    assert len(set(first)) == len(first)
    assert figures.decided == 2000
