"""A policy that is being made from somebody else's rules, and how it is written as TOML."""

from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from wcore.errors import ConfigError
from wcore.policy.rules.rule import SHELL_TOOL, ParseContext, RuleError, parse_targets
from wcore.visible import visible_line
from wcore.vocabulary import Mode, Verdict

NOTES_MAX: Final = 1000  # more is read by nobody; further ones are counted
SHOWN_CHARS_MAX: Final = 200  # of one rule of somebody else

_RANK: Final = {Verdict.DENY: 0, Verdict.ASK: 1, Verdict.ALLOW: 2}


class ForeignError(ConfigError):
    """A file of another engine is not understood; nothing is made of it."""


class Difference(StrEnum):
    """How a rule differs from what it was made of."""

    STRICTER = "stricter"  #: it says no, or asks, more often
    LEFT_OUT = "left out"  #: an allow that cannot be said here: it asks
    LOOSER = "looser"  #: something that said no, or asked, could not be carried over


class Note(Struct, frozen=True):
    """What is not the same. `said` is the rule as it was written."""

    kind: Difference
    said: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {visible_line(self.said, SHOWN_CHARS_MAX)}: {self.text}"


class Drafted(Struct, frozen=True):
    """One rule. `widened` means that it fits more calls than the rule it was made of."""

    match: str
    do: Verdict
    agent: str | None = None
    widened: bool = False


class Draft(Struct):
    """Rules and remarks. `is_ordered`: the first rule that fits wins; else the strictest."""

    context: ParseContext
    is_ordered: bool = False
    default: Verdict | None = None
    max_mode: Mode | None = None
    notes: list[Note] = field(default_factory=list[Note])
    notes_left: int = 0
    _rules: dict[Drafted, None] = field(default_factory=dict[Drafted, None])

    def note(self, kind: Difference, said: str, text: str) -> None:
        found = Note(kind, said, text)
        if found in self.notes:
            return
        if len(self.notes) < NOTES_MAX:
            self.notes.append(found)
        else:
            self.notes_left += 1

    def allow(self, match: str, said: str, agent: str | None = None) -> None:
        """Allow what `match` says, if it can be said."""
        try:
            parse_targets(match, Verdict.ALLOW, self.context)
        except RuleError as error:
            self.note(Difference.LEFT_OUT, said, f"{error}; it asks")
            return
        self._rules[Drafted(match, Verdict.ALLOW, agent)] = None

    def stop(
        self,
        do: Verdict,
        tool: str,
        spec: str | None,
        said: str,
        *,
        why: str = "",
        agent: str | None = None,
    ) -> None:
        """Deny or ask. Without a `spec`, or where it is none of ours, every call of the tool.

        `why` says why this is more than the rule said; empty when it is not.
        """
        match = tool if spec is None else f"{tool}({spec})"
        try:
            parse_targets(match, do, self.context)
        except RuleError as error:
            if spec is None:  # no name of a tool: nothing to fall back on
                raise ForeignError(f"{visible_line(said, SHOWN_CHARS_MAX)}: {error}") from error
            match, why = tool, f"{error}; so every call of {tool}"
        if why:
            self.note(Difference.STRICTER, said, why)
        for name in (agent,) if agent is None else (agent, f"*/{agent}"):
            self._rules[Drafted(match, do, name, bool(why))] = None

    def left_out(self, said: str, text: str) -> None:
        self.note(Difference.LEFT_OUT, said, text)

    def looser(self, said: str, text: str) -> None:
        self.note(Difference.LOOSER, said, text)

    def sorted(self) -> tuple[list[Drafted], list[Drafted]]:
        """Return the absolute denies and the ordered rules."""
        rules = list(self._rules)
        if not self.is_ordered:
            denies = [rule for rule in rules if rule.do is Verdict.DENY]
            others = [rule for rule in rules if rule.do is not Verdict.DENY]
            return denies, sorted(others, key=lambda rule: _RANK[rule.do])
        return [], _denies_first(rules)

    def finish(self) -> None:
        """Say what only the whole shows."""
        _, rules = self.sorted()
        asks = next((i for i, r in enumerate(rules) if r.do is Verdict.ASK and _is_shell(r)), None)
        if asks is not None and any(
            rule.do is Verdict.DENY and (_is_shell(rule) or rule.match in ("*", SHELL_TOOL))
            for rule in rules[asks:]
        ):
            text = (
                "a text that also holds commands denied further down asks instead of being denied"
            )
            self.looser(rules[asks].match, text)


def _is_shell(rule: Drafted) -> bool:
    return rule.match.startswith(f"{SHELL_TOOL}(")


def _denies_first(rules: list[Drafted]) -> list[Drafted]:
    """Move denies before the first ask that fits more than it should: it must not hide them."""
    wide = [i for i, rule in enumerate(rules) if rule.do is Verdict.ASK and rule.widened]
    if not wide:
        return rules
    before, after = rules[: wide[0]], rules[wide[0] :]
    denies = [rule for rule in after if rule.do is Verdict.DENY]
    return [*before, *denies, *(rule for rule in after if rule.do is not Verdict.DENY)]


def as_toml(draft: Draft, origin: str) -> str:
    """Return the policy as the text of a file; `origin` says where it is from."""
    denies, rules = draft.sorted()
    lines = [f"# Made by `wcore policy import` from {visible_line(origin, SHOWN_CHARS_MAX)}"]
    if draft.notes:
        lines += ["# Not the same as there:", *(f"#   {note}" for note in draft.notes)]
    if draft.default is not None:
        lines.append(f'default = "{draft.default}"')
    if denies:
        lines += ["deny = [", *(f"  {_text(rule.match)}," for rule in denies), "]"]
    if draft.max_mode is not None:
        lines += ["", "[limits]", f'max_mode = "{draft.max_mode}"']
    for rule in rules:
        lines += ["", "[[rule]]", f"match = {_text(rule.match)}", f'do = "{rule.do}"']
        if rule.agent is not None:
            lines.append(f"agent = {_text(rule.agent)}")
        if rule.do is not Verdict.ALLOW:
            lines.append("always = true")
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    """Return a TOML string. A pattern has no characters that cannot be seen."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
