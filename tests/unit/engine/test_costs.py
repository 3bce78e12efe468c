"""What turns cost is told after each, where there are prices."""

from types import SimpleNamespace
from typing import cast

from wcore.engine.costs import TURNS_TOLD_MAX, Costs
from wcore.protocol import events
from wcore.session.session import Session


def session(priced_by: str, told: list[events.SessionCost]) -> Session:
    model = SimpleNamespace(name="gpt-5", price_provider=priced_by)
    settings = SimpleNamespace(session_id="s1")
    return cast(
        "Session",
        SimpleNamespace(model=model, settings=settings, emit_nowait=told.append),
    )


def test_each_turn_is_told_with_the_total() -> None:
    told: list[events.SessionCost] = []
    costs = Costs(session("openai", told))
    costs.tell(0.25, is_priced=True)
    costs.tell(0.5, is_priced=False)
    assert [event.total_cost_usd for event in told] == [0.25, 0.75]
    assert [(each.turn, each.cost_usd, each.priced) for each in told[1].per_turn] == [
        (1, 0.25, True),
        (2, 0.5, False),
    ]


def test_without_a_price_list_nothing_is_told() -> None:
    told: list[events.SessionCost] = []
    Costs(session("", told)).tell(0.25, is_priced=True)
    assert told == []


def test_the_list_of_turns_is_bounded_and_the_total_is_not() -> None:
    told: list[events.SessionCost] = []
    costs = Costs(session("openai", told))
    for _ in range(TURNS_TOLD_MAX + 5):
        costs.tell(0.5, is_priced=True)
    assert len(told[-1].per_turn) == TURNS_TOLD_MAX
    assert told[-1].per_turn[-1].turn == TURNS_TOLD_MAX + 5
    assert told[-1].total_cost_usd == 0.5 * (TURNS_TOLD_MAX + 5)
