from hypothesis import given
from hypothesis import strategies as st

from wcore.models.window import KEPT_SHARE, Cut, Entry, EntryKind, fit

TURN = Entry(EntryKind.TURN, 10, 10)
SAID = Entry(EntryKind.OTHER, 10, 10)
OUTPUT = Entry(EntryKind.OUTPUT, 100, 2)
LONG = (TURN, SAID, OUTPUT, OUTPUT, SAID, TURN, SAID, OUTPUT, SAID, OUTPUT)


def entry(kind: EntryKind, tokens: int) -> Entry:
    return Entry(kind, tokens, 3 if kind is EntryKind.OUTPUT else tokens)


ENTRIES = st.lists(st.builds(entry, st.sampled_from(EntryKind), st.integers(3, 500)), max_size=30)


def left(entries: list[Entry], cut: Cut) -> int:
    return sum(
        entry.short_tokens
        if at < cut.shortened and entry.kind is EntryKind.OUTPUT
        else entry.tokens
        for at, entry in enumerate(entries)
        if at >= cut.dropped
    )


def test_what_fits_is_not_cut() -> None:
    assert fit(LONG, 1000, Cut()) == Cut()


def test_the_oldest_outputs_go_first_and_a_bit_more_than_they_must() -> None:
    cut = fit(LONG, 440, Cut())
    assert cut == Cut(shortened=4)
    assert left([*LONG], cut) <= 440 * KEPT_SHARE


def test_whole_turns_go_when_outputs_are_not_enough() -> None:
    assert fit(LONG, 150, Cut()) == Cut(shortened=8, dropped=5)


def test_the_newest_results_and_turn_stay_even_if_they_are_too_much() -> None:
    assert fit(LONG, 1, Cut()) == Cut(shortened=8, dropped=5)
    assert fit((TURN, SAID, OUTPUT, OUTPUT), 1, Cut()) == Cut(shortened=1)


@given(ENTRIES, st.integers(1, 5000), st.integers(1, 5000))
def test_a_cut_only_grows_begins_at_a_turn_and_never_touches_the_newest(
    entries: list[Entry], first: int, second: int
) -> None:
    one = fit(entries, first, Cut())
    two = fit(entries, second, one)
    newest = max((at for at, e in enumerate(entries) if e.kind is not EntryKind.OUTPUT), default=0)
    last_turn = max((at for at, e in enumerate(entries) if e.kind is EntryKind.TURN), default=0)
    for before, cut, room in ((Cut(), one, first), (one, two, second)):
        assert cut.shortened >= before.shortened
        assert cut.dropped >= before.dropped
        assert cut.dropped == 0 or entries[cut.dropped].kind is EntryKind.TURN
        assert cut.dropped <= last_turn
        assert cut.shortened <= max(newest, cut.dropped)
        gave_all = cut.dropped == last_turn and cut.shortened >= newest
        assert left(entries, cut) <= room or gave_all
