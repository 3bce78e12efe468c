"""What people have said yes to beyond one call, and whether it covers a call. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from wcore.policy import exact_grants, shell
from wcore.policy.facts import Facts
from wcore.policy.protected import (
    Places,
    credential_folders_below,
    is_credential_folder,
    is_own,
    is_within,
)
from wcore.views import SandboxView, covers
from wcore.vocabulary import (
    Access,
    Always,
    AlwaysExact,
    AlwaysHost,
    AlwaysPath,
    AlwaysPrefix,
    AlwaysPrefixes,
    AlwaysServer,
    Category,
    Once,
    Persist,
    Pin,
    Scope,
    ServerTools,
)

GRANTS_MAX: Final = 1024  # more than a person can review
PATH_GRANTS_MAX: Final = 64  # each is consulted for each path of each call
PREFIXES_MAX: Final = 16  # of one set: more are not read before they are granted
MAIN_AGENT: Final = "main"
_LASTS: Final = {
    Persist.SESSION: "for this session",
    Persist.PROJECT: "for this project",
    Persist.USER: "for all projects",
}


class Grant(Struct, frozen=True):
    """One lasting yes. `scope` is never `Once` or a set; `created_at` is RFC 3339, UTC.

    `pin` and `ties` are those of the call it was given for; it covers calls with the same ones
    only. `ties` is for exact commands, see `exact_grants.ties_of`.
    """

    grant_id: str
    tool: str
    scope: Scope
    created_at: str
    from_call_id: str
    prefix: shell.PrefixGrant | None = None
    persist: Persist = Persist.SESSION
    agent: str = MAIN_AGENT
    uses: int = 0
    agent_digest: str | None = None  # of a sub-agent's definition
    pin: Pin | None = None
    ties: str | None = None

    @property
    def lasts(self) -> str:
        """How long the yes is kept, for people."""
        return _LASTS[self.persist]


class ScopeRefused(Struct, frozen=True):
    """The yes counts for this call only; `reason` says why, for people."""

    reason: str


#: What `validate_scope` finds: nothing more to say, the parsed prefixes that the scope spells, or
#: the tools that it covers.
Weighed: TypeAlias = shell.PrefixGrant | tuple[shell.PrefixGrant, ...] | ServerTools | None


class GrantBook:
    """All grants of a session, at most `GRANTS_MAX`; found by tool, because every call looks."""

    def __init__(self, grants: Iterable[Grant] = ()) -> None:
        self._put(grants)

    def __len__(self) -> int:
        return len(self._grants)

    def __iter__(self) -> Iterator[Grant]:
        return iter(tuple(self._grants.values()))

    def add(self, grant: Grant) -> Grant:
        """Enter `grant`; an equal one already there is given anew and returned instead."""
        for known in self:
            if _meaning(known) == _meaning(grant):
                renewed = replace(known, created_at=grant.created_at)
                self._put(renewed if each is known else each for each in self)
                return renewed
        self._put((*self, grant))
        return grant

    def replace_lasting(self, grants: Iterable[Grant]) -> None:
        """Put `grants` in the place of all that were to outlive the session."""
        kept = [g for g in self._grants.values() if g.persist is Persist.SESSION]
        self._put((*kept, *grants))

    def prolong(self, grants: Iterable[Grant]) -> None:
        """Let those of `grants` that are still here last as long as these say."""
        lasting = {grant.grant_id: grant.persist for grant in grants}
        self._put(replace(g, persist=lasting.get(g.grant_id, g.persist)) for g in tuple(self))

    def of_agent(self, agent: str, digest: str | None) -> "GrantBook":
        """Return the grants of one agent: they never cross to another, nor to another definition.

        The book is kept until grants change; uses are counted in this one.
        """
        key = (agent, digest)
        if key not in self._by_agent:
            own = (grant for grant in self if (grant.agent, grant.agent_digest) == key)
            self._by_agent[key] = GrantBook(own)
        return self._by_agent[key]

    def in_view(self, tool: str, view: SandboxView | None) -> "GrantBook":
        """Return the grants of a tool that count for a call in a view, as if given in that.

        The last book is kept until grants change.
        """
        if self._last_view is None or self._last_view[0] != (tool, view):
            pin = view.pin if view else None
            found = (g for g in self if g.tool == tool and covers(g.pin, view))
            self._last_view = (tool, view), GrantBook(replace(g, pin=pin) for g in found)
        return self._last_view[1]

    def find(self, grant_id: str) -> Grant | None:
        return self._grants.get(grant_id)

    def revoke(self, grant_id: str) -> bool:
        known = grant_id in self._grants
        if known:
            self._put(grant for grant in self if grant.grant_id != grant_id)
        return known

    def count_use(self, grant_id: str) -> None:
        if grant_id in self._grants:
            grant = self._grants[grant_id]
            self._grants[grant_id] = replace(grant, uses=grant.uses + 1)

    def by_name(self, tool: str, pin: Pin | None = None) -> Grant | None:
        """Return the grant of the tool's name; of an MCP tool, of exactly this version."""
        grant_id = self._names.get((tool, pin))
        return None if grant_id is None else self._grants[grant_id]

    def prefixes(self, tool: str) -> list[Grant]:
        """Return the prefix grants of one tool: grants never cross to another tool."""
        return [self._grants[grant_id] for grant_id in self._prefixes.get(tool, ())]

    def exact(self, tool: str, command: str, ties: str | None) -> Grant | None:
        """Return the grant of this very text, with the same ties."""
        grant_id = self._exacts.get((tool, command, ties))
        return None if grant_id is None else self._grants[grant_id]

    @property
    def has_exact(self) -> bool:
        return bool(self._exacts)

    def of_path(self, path: str) -> Grant | None:
        """Return a read grant of a folder that holds `path`."""
        for grant_id, root in self._folders:
            if is_within(path, root):
                return self._grants[grant_id]
        return None

    @property
    def path_count(self) -> int:
        return len(self._folders)

    def _put(self, grants: Iterable[Grant]) -> None:
        """Hold exactly `grants`. The index holds ids: a grant is replaced when its use counts."""
        self._grants: dict[str, Grant] = {grant.grant_id: grant for grant in grants}
        self._by_agent: dict[tuple[str, str | None], GrantBook] = {}
        self._last_view: tuple[tuple[str, SandboxView | None], GrantBook] | None = None
        self._names: dict[tuple[str, Pin | None], str] = {}
        self._prefixes: dict[str, list[str]] = {}
        self._exacts: dict[tuple[str, str, str | None], str] = {}
        self._folders: list[tuple[str, str]] = []
        for grant_id, grant in self._grants.items():
            if grant.prefix is not None:
                self._prefixes.setdefault(grant.tool, []).append(grant_id)
            elif isinstance(grant.scope, Always):
                named = (grant.tool, grant.pin)
                known = self._names.get(named)
                if known is None or self._grants[known].created_at <= grant.created_at:
                    self._names[named] = grant_id  # the youngest: it lifts the most
            elif isinstance(grant.scope, AlwaysPath):
                self._folders.append((grant_id, grant.scope.root))
            elif isinstance(grant.scope, AlwaysExact):
                key = (grant.tool, grant.scope.command, grant.ties)
                self._exacts.setdefault(key, grant_id)


def _meaning(grant: Grant) -> tuple[object, ...]:
    return grant.tool, grant.scope, grant.agent, grant.agent_digest, grant.pin, grant.ties


def is_of_project(scope: Scope) -> bool:
    """Whether a yes means something in the project it was given in only."""
    return isinstance(scope, AlwaysExact)


def grants_of(scope: Scope, weighed: Weighed, facts: Facts) -> list[Grant]:
    """Return what is kept of a scope that was weighed, of a set one grant each; without ids."""

    def grant(kept: Scope, prefix: shell.PrefixGrant | None = None) -> Grant:
        ties = exact_grants.ties_of(facts) if isinstance(kept, AlwaysExact) else None
        return Grant("", facts.tool, kept, "", "", prefix, pin=facts.pin, ties=ties)

    match weighed:
        case None:
            return [grant(scope)]
        case ServerTools(launch=launch, tools=tools):
            return [
                Grant("", tool, Always(), "", "", pin=(launch, schema)) for tool, schema in tools
            ]
        case shell.PrefixGrant():
            return [grant(AlwaysPrefix(weighed.text), weighed)]
        case _:
            return [grant(AlwaysPrefix(prefix.text), prefix) for prefix in weighed]


def validate_scope(
    scope: Scope, facts: Facts, places: Places, book: GrantBook
) -> Weighed | ScopeRefused:
    """Return whether `scope` may be kept after a yes to the call of `facts`.

    `None` means yes; for prefixes the parsed grants are returned, for a server its tools.
    `AlwaysPath.root` must be absolute and resolved. A scope that does not cover the very call it is
    given with is refused.
    """
    if isinstance(scope, Once):
        return None
    if len(book) + _count(scope, facts) > GRANTS_MAX:
        return ScopeRefused(f"there are {len(book)} of {GRANTS_MAX} grants; revoke some")
    match scope:
        case Always():
            return None
        case AlwaysPrefix(prefix):
            return _weigh_prefix(prefix, facts)
        case AlwaysPrefixes(prefixes):
            return _weigh_prefixes(prefixes, facts)
        case AlwaysExact(command):
            problem = exact_grants.why_not(command, facts)
            return None if problem is None else ScopeRefused(problem)
        case AlwaysPath():
            return _weigh_path(scope, facts, places, book)
        case AlwaysServer(server):
            return _weigh_server(server, facts)
        case AlwaysHost(host):
            proposed = facts.view.proposed if facts.view else ()
            return None if host in proposed else ScopeRefused(f"the call does not ask for {host!r}")


def _count(scope: Scope, facts: Facts) -> int:
    """Return how many grants `scope` would make, as far as that can be told before."""
    match scope:
        case AlwaysPrefixes(prefixes):
            return len(prefixes)
        case AlwaysServer() if facts.listed is not None:
            return len(facts.listed.tools)
        case _:
            return 1


def _weigh_server(server: str, facts: Facts) -> ServerTools | ScopeRefused:
    listed = facts.listed
    if listed is None or listed.server != server:
        return ScopeRefused("that is not the MCP server of this call")
    if (facts.tool, facts.pin) not in {(name, (listed.launch, d)) for name, d in listed.tools}:
        return ScopeRefused(f"{facts.tool} is not what the server lists any more")
    return listed


def _weigh_prefix(prefix: str, facts: Facts) -> shell.PrefixGrant | ScopeRefused:
    if facts.category is not Category.EXEC or facts.analysis is None:
        return ScopeRefused(f"a command prefix means nothing for {facts.tool}")
    grant = shell.parse_grant(prefix)
    if isinstance(grant, shell.PrefixGrantRefused):
        return ScopeRefused(f"the prefix cannot be granted: {grant.reason}")
    coverage = shell.matches(facts.analysis, [grant])
    if not coverage.covered:
        return ScopeRefused(f"the prefix does not cover this command ({coverage.reason})")
    return grant


def _weigh_prefixes(
    prefixes: tuple[str, ...], facts: Facts
) -> tuple[shell.PrefixGrant, ...] | ScopeRefused:
    """All or none: together they cover the text, and none of them could be left out of it."""
    if facts.category is not Category.EXEC or facts.analysis is None:
        return ScopeRefused(f"a command prefix means nothing for {facts.tool}")
    if not 1 <= len(prefixes) <= PREFIXES_MAX:
        return ScopeRefused(f"a set has 1 to {PREFIXES_MAX} prefixes, not {len(prefixes)}")
    grants: dict[str, shell.PrefixGrant] = {}
    for prefix in prefixes:
        grant = shell.parse_grant(prefix)
        if isinstance(grant, shell.PrefixGrantRefused):
            return ScopeRefused(f"a prefix of the set cannot be granted: {grant.reason}")
        grants[grant.text] = grant
    coverage = shell.matches(facts.analysis, list(grants.values()))
    if not coverage.covered:
        return ScopeRefused(f"the prefixes do not cover this command ({coverage.reason})")
    single = [shell.Analysis(facts.analysis.text, (each,)) for each in facts.analysis.commands]
    for grant in grants.values():
        if not any(shell.matches(command, [grant]).covered for command in single):
            return ScopeRefused(f"no command of this text begins with `{grant.text}`")
    return tuple(grants.values())


def _weigh_path(
    scope: AlwaysPath, facts: Facts, places: Places, book: GrantBook
) -> ScopeRefused | None:
    root = scope.root
    if scope.write:
        return ScopeRefused("folders are granted for reading only")
    if facts.category is not Category.INFO or not facts.paths:
        return ScopeRefused(f"a folder grant means nothing for {facts.tool}")
    if root == "/" or is_within(places.home, root):
        return ScopeRefused(f"{root} is, or contains, the home folder")
    if is_credential_folder(root) or credential_folders_below(root, places):
        return ScopeRefused(f"{root} holds credentials")
    if is_own(root, places) or any(is_within(own, root) for own in places.own):
        return ScopeRefused(f"{root} holds wcore's own files")
    if not all(is_within(f.path, root) and f.access is Access.READ for f in facts.paths):
        return ScopeRefused(f"{root} does not contain the path of this call")
    if book.path_count >= PATH_GRANTS_MAX:
        return ScopeRefused(f"there are {PATH_GRANTS_MAX} folder grants already; revoke some")
    return None
