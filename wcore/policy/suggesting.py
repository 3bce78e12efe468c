"""Which lasting yes a card offers: only one that would have spared this very question."""

import posixpath
from typing import Final

from msgspec.structs import replace

from wcore.policy import shell
from wcore.policy.decide import Standing, decide
from wcore.policy.facts import Facts
from wcore.policy.grants import Grant, GrantBook, ScopeRefused, weigh
from wcore.policy.protected import Places
from wcore.vocabulary import AlwaysPath, AlwaysPrefix, Scope, Verdict

_TRIED: Final = "tried"  # the id of a grant that is only imagined


def suggest(facts: Facts, standing: Standing, places: Places) -> list[Scope]:
    """Return narrow scopes, at most `shell.SUGGESTIONS_MAX`, each one grantable.

    With any of them in force the call would have been allowed: what asks whatever was granted
    (a protected path, a question, a command with somebody else's rights) has no suggestion.
    """
    spares = (scope for scope in scopes_for(facts) if _spares(scope, facts, standing, places))
    return list(spares)[: shell.SUGGESTIONS_MAX]


def scopes_for(facts: Facts) -> list[Scope]:
    """Return the narrow scopes that may cover a call; none has been weighed."""
    found: list[Scope] = []
    if facts.analysis is not None:
        found += [AlwaysPrefix(text) for text in shell.suggest(facts.analysis)]
    outside = {path.path for path in facts.paths if not path.inside}
    if len(outside) == 1:
        found.append(AlwaysPath(posixpath.dirname(outside.pop())))
    return found


def _spares(scope: Scope, facts: Facts, standing: Standing, places: Places) -> bool:
    prefix = weigh(scope, facts, places, standing.grants)
    if isinstance(prefix, ScopeRefused):
        return False
    grant = Grant(_TRIED, facts.tool, scope, "", "", prefix=prefix)
    granted = replace(standing, grants=GrantBook((*standing.grants, grant)))
    return decide(facts, granted).verdict is Verdict.ALLOW
