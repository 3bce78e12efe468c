"""What binds a call: the agent's own rules, and what is denied to those it works for. Pure.

Both may come twice, as the session holds them and as they are at present: the strictest counts.
"""

from collections.abc import Sequence

from msgspec import Struct

from wcore.policy.covering_grants import granted_exactly
from wcore.policy.decide import BINDING, DecisionContext, decide
from wcore.policy.facts import Facts
from wcore.policy.rules.rule_index import STRICTNESS, DecisionInput
from wcore.vocabulary import Decision, Row, Verdict


class Situation(Struct, frozen=True):
    """What is in force for an agent at one moment, and for those `above`, which it works for."""

    own: DecisionContext
    above: tuple[DecisionContext, ...] = ()


def situations(chain: Sequence[Sequence[DecisionContext]]) -> list[Situation]:
    """Return what binds at present and, where that is different, as it is held.

    `chain` has one or two standings of each agent, from the one that calls up to main.
    """
    found: list[Situation] = []
    for which in range(max(map(len, chain))):
        own, *above = (each[-which] for each in chain)  # 0 is the first, -1 the last
        found.append(Situation(own, tuple(above)))
    return found


def decide_strictest(facts: Facts, situations: Sequence[Situation]) -> Decision:
    """Return the strictest of the decisions; of equally strict ones that of the first situation."""
    decisions = [decide_for_subagent(facts, each.own, each.above) for each in situations]
    return max(decisions, key=lambda decision: STRICTNESS[decision.verdict])


def decide_for_subagent(
    facts: Facts, own: DecisionContext, above: Sequence[DecisionContext]
) -> Decision:
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
        for context in above
        for row in BINDING
        if (bound := row(DecisionInput(facts, context.agent), context)) is not None
    ]
    denied = next((bound for bound in found if bound.verdict is Verdict.DENY), None)
    if denied is not None or decision.verdict is not Verdict.ALLOW:
        return denied or decision
    if granted_exactly(facts, own.grants):
        found = [bound for bound in found if bound.why.row is not Row.UNREADABLE]
    return next(iter(found), decision)
