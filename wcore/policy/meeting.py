"""What binds a sub-agent: its own rules, and what is denied to those it works for. Pure."""

from collections.abc import Sequence

from wcore.policy.decide import BINDING, Standing, decide, granted_exactly
from wcore.policy.facts import Facts
from wcore.policy.plans import Case
from wcore.vocabulary import Decision, Row, Verdict


def decide_below(facts: Facts, own: Standing, above: Sequence[Standing]) -> Decision:
    """Return the decision on a call of an agent that works for the agents `above`.

    They come without their grants and overrides: these are not handed down. What rows 1 to 4c
    deny to any of them is denied to it, and what they ask for any of them is asked; but a person
    who said yes to a text that cannot be understood, on a card of this agent, has been asked.
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
    if denied is not None or decision.verdict is not Verdict.ALLOW:
        return denied or decision
    if granted_exactly(facts, own.grants):
        found = [bound for bound in found if bound.why.row is not Row.UNREADABLE]
    return next(iter(found), decision)
