"""A policy file: TOML text in, checked values out, each with the line it came from.

Nothing is read from disk here. Whatever is not understood is an error with file, line and
reason; a file is never taken in parts.
"""

import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final, TypeVar

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import replace

from wcore.hosts import HOSTS_MAX, agreed, one_host
from wcore.policy import patterns
from wcore.policy.patterns import PatternError
from wcore.policy.rules.mcp_tables import SERVERS_MAX, ServerTable, Text, WrittenServer, placed
from wcore.policy.rules.policy_file import Limits, PolicyError, PolicyFile, RuleTest
from wcore.policy.rules.rule import (
    CATEGORIES,
    GROUPS,
    Level,
    ParseContext,
    Rule,
    RuleError,
    parse_targets,
    split,
)
from wcore.policy.rules.toml_lines import Lines, locate
from wcore.views import ASKED_MAX, NONE, WORKSPACE, SandboxView
from wcore.vocabulary import MODE_ALIASES, Mode, Verdict

FILE_BYTES_MAX: Final = 256 * 1024  # some thousand rules; reading more is a way to stall us
RULES_MAX: Final = 4096  # more than a person can keep in order
TARGETS_MAX: Final = 16_384  # of all rules together: some groups in every one of them
KEY_PARTS_MAX: Final = 32  # ours have three; the time that a key takes grows with the square
GROUPS_MAX: Final = 256  # more than a person can keep in mind
TTL_S_MAX: Final = 7 * 24 * 3600.0  # a card that waits longer is forgotten by everybody
SHOWN_CHARS_MAX: Final = 120  # of somebody's text in an error message

_ENDLESS_KEY: Final = re.compile(
    rf"""(?<![\w-])(?>(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{KEY_PARTS_MAX}}}"""
)
_AT_LINE: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_GROUP_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")

#: What msgspec says of a value, and where it stands: `$.rule[0].do`.
_PROBLEM: Final = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<where>[^`]*)`)?", re.DOTALL)
_STEP: Final = re.compile(r"\.(\w+)|\[([0-9]+)\]")
_KEY: Final = re.compile(
    r"Object (?P<is>contains unknown|missing required) field `(?P<key>.*)`", re.DOTALL
)
_KIND: Final = re.compile(r"Expected `(\w+)(?: \| null)?`(?:, got .*| matching .*)")
_NO_VERDICT: Final = "Invalid enum value "
_KINDS: Final = {
    "str": "a text",
    "array": "a list",
    "object": "a table",
    "float": "a number",
    "bool": "true or false",
}

_Path = tuple[str | int, ...]
_T = TypeVar("_T")


class _Rule(Struct, frozen=True, forbid_unknown_fields=True):
    match: Text
    do: Verdict
    agent: Text | None = None
    always: bool = False
    hosts: Annotated[list[Text], Meta(max_length=ASKED_MAX)] = []
    outside_sandbox: bool = False


class _Test(Struct, frozen=True, forbid_unknown_fields=True):
    call: Text
    expect: Verdict
    mode: Text = "default"
    agent: Text | None = None


class _Limits(Struct, frozen=True, forbid_unknown_fields=True):
    max_mode: Text | None = None
    grants: bool | Annotated[int, Meta(ge=0)] | None = None
    ttl: Annotated[float, Meta(gt=0, le=TTL_S_MAX)] | None = None
    store: Text | None = None


class _Sandbox(Struct, frozen=True, forbid_unknown_fields=True):
    hosts: Annotated[list[Text], Meta(max_length=HOSTS_MAX)] | None = None


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    default: Verdict | None = None
    deny: list[Text] = []
    rule: list[_Rule] = []
    groups: Annotated[dict[str, Any], Meta(max_length=GROUPS_MAX)] = {}
    limits: _Limits = _Limits()
    test: list[_Test] = []
    mcp: Annotated[list[WrittenServer], Meta(max_length=SERVERS_MAX)] = []
    sandbox: _Sandbox = _Sandbox()


_TABLES: Final = {
    **{"": _File, "rule": _Rule, "test": _Test, "limits": _Limits, "mcp": WrittenServer},
    "sandbox": _Sandbox,
}


def parse(text: str, path: str, level: Level, context: ParseContext) -> PolicyFile:
    """Return the policy that `text`, the content of the file `path`, spells.

    Raises:
        PolicyError: it is no TOML, or holds anything that is not understood.
    """
    import tomllib  # noqa: PLC0415 - `ready` waits two milliseconds for it, most have no file

    if len(text) > FILE_BYTES_MAX:
        raise PolicyError(path, 1, f"the file is longer than {FILE_BYTES_MAX} bytes")
    endless = _ENDLESS_KEY.search(text)
    if endless:
        line = text.count("\n", 0, endless.start()) + 1
        raise PolicyError(path, line, f"a key has more than {KEY_PARTS_MAX} parts")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(path, text, str(error)) from error
    except RecursionError as error:
        raise PolicyError(path, 1, "it is nested too deeply") from error
    return _Checked(path, level, context, locate(text)).file(tables)


def _not_toml(path: str, text: str, message: str) -> PolicyError:
    place = _AT_LINE.search(message)
    end = text.count("\n") + 1
    line = int(place[1]) if place and place[1] else end
    return PolicyError(path, line, f"not TOML: {_AT_LINE.sub('', message)}")


class _Checked:
    """The tables of one file while they are checked."""

    def __init__(self, path: str, level: Level, context: ParseContext, lines: Lines) -> None:
        self._path, self._level, self._context, self._lines = path, level, context, lines
        self._named = 0  # tools by rules, groups included

    def file(self, tables: dict[str, Any]) -> PolicyFile:
        written = self._converted(tables, _File)
        self._context = replace(self._context, groups=self._groups(written.groups))
        denies = enumerate(written.deny)
        deny = [self._rule(("deny", index), text, Verdict.DENY) for index, text in denies]
        rules = [self._ordered(index, table) for index, table in enumerate(written.rule)]
        if len(deny) + len(rules) > RULES_MAX:
            raise self._wrong(("rule",), f"there are more than {RULES_MAX} rules")
        tests = [self._test(index, table) for index, table in enumerate(written.test)]
        default = written.default
        by_default = None if default is None else (default, self._source(("default",)))
        return PolicyFile(
            self._level,
            self._path,
            tuple(deny),
            tuple(rules),
            by_default,
            self._limits(written.limits),
            tuple(tests),
            tuple(self._servers(written.mcp)),
            self._hosts(written.sandbox.hosts),
        )

    # --- the parts --------------------------------------------------------------------------------

    def _groups(self, table: dict[str, Any]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for name, members in table.items():
            key, where = f"@{name.removeprefix('@')}", ("groups", name)
            if not _GROUP_NAME.fullmatch(key[1:]):
                raise self._wrong(where, f"a group is named by letters and digits, not {name!r}")
            if key in GROUPS or key in CATEGORIES:
                raise self._wrong(where, f"the group {key} is built in")
            found[key] = self._converted(members, tuple[Text, ...], where)
            if not members:
                raise self._wrong(where, f"the group {name!r} must be a list of tools")
        for name, members in found.items():
            for index, member in enumerate(members):
                self._try(("groups", name[1:], index), lambda text=member: split(text))
        return found

    def _rule(self, where: _Path, text: str, do: Verdict, agent: str | None = None) -> Rule:
        targets = self._try(where, lambda: parse_targets(text, do, self._context))
        self._named += len(targets)
        if self._named > TARGETS_MAX:
            text = f"up to here, groups included, the rules name more than {TARGETS_MAX} tools"
            raise self._wrong(where, text)
        bare = all(target.is_bare for target in targets)
        return Rule(text, do, self._source(where), self._level, targets, agent, bare)

    def _ordered(self, index: int, table: _Rule) -> Rule:
        where, do, agent = ("rule", index), table.do, table.agent
        self._check_agent(where, agent)
        rule = self._rule((*where, "match"), table.match, do, agent)
        if table.always and do is Verdict.ALLOW:
            text = "`always` is for rules that ask or deny: it stops lifting them"
            raise self._wrong((*where, "always"), text)
        pin = self._pin(where, table, rule) if table.hosts or table.outside_sandbox else None
        rule = replace(rule, source=self._source(where), always=table.always, pin=pin)
        if do is Verdict.DENY and not rule.stands:
            named = table.match if agent is None else f"{table.match} for {agent}"
            rule = replace(rule, since=self._context.since(self._level, named))
        return rule

    def _pin(self, where: _Path, table: _Rule, rule: Rule) -> tuple[str, str]:
        if self._level is Level.PROJECT or not all(target.grant for target in rule.targets):
            text = "`hosts` and `outside_sandbox` are for rules of your own that allow a command"
            raise self._wrong(where, text)
        hosts = list[str]()
        for index, host in enumerate(table.hosts):
            hosts += [self._try((*where, "hosts", index), lambda text=host: one_host(text))]
        view = NONE if table.outside_sandbox else WORKSPACE
        return SandboxView(view, proposed=tuple(hosts)).pin

    def _test(self, index: int, table: _Test) -> RuleTest:
        where = ("test", index)
        self._try((*where, "call"), lambda: split(table.call))
        self._check_agent(where, table.agent)
        mode = self._mode((*where, "mode"), table.mode)
        return RuleTest(table.call, table.expect, self._source(where), mode, table.agent)

    def _servers(self, tables: list[WrittenServer]) -> Iterator[ServerTable]:
        for index, table in enumerate(tables):
            server = placed(table, self._source(("mcp", index)))
            if server is None:
                raise self._wrong(("mcp", index), "a server has either `command` or `url`")
            yield server

    def _hosts(self, hosts: list[str] | None) -> tuple[str, ...] | None:
        if hosts is None:
            return None
        if self._level is Level.PROJECT:
            text = "`hosts` belongs into your own file: a project does not say what it may reach"
            raise self._wrong(("sandbox", "hosts"), text)
        for index, host in enumerate(hosts):
            self._try(("sandbox", "hosts", index), lambda text=host: agreed(text))
        return tuple(hosts)

    def _limits(self, table: _Limits) -> Limits:
        if table.store and self._level is not Level.MANAGED:
            text = "`store` belongs into the administrator's file"
            raise self._wrong(("limits", "store"), text)
        if table.store not in (None, "required"):
            raise self._wrong(("limits", "store"), '`store` is "required", or left out')
        mode, grants = table.max_mode, table.grants
        return Limits(
            Mode.FORCE if mode is None else self._mode(("limits", "max_mode"), mode),
            None if grants is True else 0 if grants is False else grants,
            table.ttl,
            bool(table.store),
        )

    def _check_agent(self, where: _Path, agent: str | None) -> None:
        try:
            patterns.name_glob(agent or "*")
        except PatternError as error:
            raise self._wrong((*where, "agent"), f"agent {agent!r}: {error}") from error

    def _mode(self, where: _Path, text: str) -> Mode:
        if text not in MODE_ALIASES:
            raise self._wrong(where, f"unknown mode {_short(text)}; modes are {', '.join(Mode)}")
        return MODE_ALIASES[text]

    # --- what is wrong ----------------------------------------------------------------------------

    def _converted(self, value: object, kind: type[_T], above: _Path = ()) -> _T:
        try:
            return convert(value, kind)
        except ValidationError as error:
            problem = _PROBLEM.fullmatch(str(error))
            assert problem is not None
            steps = _STEP.findall(problem["where"] or "")
            where = (*above, *(name or int(index) for name, index in steps))
            raise self._wrong(*_said(problem["what"], where)) from error

    def _try(self, where: _Path, parse: Callable[[], _T]) -> _T:
        try:
            return parse()
        except (RuleError, ValueError) as error:
            raise self._wrong(where, str(error)) from error

    def _source(self, where: _Path) -> str:
        return f"{self._path}:{self._lines.of(*where)}"

    def _wrong(self, where: _Path, reason: str) -> PolicyError:
        return PolicyError(self._path, self._lines.of(*where), reason)


def _said(what: str, where: _Path) -> tuple[_Path, str]:
    """Return where a value is wrong, and how, for people."""
    if key := _KEY.fullmatch(what):
        table = str(where[0]) if where else ""
        if key["is"].startswith("missing"):
            return (*where, key["key"]), f"`{key['key']}` is missing"
        place, known = f" in `{table}`" if table else "", _TABLES[table].__struct_fields__
        text = f"unknown key {_short(key['key'])}{place}; keys are {', '.join(known)}"
        return (*where, key["key"]), text
    name = next((part for part in reversed(where) if isinstance(part, str)), "it")
    if kind := _KIND.fullmatch(what):
        return where, f"`{name}` must be {_KINDS.get(kind[1], kind[1])}"
    if what.startswith(_NO_VERDICT):
        known = ", ".join(Verdict)
        return where, f"`{name}` is one of {known}, not {what.removeprefix(_NO_VERDICT)}"
    return where, f"`{name}`: {what}"


def _short(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "…")
