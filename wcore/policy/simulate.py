"""What another policy would have made of calls that were made: values in, values out.

A recorded call keeps what no policy file says: its mode, its agent, its tier, and that a person's
lasting yes let it run. Everything else is decided anew, by the engine's own decision.
"""

from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from wcore.policy import shell
from wcore.policy.decide import DecisionContext
from wcore.policy.facts import Facts, gather
from wcore.policy.grants import MAIN_AGENT, GrantBook, ScopeRefused, grants_of, validate_scope
from wcore.policy.inheritance import decide_for_subagent
from wcore.policy.protected import Places
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.suggestions import scopes_for
from wcore.policy.tiers import AgentPermissionSnapshot
from wcore.vocabulary import Always, AlwaysExact, Decision, Mode, Prepared, Row, Verdict


class RecordedCall(Struct, frozen=True):
    """One call of a session as it was decided then. `row` is where it is known: of a question."""

    call_id: str
    prepared: Prepared
    places: Places
    mode: Mode
    was: Verdict
    row: Row | None = None
    was_granted: bool = False
    agent: str = MAIN_AGENT


def decide_again(call: RecordedCall, policies: PolicySet) -> Decision:
    """Return the decision on a recorded call under other policies."""
    command = call.prepared.command
    analysis = None if command is None else shell.analyse(command)
    facts = gather(call.prepared, analysis, call.places)
    grants = _grants(facts, call.places) if call.was_granted else GrantBook()
    offered = frozenset({call.prepared.tool})
    own = DecisionContext(call.mode, grants, offered, policies, _tiers(call), call.agent)
    bare = partial(DecisionContext, call.mode, GrantBook(), offered, policies)
    above = [bare(agent=name) for name in _above(call.agent)]
    return decide_for_subagent(facts, own, above)


def _above(agent: str) -> list[str]:
    """Return the agents that this one works for, from the nearest up to main."""
    names = agent.split("/") if agent != MAIN_AGENT else []
    return ["/".join(names[:length]) or MAIN_AGENT for length in range(len(names) - 1, -1, -1)]


def _tiers(call: RecordedCall) -> AgentPermissionSnapshot:
    """Return the tier that decided then; nothing is known of one that did not."""
    tool = frozenset({call.prepared.tool})
    if call.row is not Row.TIER:
        return AgentPermissionSnapshot()
    if call.was is Verdict.ALLOW:
        return AgentPermissionSnapshot(always_allow=tool, is_assigned=True)
    return AgentPermissionSnapshot(needs_approval=tool, is_assigned=True)


def _grants(facts: Facts, places: Places) -> GrantBook:
    """Return a yes such as must have been there: a narrow one, or one to the tool's name."""
    book = GrantBook()
    likely = sorted(scopes_for(facts), key=lambda scope: isinstance(scope, AlwaysExact))
    for scope in [*likely, Always()]:  # an exact one lifts most: it is taken for the last
        weighed = validate_scope(scope, facts, places, book)
        if not isinstance(weighed, ScopeRefused):
            for number, grant in enumerate(grants_of(scope, weighed, facts)):
                book.add(replace(grant, grant_id=f"then-{number}"))
            break
    return book
