"""Which lasting yes a card offers: only one that would have spared this very question."""

import posixpath
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from wcore.policy import shell
from wcore.policy.decide import DecisionContext
from wcore.policy.facts import Facts
from wcore.policy.grants import PREFIXES_MAX, GrantBook, ScopeRefused, grants_of, validate_scope
from wcore.policy.inheritance import decide_for_subagent
from wcore.policy.protected import Places
from wcore.vocabulary import (
    AlwaysExact,
    AlwaysHost,
    AlwaysPath,
    AlwaysPrefix,
    AlwaysPrefixes,
    AlwaysServer,
    Offer,
    Scope,
    Verdict,
)

_ANYWHERE: Final = "It holds in any folder of the workspace."
_TRIED: Final = "tried"  # the id of a grant that is only imagined


def suggest(
    facts: Facts, context: DecisionContext, places: Places, above: Sequence[DecisionContext] = ()
) -> list[Scope]:
    """Return scopes, the narrowest first, at most `shell.SUGGESTIONS_MAX`, each one grantable.

    With any of them in force the call would have been allowed: what asks whatever was granted
    (a protected path, a question, a command with somebody else's rights) has no suggestion.
    `above` binds a sub-agent, see `decide_for_subagent`.
    """
    spares = (s for s in scopes_for(facts) if _spares(s, facts, context, places, above))
    return list(spares)[: shell.SUGGESTIONS_MAX]


def offered_by_all(found: Sequence[Sequence[Scope]], facts: Facts) -> list[Offer]:
    """Return the scopes that stand in each list, with notes: of an exact text why it is alone.

    A call that asks for hosts has the widest of them, and the hosts, as far as there is room.
    """
    first, *others = found
    offered = [scope for scope in first if all(scope in other for other in others)]
    has_prefix = any(isinstance(each, AlwaysPrefix | AlwaysPrefixes) for each in offered)
    analysis = None if has_prefix else facts.analysis
    why_not = shell.why_not_offered(analysis) if analysis else None
    offers = [
        (each, why_not if isinstance(each, AlwaysExact) else note_of(each)) for each in offered
    ]
    hosts = [AlwaysHost(host) for host in (facts.view.proposed if facts.view else ())]
    if not hosts:
        return offers
    return [*offers[-1:], *((host, None) for host in hosts)][: shell.SUGGESTIONS_MAX]


def note_of(scope: Scope) -> str | None:
    """Return what a person should know of a suggested prefix: what it runs and leaves out."""
    match scope:
        case AlwaysPrefix(prefix):
            return " ".join(_sentences(prefix)) or None
        case AlwaysPrefixes(prefixes):
            said = [
                f"`{prefix}`: {' '.join(found)}"
                for prefix in prefixes
                if (found := _sentences(prefix))
            ]
            return " ".join(said) or None
        case _:
            return None


def _sentences(prefix: str) -> tuple[str, ...]:
    grant = shell.parse_grant(prefix)
    if isinstance(grant, shell.PrefixGrantRefused):
        return ()
    note = shell.note_of(grant.words)
    says_where = note.runs_project_code or not note.holds_anywhere
    return note.sentences if says_where else (*note.sentences, _ANYWHERE)


def scopes_for(facts: Facts) -> list[Scope]:
    """Return the narrow scopes that may cover a call; none has been weighed."""
    found: list[Scope] = []
    if facts.command is not None:
        found.append(AlwaysExact(facts.command))
    if facts.analysis is not None:
        found += _prefixes(facts.analysis)
    outside = {path.path for path in facts.paths if not path.inside}
    if len(outside) == 1:
        found.append(AlwaysPath(posixpath.dirname(outside.pop())))
    if facts.listed is not None:
        found.append(AlwaysServer(facts.listed.server))
    return found


def _prefixes(analysis: shell.Analysis) -> list[Scope]:
    """Return the prefix that may be offered for a text, or the set where it takes several."""
    alone = shell.suggest(analysis)
    if alone:
        return [AlwaysPrefix(alone[0])]
    found: dict[str, None] = {}
    for command in analysis.commands:
        offered = shell.suggest(shell.Analysis(analysis.text, (command,)))
        if not offered:
            return []
        found[offered[0]] = None
    if len(found) == 1:
        return [AlwaysPrefix(*found)]
    return [AlwaysPrefixes(tuple(found))] if 1 < len(found) <= PREFIXES_MAX else []


def _spares(
    scope: Scope,
    facts: Facts,
    context: DecisionContext,
    places: Places,
    above: Sequence[DecisionContext],
) -> bool:
    weighed = validate_scope(scope, facts, places, context.grants)
    if isinstance(weighed, ScopeRefused):
        return False
    tried = [
        replace(grant, grant_id=f"{_TRIED} {number}")
        for number, grant in enumerate(grants_of(scope, weighed, facts))
    ]
    granted = replace(context, grants=GrantBook((*context.grants, *tried)))
    return decide_for_subagent(facts, granted, above).verdict is Verdict.ALLOW
