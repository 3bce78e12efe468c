"""How long a yes lasts, as the wire spells it: `"once"`, `"always"`, or an object with one key."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from wcore.vocabulary import (
    Always,
    AlwaysExact,
    AlwaysHost,
    AlwaysPath,
    AlwaysPrefix,
    AlwaysPrefixes,
    AlwaysServer,
    Once,
    Scope,
)

SCOPE_TEXT_CHARS_MAX = 4096  # PATH_MAX on Linux; a prefix is shorter, a longer command not read
COMMAND_CHARS_MAX = 65_536  # a longer command is on no card; which ones can be kept is told
PREFIXES_MAX = 16  # of a set: more are not read before they are granted
ScopeText = Annotated[str, Field(max_length=SCOPE_TEXT_CHARS_MAX)]


SCOPE_FORMS = tuple(
    "once always always_exact always_prefix always_prefixes always_path always_server "
    "always_host".split()
)


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", defer_build=True)


class _Form(_Part):
    """One of the forms that are objects; one that holds two of them could be read as either."""

    @model_validator(mode="before")
    @classmethod
    def _is_one(cls, data: Any) -> Any:
        if _forms_in(data) > 1:
            raise ValueError("two forms in one")
        return data


def _forms_in(data: Any) -> int:
    return sum(form in data for form in SCOPE_FORMS) if isinstance(data, dict) else 0


class Prefix(_Part):
    prefix: ScopeText
    note: str | None = None


class Prefixes(_Part):
    prefixes: Annotated[list[ScopeText], Field(min_length=1, max_length=PREFIXES_MAX)]
    note: str | None = None


class Exact(_Part):
    command: Annotated[str, Field(max_length=COMMAND_CHARS_MAX)]
    note: str | None = None


class Path(_Part):
    root: ScopeText
    write: bool | None = None


class ServerName(_Part):
    server: ScopeText


class HostName(_Part):
    host: ScopeText


class PrefixScope(_Form):
    """`{"always_prefix": {"prefix": "cargo "}}`."""

    always_prefix: Prefix


class PrefixesScope(_Form):
    """`{"always_prefixes": {"prefixes": ["git add", "git commit"]}}`."""

    always_prefixes: Prefixes


class ExactScope(_Form):
    """`{"always_exact": {"command": "./build.sh --fast"}}`."""

    always_exact: Exact


class PathScope(_Form):
    """`{"always_path": {"root": "/data", "write": false}}`."""

    always_path: Path


class ServerScope(_Form):
    """`{"always_server": {"server": "github"}}`."""

    always_server: ServerName


class HostScope(_Form):
    """`{"always_host": {"host": "pypi.org"}}`."""

    always_host: HostName


WireScope: TypeAlias = (
    Literal["once", "always"]
    | PrefixScope
    | PrefixesScope
    | ExactScope
    | PathScope
    | ServerScope
    | HostScope
)


def from_wire(scope: WireScope | None) -> Scope:
    """Return the scope a host sent; absent means once."""
    match scope:
        case None | "once":
            return Once()
        case "always":
            return Always()
        case PrefixScope():
            return AlwaysPrefix(scope.always_prefix.prefix)
        case PrefixesScope():
            return AlwaysPrefixes(tuple(scope.always_prefixes.prefixes))
        case ExactScope():
            return AlwaysExact(scope.always_exact.command)
        case PathScope():
            return AlwaysPath(scope.always_path.root, scope.always_path.write or False)
        case ServerScope():
            return AlwaysServer(scope.always_server.server)
        case HostScope():
            return AlwaysHost(scope.always_host.host)


def to_wire(scope: Scope, note: str | None = None) -> WireScope:
    """Return the form that `tool_approve.scope` takes; `note` says what it means, for people."""
    match scope:
        case Once():
            return "once"
        case Always():
            return "always"
        case AlwaysPrefix(prefix):
            return PrefixScope(always_prefix=Prefix(prefix=prefix, note=note))
        case AlwaysPrefixes(prefixes):
            return PrefixesScope(always_prefixes=Prefixes(prefixes=list(prefixes), note=note))
        case AlwaysExact(command):
            return ExactScope(always_exact=Exact(command=command, note=note))
        case AlwaysPath(root, write):
            return PathScope(always_path=Path(root=root, write=write))
        case AlwaysServer(server):
            return ServerScope(always_server=ServerName(server=server))
        case AlwaysHost(host):
            return HostScope(always_host=HostName(host=host))
