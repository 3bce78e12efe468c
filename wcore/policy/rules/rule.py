"""One rule of a policy file: `Tool(spec)`, a verdict, perhaps an agent. Parsed here, matched here.

A rule that allows must fit the whole call: all its paths, all its commands. A rule that asks or
denies needs one path or one command of it.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from wcore.policy import patterns, shell
from wcore.policy.patterns import PatternError
from wcore.policy.protected import Places, is_within
from wcore.policy.rules.command_globs import CommandGlob, RuleError, parse_command_glob
from wcore.vocabulary import Category, Verdict

SHELL_TOOL: Final = "Bash"
FILE_TOOLS: Final = ("Read", "Write", "Edit", "MultiEdit", "Delete", "LS", "Glob", "Grep")
TARGETS_MAX: Final = 256  # what one group may stand for

Resolve = Callable[[str], str]  # a folder to its real path

#: What stands for several tools; `[groups]` of a file adds more, never redefines these.
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "@file": FILE_TOOLS,
    "@git": ("git", "git_*", "mcp__git__*", "Bash(git)"),
}
CATEGORIES: Final = {f"@{category}": category for category in Category}


class Level(StrEnum):
    """Whose file it is, from the most to the least trusted."""

    MANAGED = "managed"
    USER = "user"
    PROJECT = "project"


class ToolPart(Struct, frozen=True):
    """Which tools: a glob over the whole name, or all of one category."""

    text: str
    category: Category | None = None

    def fits(self, tool: str, category: Category) -> bool:
        if self.category is not None:
            return category is self.category
        return patterns.name_glob(self.text).match(tool) is not None


class PathSpec(Struct, frozen=True):
    """Where. `keys`, without case: the folder in which each expression matches, and an ending."""

    keys: tuple[tuple[str, str], ...]
    expressions: tuple[re.Pattern[str], ...]
    is_absolute: bool = False  # as it was written: `/…` or `~/…`

    def fits(self, path: str) -> bool:
        return any(expression.match(path) for expression in self.expressions)


class Target(Struct, frozen=True):
    """One thing that a rule is about. Without a spec: every call of the tools."""

    tools: ToolPart
    paths: PathSpec | None = None
    grant: shell.PrefixGrant | None = None  # commands that a rule allows
    stop: CommandGlob | None = None  # commands that a rule asks about or denies

    @property
    def is_bare(self) -> bool:
        return self.paths is None and self.grant is None and self.stop is None


class Rule(Struct, frozen=True):
    """A rule as it was written, and what it is about. `source` is `path:line`."""

    text: str
    verdict: Verdict
    source: str
    level: Level
    targets: tuple[Target, ...]
    agent: str | None = None
    bare: bool = True  # whether it was written without `(spec)`
    always: bool = False  # written so: for a rule that asks or denies
    since: str = ""  # when it came to be there, see `ParseContext.since`
    pin: tuple[str, str] | None = None  # what calls may reach that it allows, see `views.covers`

    @property
    def stands(self) -> bool:
        """Whether no grant, override or tier lifts it, where it asks or denies."""
        return self.always or not self.bare or self.level is Level.MANAGED

    def is_about_absolute(self, path: str) -> bool:
        """Whether `path` fits a spec that was written as an absolute one."""
        specs = (target.paths for target in self.targets)
        return any(spec and spec.is_absolute and spec.fits(path) for spec in specs)

    def is_for(self, agent: str) -> bool:
        return self.agent is None or patterns.name_glob(self.agent).match(agent) is not None


class ParseContext(Struct, frozen=True):
    """What the text of a rule is relative to.

    `since` tells from when on there has been such a deny: a yes of before was no answer to it.
    A time as grants have it, or `""`: it has always been there.
    """

    places: Places
    groups: Mapping[str, tuple[str, ...]]
    resolve: Resolve = posixpath.normpath
    since: Callable[[Level, str], str] = lambda _level, _text: ""


def parse_targets(text: str, do: Verdict, context: ParseContext) -> tuple[Target, ...]:
    """Return what `text`, a `Tool(spec)`, is about.

    Raises:
        RuleError: it is no rule, or one that could never match.
    """
    spelling = _Spelling(context.groups)
    spelling.add(*split(text))
    found = tuple(_target(name, spec, do, context) for name, spec in spelling.found)
    if not found:
        raise RuleError(f"{text!r} stands for nothing")
    return found


def split(text: str) -> tuple[str, str | None]:
    """Return tool part and spec of a `Tool(spec)`; the spec runs to the last `)`."""
    name, bracket, rest = text.strip().partition("(")
    if not bracket:
        return name, None
    if not rest.endswith(")"):
        raise RuleError(f"{text!r}: the `(` is not closed at the end")
    spec = rest[:-1].strip()
    if not spec:
        raise RuleError(f"{text!r}: nothing stands between the brackets; write {name!r}")
    return name.strip(), spec


class _Spelling:
    """Replaces groups by what they stand for; each group is looked into once."""

    def __init__(self, groups: Mapping[str, tuple[str, ...]]) -> None:
        self.found: dict[tuple[str, str | None], None] = {}
        self._groups = groups
        self._seen: set[tuple[str, str | None]] = set()

    def add(self, name: str, spec: str | None, above: tuple[str, ...] = ()) -> None:
        if not name.startswith("@") or name in CATEGORIES:
            self.found[name, spec] = None
        elif name in above:
            raise RuleError(f"the group {name!r} contains itself")
        elif (name, spec) not in self._seen:
            self._seen.add((name, spec))
            for member in self._members(name):
                inner, own = split(member)
                if own is None or spec is None:  # else the member says already what it is about
                    self.add(inner, own or spec, (*above, name))
        if len(self.found) > TARGETS_MAX:
            raise RuleError(f"{name!r} stands for more than {TARGETS_MAX} tools")

    def _members(self, name: str) -> tuple[str, ...]:
        members = GROUPS.get(name) or self._groups.get(name)
        if members is None:
            known = ", ".join(sorted([*CATEGORIES, *GROUPS, *self._groups]))
            raise RuleError(f"there is no group {name!r}; groups are {known}")
        return members


def _target(name: str, spec: str | None, do: Verdict, context: ParseContext) -> Target:
    tools = _tool_part(name)
    if spec is None:
        return Target(tools)
    about_files = any(_may_be(tools, tool) for tool in FILE_TOOLS)
    about_shell = _may_be(tools, SHELL_TOOL)
    if about_files == about_shell:
        both = "both paths and commands" if about_files else "neither paths nor commands"
        raise RuleError(f"{name}({spec}): the tools {name!r} take {both}, so `(…)` has no meaning")
    if about_files:
        return Target(tools, paths=_path_spec(spec, do, context))
    if do is Verdict.ALLOW:
        grant = shell.parse_grant(spec)
        if isinstance(grant, shell.PrefixGrantRefused):
            raise RuleError(f"{name}({spec}) cannot be allowed: {grant.reason}")
        return Target(tools, grant=grant)
    return Target(tools, stop=parse_command_glob(spec))


def _tool_part(name: str) -> ToolPart:
    if name in CATEGORIES:
        return ToolPart(name, CATEGORIES[name])
    try:
        patterns.name_glob(name)
    except PatternError as error:
        raise RuleError(f"{name!r} is no tool pattern: {error}") from error
    if not name.isascii():
        raise RuleError(f"{name!r} has letters outside ASCII, which no tool's name has")
    return ToolPart(name)


def _may_be(tools: ToolPart, tool: str) -> bool:
    if tool == SHELL_TOOL:
        return tools.fits(tool, Category.EXEC)
    return any(tools.fits(tool, category) for category in (Category.INFO, Category.EDIT))


def _path_spec(spec: str, do: Verdict, context: ParseContext) -> PathSpec:
    """Compile a path glob; a rule that stops also knows where links in its folders lead.

    A link in the workspace must not carry an allow elsewhere, nor a denied file out of reach.
    """
    stops = do is not Verdict.ALLOW
    absolute = _absolute(spec, context.places)
    globs = [absolute]
    try:
        patterns.path_glob(absolute)
        folder = patterns.literal_folder(absolute)
        real = context.resolve(folder)
        if real != folder and (stops or not is_within(folder, context.places.workspace)):
            globs.append(real.rstrip("/") + absolute.removeprefix(folder.rstrip("/")))
        expressions = tuple(patterns.path_glob(glob, stops=stops) for glob in globs)
    except PatternError as error:
        raise RuleError(f"{spec!r} is no path pattern: {error}") from error
    keys = tuple((patterns.literal_folder(glob), patterns.literal_tail(glob)) for glob in globs)
    folded = tuple((f.casefold(), tail.casefold()) for f, tail in keys)
    return PathSpec(folded, expressions, is_absolute=spec.startswith(("/", "~")))


def _absolute(spec: str, places: Places) -> str:
    if spec == "~" or spec.startswith("~/"):
        return _literal(places.home) + spec[1:]
    if spec.startswith("~"):
        raise RuleError(f"{spec!r}: `~` stands for the own home only; write the folder out")
    if spec.startswith("/"):
        return spec
    if spec in (".", "./"):
        spec = "**"
    return f"{_literal(places.workspace)}/{spec.removeprefix('./')}"


def _literal(path: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", path.rstrip("/"))
