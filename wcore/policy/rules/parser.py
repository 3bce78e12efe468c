"""A policy file: TOML text in, checked values out, each with the line it came from.

Nothing is read from disk here. Whatever is not understood is an error with file, line and
reason; a file is never taken in parts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from wcore.policy import patterns
from wcore.policy.patterns import PatternError
from wcore.policy.rules.mcp_tables import KEYS, SERVERS_MAX, ServerTable, parse_server
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
from wcore.vocabulary import MODE_ALIASES, Mode, Verdict

FILE_BYTES_MAX: Final = 256 * 1024  # some thousand rules; reading more is a way to stall us
RULES_MAX: Final = 4096  # more than a person can keep in order
TARGETS_MAX: Final = 16_384  # of all rules together: some groups in every one of them
KEY_PARTS_MAX: Final = 32  # ours have three; the time that a key takes grows with the square
GROUPS_MAX: Final = 256  # more than a person can keep in mind
TTL_S_MAX: Final = 7 * 24 * 3600.0  # a card that waits longer is forgotten by everybody
SHOWN_CHARS_MAX: Final = 120  # of somebody's text in an error message

_KEYS: Final = ("default", "deny", "rule", "groups", "limits", "test", "mcp")
_ENDLESS_KEY: Final = re.compile(
    rf"""(?<![\w-])(?>(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{KEY_PARTS_MAX}}}"""
)
_AT_LINE: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_GROUP_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


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
    return _Checked(path, level, context, tables, locate(text)).file()


def _not_toml(path: str, text: str, message: str) -> PolicyError:
    place = _AT_LINE.search(message)
    end = text.count("\n") + 1
    line = int(place[1]) if place and place[1] else end
    return PolicyError(path, line, f"not TOML: {_AT_LINE.sub('', message)}")


class _Checked(Struct):
    """The tables of one file while they are checked."""

    path: str
    level: Level
    context: ParseContext
    tables: dict[str, Any]
    lines: Lines
    named: int = 0  # tools by rules, groups included

    def file(self) -> PolicyFile:
        self._only("", (), self.tables, _KEYS)
        self.context = replace(self.context, groups=self._groups())
        deny = [
            self._rule(("deny", index), self._text(("deny", index), text), Verdict.DENY)
            for index, text in enumerate(self._list("deny"))
        ]
        rules = [self._ordered(index, table) for index, table in enumerate(self._tables("rule"))]
        if len(deny) + len(rules) > RULES_MAX:
            raise self._wrong(("rule",), f"there are more than {RULES_MAX} rules")
        tests = [self._test(index, table) for index, table in enumerate(self._tables("test"))]
        return PolicyFile(
            self.level,
            self.path,
            tuple(deny),
            tuple(rules),
            self._default(),
            self._limits(),
            tuple(tests),
            tuple(self._servers()),
        )

    # --- the parts --------------------------------------------------------------------------------

    def _groups(self) -> dict[str, tuple[str, ...]]:
        table = self._table("groups")
        if len(table) > GROUPS_MAX:
            raise self._wrong(("groups",), f"there are more than {GROUPS_MAX} groups")
        found: dict[str, tuple[str, ...]] = {}
        for name, members in table.items():
            key, where = f"@{name.removeprefix('@')}", ("groups", name)
            if not _GROUP_NAME.fullmatch(key[1:]):
                raise self._wrong(where, f"a group is named by letters and digits, not {name!r}")
            if key in GROUPS or key in CATEGORIES:
                raise self._wrong(where, f"the group {key} is built in")
            if not isinstance(members, list) or not members:
                raise self._wrong(where, f"the group {name!r} must be a list of tools")
            listed = cast("list[Any]", members)
            found[key] = tuple(self._text((*where, i), m) for i, m in enumerate(listed))
        for name, members in found.items():
            for index, member in enumerate(members):
                self._try(("groups", name[1:], index), lambda text=member: split(text))
        return found

    def _rule(
        self, where: tuple[str | int, ...], text: str, do: Verdict, agent: str | None = None
    ) -> Rule:
        targets = self._try(where, lambda: parse_targets(text, do, self.context))
        self.named += len(targets)
        if self.named > TARGETS_MAX:
            text = f"up to here, groups included, the rules name more than {TARGETS_MAX} tools"
            raise self._wrong(where, text)
        bare = all(target.is_bare for target in targets)
        return Rule(text, do, self._source(where), self.level, targets, agent, bare)

    def _ordered(self, index: int, table: dict[str, Any]) -> Rule:
        where = ("rule", index)
        self._only("rule", where, table, ("match", "do", "agent", "always"))
        text = self._text((*where, "match"), table.get("match"))
        do = self._verdict((*where, "do"), table.get("do"))
        agent = self._agent(where, table)
        rule = self._rule((*where, "match"), text, do, agent)
        always = self._always((*where, "always"), table.get("always", False), do)
        rule = replace(rule, source=self._source(where), always=always)
        if do is Verdict.DENY and not rule.stands:
            named = text if agent is None else f"{text} for {agent}"
            rule = replace(rule, since=self.context.since(self.level, named))
        return rule

    def _always(self, where: tuple[str | int, ...], value: object, do: Verdict) -> bool:
        if not isinstance(value, bool):
            raise self._wrong(where, "`always` is true or false")
        if value and do is Verdict.ALLOW:
            raise self._wrong(
                where, "`always` is for rules that ask or deny: it stops lifting them"
            )
        return value

    def _test(self, index: int, table: dict[str, Any]) -> RuleTest:
        where = ("test", index)
        self._only("test", where, table, ("call", "expect", "mode", "agent"))
        call = self._text((*where, "call"), table.get("call"))
        self._try((*where, "call"), lambda: split(call))
        expect = self._verdict((*where, "expect"), table.get("expect"))
        mode = self._mode((*where, "mode"), table.get("mode", "default"))
        return RuleTest(call, expect, self._source(where), mode, self._agent(where, table))

    def _servers(self) -> Iterator[ServerTable]:
        tables = self._tables("mcp")
        if len(tables) > SERVERS_MAX:
            raise self._wrong(("mcp",), f"there are more than {SERVERS_MAX} servers")
        for index, table in enumerate(tables):
            self._only("mcp", ("mcp", index), table, KEYS)
            yield parse_server(index, table, self._source(("mcp", index)), self._wrong)

    def _default(self) -> tuple[Verdict, str] | None:
        if "default" not in self.tables:
            return None
        return self._verdict(("default",), self.tables["default"]), self._source(("default",))

    def _limits(self) -> Limits:
        table = self._table("limits")
        self._only("limits", ("limits",), table, ("max_mode", "grants", "ttl", "store"))
        found = Limits()
        if "max_mode" in table:
            mode = self._mode(("limits", "max_mode"), table["max_mode"])
            found = replace(found, max_mode=mode)
        if "grants" in table:
            found = replace(found, grants=self._grants(table["grants"]))
        ttl = table.get("ttl")
        if ttl is not None:
            if (
                isinstance(ttl, bool)
                or not isinstance(ttl, int | float)
                or not 0 < ttl <= TTL_S_MAX
            ):
                raise self._wrong(("limits", "ttl"), "`ttl` is a number of seconds above 0")
            found = replace(found, ttl_s=float(ttl))
        if "store" in table:
            found = replace(found, store_required=self._requires_store(table["store"]))
        return found

    def _requires_store(self, value: object) -> bool:
        where = ("limits", "store")
        if self.level is not Level.MANAGED:
            raise self._wrong(where, "`store` belongs into the administrator's file")
        if value != "required":
            raise self._wrong(where, '`store` is "required", or left out')
        return True

    def _grants(self, value: object) -> int | None:
        if isinstance(value, bool):
            return None if value else 0
        if not isinstance(value, int) or value < 0:
            raise self._wrong(("limits", "grants"), "`grants` is a number, true or false")
        return value

    def _agent(self, where: tuple[str | int, ...], table: dict[str, Any]) -> str | None:
        if "agent" not in table:
            return None
        agent = self._text((*where, "agent"), table["agent"])
        try:
            patterns.name_glob(agent)
        except PatternError as error:
            raise self._wrong((*where, "agent"), f"agent {agent!r}: {error}") from error
        return agent

    # --- kinds of values --------------------------------------------------------------------------

    def _list(self, key: str) -> list[Any]:
        value = self.tables.get(key, [])
        if not isinstance(value, list):
            raise self._wrong((key,), f"`{key}` must be a list")
        return cast("list[Any]", value)

    def _tables(self, key: str) -> list[dict[str, Any]]:
        for index, value in enumerate(self._list(key)):
            if not isinstance(value, dict):
                raise self._wrong((key, index), f"each `[[{key}]]` must be a table")
        return cast("list[dict[str, Any]]", self._list(key))

    def _table(self, key: str) -> dict[str, Any]:
        value = self.tables.get(key, {})
        if not isinstance(value, dict):
            raise self._wrong((key,), f"`[{key}]` must be a table")
        return cast("dict[str, Any]", value)

    def _text(self, where: tuple[str | int, ...], value: object) -> str:
        if value is None:
            raise self._wrong(where, f"`{where[-1]}` is missing")
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(where, f"{_named(where)} must be a text")
        return value

    def _verdict(self, where: tuple[str | int, ...], value: object) -> Verdict:
        text = self._text(where, value)
        if text not in list(Verdict):
            known = ", ".join(Verdict)
            raise self._wrong(where, f"{_named(where)} is one of {known}, not {_short(text)}")
        return Verdict(text)

    def _mode(self, where: tuple[str | int, ...], value: object) -> Mode:
        text = self._text(where, value)
        if text not in MODE_ALIASES:
            raise self._wrong(where, f"unknown mode {_short(text)}; modes are {', '.join(Mode)}")
        return MODE_ALIASES[text]

    def _only(
        self,
        table_name: str,
        where: tuple[str | int, ...],
        table: Mapping[str, Any],
        known: tuple[str, ...],
    ) -> None:
        for key in table:
            if key not in known:
                place = f" in `{table_name}`" if table_name else ""
                text = f"unknown key {_short(key)}{place}; keys are {', '.join(known)}"
                raise self._wrong((*where, key), text)

    def _try(self, where: tuple[str | int, ...], parse: Any) -> Any:
        try:
            return parse()
        except RuleError as error:
            raise self._wrong(where, str(error)) from error

    def _source(self, where: tuple[str | int, ...]) -> str:
        return f"{self.path}:{self.lines.of(*where)}"

    def _wrong(self, where: tuple[str | int, ...], reason: str) -> PolicyError:
        return PolicyError(self.path, self.lines.of(*where), reason)


def _named(where: tuple[str | int, ...]) -> str:
    name = next((part for part in reversed(where) if isinstance(part, str)), "it")
    return f"`{name}`"


def _short(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "…")
