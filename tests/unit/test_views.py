"""Which grants count in which view."""

from itertools import product

import pytest

from wcore.views import NONE, READ_ONLY, WORKSPACE, SandboxView, covers

ROWS = [
    # given in; counts in
    (None, None, True),
    (None, (READ_ONLY,), True),
    (None, (WORKSPACE,), True),
    (None, (WORKSPACE, "a"), False),
    (None, (NONE,), False),
    ((WORKSPACE,), None, False),
    ((WORKSPACE,), (READ_ONLY,), True),
    ((WORKSPACE,), (WORKSPACE,), True),
    ((WORKSPACE,), (WORKSPACE, "a"), False),
    ((WORKSPACE,), (NONE,), False),
    ((WORKSPACE, "a", "b"), (WORKSPACE,), True),
    ((WORKSPACE, "a", "b"), (WORKSPACE, "b"), True),
    ((WORKSPACE, "a", "b"), (WORKSPACE, "b", "c"), False),
    ((READ_ONLY,), (WORKSPACE,), False),
    ((READ_ONLY,), None, False),
    ((NONE,), None, True),
    ((NONE,), (NONE,), True),
    ((NONE,), (WORKSPACE, "a"), True),
]


def view_of(spelled: tuple[str, ...] | None) -> SandboxView | None:
    return None if spelled is None else SandboxView(spelled[0], spelled[1:], spelled[1:])


@pytest.mark.parametrize(("given", "asked", "counts"), ROWS)
def test_a_grant_counts_where_no_more_is_reached(
    given: tuple[str, ...] | None, asked: tuple[str, ...] | None, counts: bool
) -> None:
    known = view_of(given)
    assert covers(known.pin if known else None, view_of(asked)) is counts


def test_what_covers_is_an_order() -> None:
    """What a grant covers, a grant that covers it covers as well; each view covers itself."""
    some = [(WORKSPACE,), (READ_ONLY,), (NONE,), (WORKSPACE, "a"), (WORKSPACE, "a", "b")]
    views = [view for view in map(view_of, some) if view is not None]
    for one, two, three in product(views, repeat=3):
        assert covers(one.pin, one)
        if covers(one.pin, two) and covers(two.pin, three):
            assert covers(one.pin, three)


@pytest.mark.parametrize("pin", [("launch", "schema"), ("sandbox", ""), ("sandbox", "nowhere a")])
def test_the_pin_of_something_else_covers_nothing(pin: tuple[str, str]) -> None:
    assert not covers(pin, None)
    assert not covers(pin, SandboxView(WORKSPACE))
    assert SandboxView.of_pin(pin) is None


@pytest.mark.parametrize("view", [SandboxView(NONE), SandboxView(WORKSPACE, ("a",), ("a",))])
def test_a_pin_says_which_view_it_is(view: SandboxView) -> None:
    assert SandboxView.of_pin(list(view.pin)) == view
