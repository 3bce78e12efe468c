"""Which prefix to offer for a command: only what is known to read, or to run the project's code.

An allow-list: what stands in none of the tables has no prefix, however harmless it looks, and a
tool with subcommands never has its bare name offered. What is offered does no more than what was
shown: a prefix for `ruff format --check` names `--check`, or there is none.
"""

from itertools import takewhile
from typing import Final

from msgspec import Struct

from wcore.policy.shell import runners
from wcore.policy.shell.analysis import lex
from wcore.policy.shell.characters import ASSIGNMENT
from wcore.policy.shell.coverage import CommandKind, locate
from wcore.policy.shell.grant_matcher import matches
from wcore.policy.shell.grants import PrefixGrant, parse_grant
from wcore.policy.shell.model import Analysis, SimpleCommand, Word
from wcore.policy.shell.option_specs import OptionSpec, Tasks, option_spec
from wcore.policy.shell.project_tasks import (
    DOES_LESS,
    PROJECT_TASKS,
    REWRITERS,
    TASK_NEEDED,
    TASK_OPTIONS,
)

SUGGESTIONS_MAX: Final = 3  # a card with more choices is not read
NAMED_CHARS_MAX: Final = 60  # of a command that a note names

_ASSIGNMENTS_OFFERED: Final = frozenset(
    "CI DEBUG NO_COLOR FORCE_COLOR COLUMNS LINES TERM TZ RUST_BACKTRACE RUST_LOG NODE_ENV"
    " PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED GOOS GOARCH CGO_ENABLED".split()
)
_FOLDERS_OFFERED: Final = ("/usr/bin/", "/bin/")  # elsewhere a name says little
_WRAPPERS_OFFERED: Final = ("./gradlew", "./mvnw")
#: Runners that find the program in the project's own environment.
_ENVIRONMENTS: Final = frozenset(
    [*(("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("bundle", "exec"))]
)


class Suggestion(Struct, frozen=True):
    """A prefix that may be offered; with `PROJECT_CODE` it runs what the project's files say."""

    words: tuple[str, ...]
    kind: CommandKind

    @property
    def text(self) -> str:
        return " ".join(self.words)


def suggest_prefix(command: SimpleCommand) -> Suggestion | None:
    """Return the one prefix to offer for an analysed command, or none; it covers the command."""
    sources = [word.source if word.is_plain else "" for word in command.words]
    assigned = 0
    while assigned < len(sources) and (match := ASSIGNMENT.match(sources[assigned])):
        if match[1] not in _ASSIGNMENTS_OFFERED:
            return None
        assigned += 1
    start = assigned + (2 if tuple(sources[assigned : assigned + 2]) in _ENVIRONMENTS else 0)
    found = _known_words(command.words[start:], sources[start:])
    if found is None or (start > assigned and found[1] is not CommandKind.PROJECT_CODE):
        return None
    words = tuple(sources[: start + found[0]])
    grant = parse_grant(" ".join(words))
    analysis = Analysis("", (command,))
    if not isinstance(grant, PrefixGrant) or not matches(analysis, [grant]).covered:
        return None
    return Suggestion(words, found[1])


def suggest(command: Analysis | str) -> list[str]:
    """Return the prefix that alone covers the whole text, if there is one to offer.

    A `str` is read by the lexer only; give an `Analysis` where the text may be long.
    """
    analysis = lex(command) if isinstance(command, str) else command
    if analysis.reason is not None or not analysis.commands:
        return []
    first = analysis.commands[0]
    first = suggest_prefix(first.elsewhere or first)
    grant = None if first is None else parse_grant(first.text)
    covers = isinstance(grant, PrefixGrant) and matches(analysis, [grant]).covered
    return [first.text] if first is not None and covers else []


def why_not_offered(analysis: Analysis) -> str | None:
    """Return, for people, why there is no prefix to offer for a text, if there is none."""
    if analysis.reason is not None:
        return "No prefix is offered: not all of it can be read before it runs."
    for command in analysis.commands:
        if suggest_prefix(command.elsewhere or command) is None:
            return f"No prefix is offered: {_named(command)} may do more than read or run a task."
    return None


def _named(command: SimpleCommand) -> str:
    plain = [word.source for word in takewhile(lambda word: word.is_plain, command.words[:2])]
    words = [*plain[:1], *(each for each in plain[1:] if not each.startswith("-"))]
    return f"`{' '.join(words)[:NAMED_CHARS_MAX]}`" if words else "a command of it"


def _known_words(words: tuple[Word, ...], sources: list[str]) -> tuple[int, CommandKind] | None:
    """Return how many leading words are a command of the tables, all written plainly."""
    if not words or not sources[0] or not _is_offered(sources[0]):
        return None
    located = locate(words)
    key, count = located.key, located.end
    if located.problem is not None or located.kind is CommandKind.OTHER:
        return None
    spelled = key.split(" ")
    if tuple(sources[count - len(spelled) + 1 : count]) != tuple(spelled[1:]):
        return None  # options stand between
    if count > len(spelled) and sources[1] != "-m":
        return None
    less = _at_doing_less(key, [word.value for word in words[count:]])
    if less is not None:
        between = sources[count : count + less]
        together = all(source.startswith("-") for source in between)
        return (count + less, located.kind) if together and key not in TASK_NEEDED else None
    tasks = _tasks(key, sources[count:])
    if key in REWRITERS or (key in TASK_NEEDED and not tasks):
        return None
    return count + tasks, located.kind


def _at_doing_less(key: str, values: list[str]) -> int | None:
    """Return how many words end with the first option with which a runner does less than without.

    In doubt, as where letters are bundled or a name is shortened, an option is taken for one.
    """
    options = DOES_LESS.get(key, frozenset())
    spec = option_spec(PROJECT_TASKS.get(key, ""))
    each = (at for at, value in enumerate(values, 1) if _may_be_one_of(value, options, spec))
    return next(each, None)


def _may_be_one_of(value: str, options: frozenset[str], spec: OptionSpec) -> bool:
    name = value.partition("=")[0]
    if spec.single_dash and name.startswith("-"):
        name = "--" + name.lstrip("-")
    if name.startswith("--"):
        return len(name) > 2 and any(option.startswith(name) for option in options)
    letters = {option[1] for option in options if not option.startswith("--")}
    return name.startswith("-") and not letters.isdisjoint(name[1:])


def _tasks(key: str, sources: list[str]) -> int:
    """Return how many of the words after a runner say which tasks it is to run."""
    if sources and sources[0] in TASK_OPTIONS.get(key, ()):
        return 2 if len(sources) > 1 and _is_task(sources[1]) else 0
    several = option_spec(PROJECT_TASKS.get(key, "")).tasks is not Tasks.ANY
    most = len(sources) if several else int(key in TASK_NEEDED)
    return sum(1 for _ in takewhile(_is_task, sources[:most]))


def _is_task(source: str) -> bool:
    plain = bool(source) and not source.startswith("-") and "=" not in source
    return plain and not runners.is_runner(source)


def _is_offered(head: str) -> bool:
    plain = "/" not in head or head in _WRAPPERS_OFFERED
    return plain or (head.startswith(_FOLDERS_OFFERED) and head.count("/") <= 3)
