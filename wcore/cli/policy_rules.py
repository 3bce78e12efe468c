"""`wcore policy rules`: every rule of the policy files, in order, with its place."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from wcore.cli import policy_check
from wcore.cli.subcommand import write, write_json
from wcore.policy.rules.policy_file import Limits, PolicyFile
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, Rule
from wcore.visible import visible_line
from wcore.vocabulary import Mode, Verdict

DESCRIPTION: Final = "Show every rule in the order in which the engine looks at it, and its place."
EPILOG: Final = "exit codes:\n  0 they are in order   1 a file is broken: file, line, reason\n"

ABSOLUTE: Final = "nothing lifts it"
STANDS: Final = "no grant lifts it"
STRICTER: Final = "counts only where it is stricter: the folder is not trusted"


class _Shown(Struct, frozen=True):
    """One rule as it is told. `match` is its text, `*` for the default permission."""

    do: Verdict
    match: str
    level: Level
    source: str
    agent: str | None = None
    note: str | None = None


add_arguments = policy_check.add_place


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Print the rules; return 0.

    Raises:
        PolicyError: a file is broken.
    """
    _, policies = policy_check.load(options, environ)
    rules = list(_in_order(policies))
    if options.json:
        told = [_as_object(rule) for rule in rules]
        limits = _limits(policies.limits)
        write_json({"ok": True, "trusted": policies.trusted, "rules": told, "limits": limits})
        return 0
    for rule in rules:
        agent = f" for {visible_line(rule.agent, 60)}" if rule.agent else ""
        note = f" ({rule.note})" if rule.note else ""
        match, source = visible_line(rule.match, 200), visible_line(rule.source, 400)
        write(f"{rule.do:<5} {match}{agent}  {rule.level} {source}{note}\n")
    write("" if rules else "there are no rules\n")
    return 0


def _in_order(policies: PolicySet) -> Iterator[_Shown]:
    """Yield what denies absolutely, then the rules, then the default permission."""
    for level, file in policies.files.items():
        for rule in file.deny:
            yield _shown(rule, level, ABSOLUTE)
    for level, file in _files(policies):
        loose = level not in policies.vouched
        for rule in file.rules:
            stands = STANDS if rule.stands and rule.verdict is not Verdict.ALLOW else None
            yield _shown(rule, level, STRICTER if loose else stands)
    default = policies.default
    if default is not None:
        verdict, source = default
        for level, file in policies.files.items():
            if file.default == default:
                yield _Shown(verdict, "*", level, source, note="the default permission")


def _files(policies: PolicySet) -> Iterator[tuple[Level, PolicyFile]]:
    """Yield the files as they are looked at: a trusted project comes before the user."""
    order = [Level.MANAGED, Level.USER, Level.PROJECT]
    if policies.trusted:
        order = [Level.MANAGED, Level.PROJECT, Level.USER]
    for level in order:
        if level in policies.files:
            yield level, policies.files[level]


def _shown(rule: Rule, level: Level, note: str | None) -> _Shown:
    return _Shown(rule.verdict, rule.text, level, rule.source, rule.agent, note)


def _as_object(rule: _Shown) -> dict[str, str]:
    found = {
        "do": rule.do.value,
        "match": rule.match,
        "level": rule.level.value,
        "source": rule.source,
        "agent": rule.agent,
        "note": rule.note,
    }
    return {name: value for name, value in found.items() if value is not None}


def _limits(limits: Limits) -> dict[str, str | int | float]:
    """Return the limits that files set."""
    found = {"grants": limits.grants, "ttl_s": limits.ttl_s}
    told: dict[str, str | int | float] = {k: v for k, v in found.items() if v is not None}
    return told if limits.max_mode is Mode.FORCE else {"max_mode": limits.max_mode.value, **told}
