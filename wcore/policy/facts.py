"""What the decision needs to know about a call, gathered from values: no disk, no clock."""

from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from wcore.policy import protected, shell
from wcore.policy.protected import Places
from wcore.policy.shell.paths.named_paths import paths_named
from wcore.policy.stops import Scan, scan
from wcore.views import SandboxView
from wcore.vocabulary import Category, PathAccess, PathFact, Pin, Prepared, ServerTools

__all__ = ["Facts", "PathFact", "gather", "of_access"]


class Facts(Struct, frozen=True, dict=True):
    """A call as the decision table sees it. `analysis` is set for tools that run shell text.

    `pin` says which version of an MCP tool it is; a yes to another one does not count. `command`
    is the shell text to the byte; `ties` is the digest of the scripts that it names, and of where
    the paths that it names lead, `UNTIED` where that cannot be told. `listed` are all tools of the
    server of an MCP tool. `view` is that of the sandbox.
    """

    tool: str
    category: Category
    paths: tuple[PathFact, ...] = ()
    analysis: shell.Analysis | None = None
    pin: Pin | None = None
    command: str | None = None
    ties: str | None = None
    listed: ServerTools | None = None
    view: SandboxView | None = None

    @cached_property
    def seen(self) -> Scan | None:
        """What the shell text may start; read once, however often the call is decided."""
        return None if self.analysis is None else scan(self.analysis)


class Studied(Struct, frozen=True):
    """A call with all that was found out about it; `facts` are what follows for the decision.

    `analysis` is what its shell text says by itself.
    """

    prepared: Prepared
    facts: Facts
    analysis: shell.Analysis | None = None


def gather(
    prepared: Prepared,
    analysis: shell.Analysis | None,
    places: Places,
    ties: str | None = None,
) -> Facts:
    """Return the facts of one prepared call.

    Where nobody looked for the paths that a shell text names, they are taken from the text alone.
    """
    paths = [of_access(touch, places) for touch in prepared.accesses]
    if prepared.named is not None:
        paths += prepared.named
    elif prepared.command is not None:
        paths += paths_named(prepared.command, places)
    if analysis is not None and prepared.programs:
        analysis = replace(analysis, programs=prepared.programs)
    if analysis is not None and prepared.folders:
        analysis = shell.in_folders(analysis, prepared.folders)
    return Facts(
        prepared.tool,
        prepared.category,
        tuple(paths),
        analysis,
        prepared.pin,
        prepared.command,
        ties,
        prepared.listed,
        prepared.sandbox,
    )


def of_access(touch: PathAccess, places: Places) -> PathFact:
    """Return what is known of one resolved path."""
    return PathFact(
        touch.path,
        touch.access,
        inside=protected.is_within(touch.path, places.workspace),
        protected=protected.protection(touch.path, touch.access, places),
        own=protected.is_own(touch.path, places),
    )
