"""The documented permission engine over tool names: session approvals, rules, default.

Its rules know nothing of arguments. The engine's own decision (`decide`) consults policy files
instead; this class is for hosts and tools that want the plain pipeline.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from wcore.policy.patterns import NamePattern
from wcore.vocabulary import Args, Verdict

#: What a call may do: `Permission.ALLOW`, `Permission.DENY`, `Permission.ASK`.
Permission = Verdict
_NO_ARGS: Final[Args] = {}


class PermissionRule(Struct, frozen=True):
    """A glob over the whole tool name; one that is not valid matches only itself."""

    tool_pattern: str
    permission: Permission

    def matches(self, tool_name: str) -> bool:
        return NamePattern(self.tool_pattern).matches(tool_name)


class PermissionEngine:
    """Three stages, the first with an answer wins: session approvals, rules in order, default."""

    def __init__(self, rules: Iterable[PermissionRule], default_permission: Permission) -> None:
        self._rules = tuple(rules)
        self._default = default_permission
        self._session_allows: set[str] = set()

    @classmethod
    def ask_by_default(cls, rules: Iterable[PermissionRule] = ()) -> "PermissionEngine":
        """Ask for everything that no rule is about."""
        return cls(rules, Permission.ASK)

    @classmethod
    def allow_all(cls) -> "PermissionEngine":
        """Allow everything: no checks at all."""
        return cls((), Permission.ALLOW)

    def record_session_allow(self, tool_name: str) -> None:
        """Allow this very tool from now on."""
        self._session_allows.add(tool_name)

    def evaluate(self, tool_name: str, args: Args = _NO_ARGS) -> Permission:
        """Return what a call may do. The arguments do not matter."""
        del args
        if tool_name in self._session_allows:
            return Permission.ALLOW
        for rule in self._rules:
            if rule.matches(tool_name):
                return rule.permission
        return self._default

    def is_allowed(self, tool_name: str, args: Args = _NO_ARGS) -> bool:
        return self.evaluate(tool_name, args) is Permission.ALLOW

    def needs_approval(self, tool_name: str, args: Args = _NO_ARGS) -> bool:
        return self.evaluate(tool_name, args) is Permission.ASK
