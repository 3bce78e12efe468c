"""What another policy would have made of calls that were made: values in, values out.

A recorded call keeps what no policy file says: its mode, its tier, and that a person's lasting yes
let it run. Everything else is decided anew, by the engine's own decision.
"""

from msgspec import Struct

from wcore.policy import shell
from wcore.policy.decide import Standing, decide
from wcore.policy.facts import Facts, gather
from wcore.policy.grants import Grant, GrantBook, ScopeRefused, weigh
from wcore.policy.policies import Policies
from wcore.policy.protected import Places
from wcore.policy.suggesting import scopes_for
from wcore.policy.tiers import AgentPermissionSnapshot
from wcore.vocabulary import Always, Decision, Mode, Prepared, Row, Verdict


class Recorded(Struct, frozen=True):
    """One call of a session as it was decided then. `row` is where it is known: of a question."""

    call_id: str
    prepared: Prepared
    places: Places
    mode: Mode
    was: Verdict
    row: Row | None = None
    was_granted: bool = False


def decide_again(call: Recorded, policies: Policies) -> Decision:
    """Return the decision on a recorded call under other policies."""
    command = call.prepared.command
    analysis = None if command is None else shell.analyse(command)
    facts = gather(call.prepared, analysis, call.places)
    grants = _grants(facts, call.places) if call.was_granted else GrantBook()
    tool = call.prepared.tool
    return decide(facts, Standing(call.mode, grants, frozenset({tool}), policies, _tiers(call)))


def _tiers(call: Recorded) -> AgentPermissionSnapshot:
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
    for number, scope in enumerate([*scopes_for(facts), Always()]):
        prefix = weigh(scope, facts, places, book)
        if not isinstance(prefix, ScopeRefused):
            book.add(Grant(f"then-{number}", facts.tool, scope, "", "", prefix=prefix))
            break
    return book
