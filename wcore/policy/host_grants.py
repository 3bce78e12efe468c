"""Whether a grant may be given without a call: what `validate_scope` asks without one. Pure."""

from wcore.policy import shell
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import GrantBook, ScopeRefused, Weighed, validate_scope
from wcore.policy.protected import Places
from wcore.policy.rules.rule import FILE_TOOLS, SHELL_TOOL
from wcore.vocabulary import Access, Always, AlwaysPath, AlwaysPrefix, Category, Scope


def validate_host_grant(
    scope: Scope, tool: str, category: Category, places: Places, book: GrantBook
) -> Weighed | ScopeRefused:
    """Return whether `scope` may be granted for `tool`, as `validate_scope` tells for a call.

    `AlwaysPath.root` must be absolute and resolved.
    """
    match scope:
        case Always():
            return validate_scope(scope, Facts(tool, category), places, book)
        case AlwaysPath(root) if tool in FILE_TOOLS:
            inside = PathFact(root, Access.READ, inside=False)
            return validate_scope(scope, Facts(tool, category, (inside,)), places, book)
        case AlwaysPath():
            return ScopeRefused(f"a folder grant means nothing for {tool}")
        case AlwaysPrefix(prefix) if tool == SHELL_TOOL:
            full = validate_scope(Always(), Facts(tool, category), places, book)
            if isinstance(full, ScopeRefused):
                return full
            grant = shell.parse_grant(prefix)
            if isinstance(grant, shell.PrefixGrantRefused):
                return ScopeRefused(f"the prefix cannot be granted: {grant.reason}")
            return grant
        case AlwaysPrefix():
            return ScopeRefused(f"a command prefix means nothing for {tool}")
        case _:
            return ScopeRefused("a grant of this form can only be given with a call")
