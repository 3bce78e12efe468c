"""Words that lead, on this machine, to another program than the one that a grant names.

A grant of `git log` is one of the git that is known; a `git` that the workspace brings along, or a
`./x` that is a link to `env`, is another program. So is a module of Python that is found there
first.
"""

from typing import Final

from wcore.policy.shell.coverage import COMMANDS, GROUPS
from wcore.policy.shell.model import Analysis, SimpleCommand, Word
from wcore.policy.shell.project_tasks import PROJECT_TASKS
from wcore.policy.shell.runners import (
    command_words,
    is_runner,
    is_shared_file,
    may_start_any,
    program,
)
from wcore.vocabulary import ProgramFact

#: What projects bring along by design: virtual environments, `node_modules/.bin` and their kind.
_OF_PROJECTS: Final = frozenset(
    {key.split(" ")[0] for key in PROJECT_TASKS}
    | set("pip black isort pre-commit uv poetry python pypy node nodejs npx bundle ruby".split())
)

MODULE: Final = "-m "  # begins the word of a fact that is about a module of Python
_PYTHONS: Final = frozenset(["python", "pypy"])


def find_other_program(analysis: Analysis) -> Word | None:
    """Return the first word that would start another program than a grant of it means."""
    facts = {fact.word: fact for fact in analysis.programs if _is_other(fact)}
    if not facts:
        return None
    for command in analysis.commands:
        for word in _heads(command):
            if word.value in facts:
                return word
        for at, word in enumerate(command.words[2:]):
            head, option = command.words[at : at + 2]
            if f"{option.value} {word.value}" in facts and program(head.value) in _PYTHONS:
                return word
    return None


def _heads(command: SimpleCommand) -> list[Word]:
    """Return the words of a command that may be programs."""
    values = tuple(word.value for word in command.words)
    words = list(command.words[len(values) - len(command_words(values)) :])
    runs = words and may_start_any(tuple(word.value for word in words))
    return words if runs else words[:1]


def _is_other(fact: ProgramFact) -> bool:
    if fact.word.startswith(MODULE):
        module = fact.word.removeprefix(MODULE)
        return module not in PROJECT_TASKS and (fact.shadows or _is_known(module))
    if "/" not in fact.path:
        return True  # what lies in the workspace makes it another
    name, real = program(fact.word), program(fact.path)
    if fact.inside and "/" not in fact.word and name not in _OF_PROJECTS:
        return fact.shadows or _is_known(name)
    if name == real or is_shared_file(real):
        return False
    return _is_known(real) and not _is_known(name)


def _is_known(name: str) -> bool:
    return name in COMMANDS or name in GROUPS or is_runner(name) or may_start_any((name,))
