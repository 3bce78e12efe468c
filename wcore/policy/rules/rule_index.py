"""The rules of one file that can matter to one tool, laid out so that finding the first is quick.

A plan is made once for each tool and agent. Rules for other tools are gone from it, rules behind
a rule that always fits too; path rules are found by the folders above the path.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from wcore.policy import shell
from wcore.policy.facts import Facts
from wcore.policy.rules.rule import SHELL_TOOL, Rule, Target
from wcore.policy.stops import Scan, Span
from wcore.views import covers
from wcore.vocabulary import Access, Category, Verdict

STRICTNESS: Final = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}


class Match(Struct, frozen=True):
    """A rule that fits a call, and the part of a shell text that made it fit."""

    rule: Rule
    span: Span | None = None
    code: str | None = None


class DecisionInput(Struct, frozen=True):
    """A call of an agent while it is decided."""

    facts: Facts
    agent: str


class _Entry(Struct, frozen=True):
    order: int
    rule: Rule
    target: Target


class _Run(Struct):
    """Allow rules for commands that stand next to each other: one set of grants."""

    order: int
    heads: set[str] = field(default_factory=set[str])
    rules: list[Rule] = field(default_factory=list[Rule])
    grants: list[shell.PrefixGrant] = field(default_factory=list[shell.PrefixGrant])


_READ: Final = [("Read", Category.INFO)]
_SEARCHES: Final = [(tool, Category.INFO) for tool in ("LS", "Glob", "Grep")]
_WRITING: Final = [(tool, Category.EDIT) for tool in ("Write", "Edit", "MultiEdit", "Delete")]
#: Whose rules that deny or ask count too when a tool reads or writes a path: a search reads it.
_STANDS_FOR: Final = {
    SHELL_TOOL: {Access.READ: _READ + _SEARCHES, Access.WRITE: _WRITING},
    **{tool: {Access.READ: _READ} for tool, _ in _SEARCHES},
}


class RuleIndex:
    """An ordered list of rules, as one tool of one agent sees it.

    Rules that `counts` refuses never fit; allow rules on both sides of one are not neighbours.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        tool: str,
        category: Category,
        agent: str,
        counts: Callable[[Rule], bool] | None = None,
    ) -> None:
        self._always: _Entry | None = None
        self._by_place: dict[tuple[str, str], list[_Entry]] = defaultdict(list)
        self._shell: list[_Entry | _Run | None] = []
        for entry in _relevant(rules, tool, category, agent):
            if counts is not None and not counts(entry.rule):
                self._shell.append(None)
                continue
            if entry.target.is_bare:
                self._always = entry
                break  # nothing behind it can be the first to fit
            if entry.target.paths is not None:
                for folder, tail in entry.target.paths.keys:
                    self._by_place[folder, _ending(tail)].append(entry)
            elif tool == SHELL_TOOL:
                self._add_shell(entry)
        self._files: dict[Access, list[RuleIndex]] = {}
        for access, tools in _STANDS_FOR.get(tool, {}).items():
            plans = (RuleIndex(rules, name, kind, agent, counts) for name, kind in tools)
            self._files[access] = [plan for plan in plans if plan.has_paths]

    @property
    def has_paths(self) -> bool:
        """Whether a rule of it is about paths."""
        return bool(self._by_place)

    def first(self, case: DecisionInput, *, guesses: bool = True) -> Match | None:
        """Return the first rule that fits the call.

        A rule that asks fits a command that it may fit; without `guesses` only one of which it
        says something.
        """
        found = self.first_path(case.facts) if self._by_place else None
        if found is None and case.facts.seen is not None:
            found = self._first_command(case.facts, case.facts.seen, guesses=guesses)
        if found is None and self._always is not None:
            found = Match(self._always.rule)
        stopped = self._first_stopped(case.facts)
        if found is None or (
            stopped and STRICTNESS[stopped.rule.verdict] > STRICTNESS[found.rule.verdict]
        ):
            return stopped
        return found

    def _first_stopped(self, facts: Facts) -> Match | None:
        """Return what the rules of tools that it stands for say of the paths, if not yes."""
        found: Match | None = None
        for path in facts.paths if any(self._files.values()) else ():
            for plan in () if path.unknown else self._files.get(path.access, ()):
                match = plan.first_path(Facts(facts.tool, facts.category, (path,)))
                if match is not None and match.rule.verdict is Verdict.DENY:
                    return match
                if match is not None and match.rule.verdict is Verdict.ASK:
                    found = found or match
                if match is not None and path.access is Access.READ:
                    break  # what Read may is read; the searches count where Read has no rule
        return found

    def first_path(self, facts: Facts) -> Match | None:
        """Return the first rule about paths that fits one of them."""
        near: dict[int, _Entry] = {}
        for path in facts.paths:
            folded = path.path.casefold()
            for folder in _folders_above(folded):
                for ending in ("", _ending(folded)):
                    found = self._by_place.get((folder, ending), ())
                    near.update((entry.order, entry) for entry in found)
        for order in sorted(near):
            entry = near[order]
            if _fits_paths(entry, facts):
                return Match(entry.rule)
        return None

    def _add_shell(self, entry: _Entry) -> None:
        if entry.target.grant is None:
            self._shell.append(entry)
            return
        run = self._shell[-1] if self._shell else None
        if not isinstance(run, _Run):
            run = _Run(entry.order)
            self._shell.append(run)
        run.heads.update(words[0] for words in entry.target.grant.alternatives)
        run.rules.append(entry.rule)
        run.grants.append(entry.target.grant)

    def _first_command(self, facts: Facts, seen: Scan, *, guesses: bool) -> Match | None:
        for entry in self._shell:
            if isinstance(entry, _Run):
                found = _allowed(entry, facts)
            else:
                found = entry and _stopped(entry, seen, guesses=guesses)
            if found is not None:
                return found
        return None


def _relevant(rules: Sequence[Rule], tool: str, category: Category, agent: str) -> Iterator[_Entry]:
    order = 0
    for rule in rules:
        if rule.is_for(agent):
            for target in rule.targets:
                if target.tools.fits(tool, category):
                    yield _Entry(order, rule, target)
                    order += 1


def _folders_above(path: str) -> Iterable[str]:
    """Yield `path` and every folder above it."""
    yield path
    while path not in ("/", ""):
        path = path.rpartition("/")[0] or "/"
        yield path


def _ending(text: str) -> str:
    """Return the two last characters: enough to tell most endings apart."""
    return text[-2:] if len(text) >= 2 else ""


def _fits_paths(entry: _Entry, facts: Facts) -> bool:
    spec = entry.target.paths
    if spec is None or not facts.paths:
        return False
    fit = (spec.fits(path.path) for path in facts.paths)
    return all(fit) if entry.rule.verdict is Verdict.ALLOW else any(fit)


def _allowed(run: _Run, facts: Facts) -> Match | None:
    if facts.analysis is None or facts.analysis.reason is not None:
        return None
    if any(command.words[0].source not in run.heads for command in facts.analysis.commands):
        return None  # most rules are about other programs
    reaching = {pin for pin in {rule.pin for rule in run.rules} if covers(pin, facts.view)}
    both = [each for each in zip(run.rules, run.grants, strict=True) if each[0].pin in reaching]
    if not shell.matches(facts.analysis, [grant for _, grant in both]).covered:
        return None
    first = shell.Analysis(facts.analysis.text, facts.analysis.commands[:1])
    fits = (rule for rule, grant in both if shell.matches(first, [grant]).covered)
    return Match(next(fits, both[0][0]))


def _stopped(entry: _Entry, seen: Scan, *, guesses: bool) -> Match | None:
    """Return whether the rule fits what may be started; one that denies must fit for sure."""
    stop = entry.target.stop and entry.target.stop.find(seen, guesses=guesses)
    if stop is None or (stop.code and entry.rule.verdict is not Verdict.ASK):
        return None
    return Match(entry.rule, stop.span, stop.code)
