"""Which of the grants covers a call, if one does. Pure."""

from wcore.policy import exact_grants, shell
from wcore.policy.facts import Facts
from wcore.policy.grants import Grant, GrantBook
from wcore.vocabulary import Access, Category


def find_covering_grant(facts: Facts, grants: GrantBook) -> Grant | None:
    """Return a grant that covers the whole call: by name, text, prefix, or folder."""
    whole = grants.by_name(facts.tool, facts.pin) or granted_exactly(facts, grants)
    if whole is not None:
        return whole
    prefixes = grants.prefixes(facts.tool)
    if prefixes and facts.analysis is not None:
        parsed = [grant.prefix for grant in prefixes if grant.prefix]
        if shell.matches(facts.analysis, parsed).covered:
            return prefixes[0] if len(prefixes) == 1 else _first_used(facts.analysis, prefixes)
    if facts.category is Category.INFO and facts.paths:
        found = [grants.of_path(path.path) for path in facts.paths]
        if all(found) and all(path.access is Access.READ for path in facts.paths):
            return found[0]
    return None


def granted_exactly(facts: Facts, grants: GrantBook) -> Grant | None:
    """Return the grant of this very text; what it runs and where it leads must be the same too."""
    if facts.command is None or not grants.has_exact or exact_grants.is_apart(facts):
        return None
    return grants.exact(facts.tool, facts.command, exact_grants.ties_of(facts))


def _first_used(analysis: shell.Analysis, prefixes: list[Grant]) -> Grant:
    first = shell.Analysis(analysis.text, analysis.commands[:1])
    return next(g for g in prefixes if g.prefix and shell.matches(first, [g.prefix]).covered)
