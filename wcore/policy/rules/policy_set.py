"""All policy files together: which rule counts, and how far a project is listened to.

Each file is read alone, the first rule that fits wins inside it. Managed comes before user. What
a project says counts where it is stricter; once the folder is trusted it counts before the
user's own rules too, but never against the managed file. Of a user's file that lies in the
workspace what allows is passed over.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Final, TypeVar

from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import MAIN_AGENT
from wcore.policy.rules.policy_file import Limits, PolicyFile
from wcore.policy.rules.rule import SHELL_TOOL, Level, Rule, Target
from wcore.policy.rules.rule_index import STRICTNESS, DecisionInput, Match, RuleIndex
from wcore.vocabulary import Access, Category, Mode, Verdict

PLANS_MAX: Final = 1024  # tools times agents times files; past that they are made anew

_T = TypeVar("_T")


class PolicySet:
    """What all files say. Never changes: a reload makes another one."""

    def __init__(self, files: Iterable[PolicyFile] = (), *, trusted: bool = False) -> None:
        self.files: Final[Mapping[Level, PolicyFile]] = {file.level: file for file in files}
        self.trusted: Final = trusted
        self.vouched: Final = frozenset(  # whose files may also allow, and start programs
            level
            for level, file in self.files.items()
            if not file.only_forbids and (trusted or level is not Level.PROJECT)
        )
        said = [self.files[level].hosts for level in Level if level in self.vouched]
        self.hosts: Final = next((hosts for hosts in said if hosts is not None), ())
        by_default = [file.default[0] for file in self.files.values() if file.default]
        self.without_forbidding: Final = tuple(  # each file that only forbids left out once
            PolicySet((each for each in self.files.values() if each is not file), trusted=trusted)
            for level, file in self.files.items()
            if level not in self.vouched and Verdict.DENY in by_default
        )
        self.limits: Final = reduce(  # the strictest of each; trust does not matter
            Limits.with_, (file.limits for file in self.files.values()), Limits()
        )
        self._plans: dict[tuple[str, str, Category, str, str], RuleIndex] = {}
        self._stand: Final = [
            level
            for level, file in self.files.items()
            if any(rule.verdict is Verdict.ASK and rule.stands for rule in file.rules)
        ]

    @property
    def default(self) -> tuple[Verdict, str] | None:
        """The default permission and its source, when a file has one."""
        said = {level: file.default for level, file in self.files.items()}
        return next(iter(self._counting(said, lambda default: default[0])), None)

    def absolute_deny(self, case: DecisionInput) -> Match | None:
        """Return the first `deny` entry of any file that fits."""
        found = (self._plan(level, "deny", case).first(case) for level in self.files)
        return next(filter(None, found), None)

    def in_force(self, case: DecisionInput) -> tuple[Match, ...]:
        """Return the rules that count for the call, the strictest first."""
        firsts = {level: self._plan(level, "rules", case).first(case) for level in self.files}
        return self._counting(firsts, lambda match: match.rule.verdict)

    def _counting(
        self, said: Mapping[Level, _T | None], verdict: Callable[[_T], Verdict]
    ) -> tuple[_T, ...]:
        """Return what counts of what each file says, the strictest first."""
        managed, user, project = (said.get(level) for level in Level)
        if user and verdict(user) is Verdict.ALLOW and Level.USER not in self.vouched:
            user = None
        base = managed or user
        if project is None:
            return (base,) if base else ()
        if base is None:
            counts = self.trusted or verdict(project) is not Verdict.ALLOW
            return (project,) if counts else ()
        if self.trusted and managed is None:
            return (project,)
        ahead = STRICTNESS[verdict(project)] - STRICTNESS[verdict(base)]
        if ahead > 0:
            return (project, base)
        return (base, project) if ahead == 0 else (base,)

    def standing_ask(self, case: DecisionInput, levels: Iterable[Level] = Level) -> Match | None:
        """Return a rule of one of the files of `levels` that asks and that nothing lifts.

        An earlier allow of the same file goes before it; no other file does. What a shell text
        reads and writes is judged as if the tools for files did it.
        """
        for level in (level for level in levels if level in self._stand):
            found = self._plan(level, "standing", case).first(case, guesses=False)
            if found is not None and found.rule.verdict is Verdict.ASK:
                return found
        return None

    def on_reading(self, path: str) -> Verdict:
        """Return what rules say of the real path `path` where it is not named, as in a search.

        Only one about paths asks: a rule that every reading asks is about calls.
        """
        if not self.files:
            return Verdict.ALLOW
        fact = PathFact(path, Access.READ, inside=True)
        case = DecisionInput(Facts("Read", Category.INFO, (fact,)), MAIN_AGENT)
        if self.absolute_deny(case) is not None:
            return Verdict.DENY
        rules = [match.rule for match in self.in_force(case)]
        said = (rule.verdict for rule in rules if rule.verdict is not Verdict.ASK or not rule.bare)
        return max(said, key=STRICTNESS.__getitem__, default=Verdict.ALLOW)

    def opens(self, path: PathFact, case: DecisionInput) -> bool:
        """Whether a rule for an absolute folder allows the path, which is outside the workspace."""
        if not self.files:
            return False
        tool, category = case.facts.tool, case.facts.category
        if tool == SHELL_TOOL:  # what a rule says of the file tools holds for the shell
            reads = path.access is Access.READ
            tool, category = ("Read", Category.INFO) if reads else ("Write", Category.EDIT)
        found = self.in_force(DecisionInput(Facts(tool, category, (path,)), case.agent))
        rule = found[0].rule if found else None
        return bool(rule and rule.verdict is Verdict.ALLOW and rule.is_about_absolute(path.path))

    def may_deny(self, case: DecisionInput) -> Match | None:
        """Return a rule that denies commands and may fit a shell text, though nobody can say."""
        seen = case.facts.seen
        for rule, target in self._targets(case.agent) if seen else ():
            is_about = rule.verdict is Verdict.DENY and target.tools.fits(SHELL_TOOL, Category.EXEC)
            stop = target.stop.find(seen) if seen and target.stop and is_about else None
            if stop and stop.code:
                return Match(rule, stop.span, stop.code)
        return None

    def stops_files(self, agent: str, mode: Mode) -> bool:
        """Whether a rule denies an agent paths, or asks about them below `force`."""
        lets = (Verdict.ALLOW, Verdict.ASK) if mode is Mode.FORCE else (Verdict.ALLOW,)
        found = self._targets(agent)
        return any(rule.verdict not in lets and target.paths for rule, target in found)

    def _targets(self, agent: str) -> Iterator[tuple[Rule, Target]]:
        for file in self.files.values():
            for rule in (*file.deny, *file.rules):
                if rule.is_for(agent):
                    yield from ((rule, target) for target in rule.targets)

    def _plan(self, level: Level, kind: str, case: DecisionInput) -> RuleIndex:
        facts, file = case.facts, self.files[level]
        key = (level.value, kind, facts.category, facts.tool, case.agent)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= PLANS_MAX:
                self._plans.clear()
            rules = file.deny if kind == "deny" else file.rules
            counts = _stands if kind == "standing" else None
            plan = RuleIndex(rules, facts.tool, facts.category, case.agent, counts)
            self._plans[key] = plan
        return plan


def _stands(rule: Rule) -> bool:
    return rule.verdict is Verdict.ALLOW or (rule.verdict is Verdict.ASK and rule.stands)


NO_POLICIES: Final = PolicySet()
