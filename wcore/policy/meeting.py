"""What binds a sub-agent: its own rules, and what is denied to those it works for. Pure."""

from collections.abc import Sequence
from typing import Final

from wcore.policy.decide import ROWS, Standing, decide, granted_exactly
from wcore.policy.facts import Facts
from wcore.policy.plans import Case
from wcore.vocabulary import Decision, Verdict

BINDING: Final = ROWS[:5]  # rows 1 to 3b


def decide_below(facts: Facts, own: Standing, above: Sequence[Standing]) -> Decision:
    """Return the decision on a call of an agent that works for the agents `above`.

    They come without their grants and overrides: these are not handed down. What rows 1 to 3b
    deny to any of them is denied to it, and what they ask for any of them is asked, but where a
    person has said yes to the very text on a card of this agent.
    """
    decision = decide(facts, own)
    if decision.verdict is Verdict.DENY:
        return decision
    found = [
        bound
        for standing in above
        for row in BINDING
        if (bound := row(Case(facts, standing.agent), standing)) is not None
    ]
    denied = next((bound for bound in found if bound.verdict is Verdict.DENY), None)
    may_ask = decision.verdict is Verdict.ALLOW and not granted_exactly(facts, own.grants)
    asked = next(iter(found), None) if may_ask else None
    return denied or asked or decision
