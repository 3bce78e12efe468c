"""Whether grants cover a text: each of its commands must begin with the words of one grant."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from wcore.policy.shell.analysis import analyse
from wcore.policy.shell.builtins import find_hazard
from wcore.policy.shell.characters import ASSIGNMENT
from wcore.policy.shell.coverage import find_uncovered, may_name_paths
from wcore.policy.shell.grants import PrefixGrant
from wcore.policy.shell.model import Analysis, Coverage, SimpleCommand, Span
from wcore.policy.shell.other_programs import find_other_program
from wcore.policy.shell.reasons import Reason
from wcore.policy.shell.runners import (
    Words,
    command_words,
    hands_to_shell,
    names_relative_program,
    names_relative_script,
)

Problem = tuple[Reason, Span]

_CHANGES_FOLDER: Final = "cd"


def covers(text: str, grants: Sequence[PrefixGrant]) -> Coverage:
    """Analyse and match in one step. Never raises; see `analyse` for the cost."""
    return matches(analyse(text), grants)


def matches(analysis: Analysis, grants: Sequence[PrefixGrant]) -> Coverage:
    """Return whether each simple command begins with the words of one of `grants`.

    The words must be written as granted, one for one, and the checks of some builtins apply. A
    command that several grants begin is covered if one of them passes.
    """
    if analysis.reason is not None:
        return Coverage(covered=False, reason=analysis.reason, span=analysis.span)
    other = find_other_program(analysis)
    if other is not None:
        return Coverage(covered=False, reason=Reason.OTHER_PROGRAM, span=other.span)
    spelled = {words for grant in grants for words in grant.alternatives}
    lengths: dict[str, set[int]] = defaultdict(set)
    for words in spelled:
        lengths[words[0]].add(len(words))
    moved = False
    for command in analysis.commands:
        for form in (command, command.elsewhere or command):
            here = moved or form.moved
            sources = tuple(word.source for word in form.words)
            begins = (sources[:length] for length in sorted(lengths.get(sources[0], ())))
            granted = [words for words in begins if words in spelled]
            problems = [_problem(form, words, moved=here) for words in granted]
            if not all(problems):
                break
        else:
            reason, span = next(filter(None, problems), None) or _why_not(command)
            return Coverage(covered=False, reason=reason, span=span, commands=analysis.commands)
        moved = moved or any(command_words(words)[0] == _CHANGES_FOLDER for words in granted)
    if not analysis.commands:
        return Coverage(covered=False, reason=Reason.EMPTY)
    return Coverage(covered=True, commands=analysis.commands)


def _problem(command: SimpleCommand, granted: Words, *, moved: bool) -> Problem | None:
    """Return why `command` must be asked although it begins with `granted`."""
    program = command_words(granted)
    if moved and (names_relative_program(program) or names_relative_script(program)):
        return Reason.RELATIVE_AFTER_CD, command.span
    if command.moved and may_name_paths(command, granted):
        return Reason.RELATIVE_AFTER_CD, command.span
    head = len(granted) - len(program)
    hazard = find_hazard(program[0], command.words[head + 1 :])
    if hazard is not None:
        return Reason.BUILTIN_ARGUMENT, hazard.span
    if hands_to_shell(program):
        for word in command.words[len(granted) :]:
            if not word.is_plain:
                return Reason.RUNNER_ARGUMENT, word.span
    uncovered = find_uncovered(command, granted)
    return None if uncovered is None else (Reason.UNCOVERED_ARGUMENT, uncovered.span)


def _why_not(command: SimpleCommand) -> Problem:
    """Return why no grant begins like `command`."""
    word = command.words[0]
    if ASSIGNMENT.match(word.source):
        return Reason.ASSIGNMENT, word.span
    if word.dynamic:
        return Reason.DYNAMIC_HEAD, word.span
    if word.source != word.value:
        return Reason.QUOTED_HEAD, word.span
    return Reason.NO_GRANT, command.span
