"""What a prefix covers of the words behind it, and what it never covers unless it names it.

A prefix says which program runs. An option or operand that makes that program start another, read
its configuration or its code from elsewhere, or write a file is a different decision, and asks.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from wcore.policy.shell import runners
from wcore.policy.shell.arguments import ArgumentReader
from wcore.policy.shell.known_options import KNOWN_OPTIONS
from wcore.policy.shell.model import SimpleCommand, Word
from wcore.policy.shell.option_specs import option_spec
from wcore.policy.shell.programs_with_scripts import SCRIPT_CHECKS
from wcore.policy.shell.project_tasks import PROJECT_TASKS, TASK_GROUPS
from wcore.policy.shell.read_only_commands import REACHING_TOOLS, READING_TOOLS, TOOL_GROUPS
from wcore.policy.shell.read_only_programs import LOOKING_AROUND, READING_PROGRAMS
from wcore.policy.shell.runners import RUNNING_SUBCOMMANDS, Words

_TOOLCHAIN: Final = "+"  # `cargo +nightly test`


class CommandKind(StrEnum):
    """What a command is known to do."""

    READS = "reads"
    PROJECT_CODE = "project_code"
    OTHER = "other"


#: Every command of the tables by its words, and how the words after it are read.
COMMANDS: Final[Mapping[str, str]] = {
    **KNOWN_OPTIONS,
    **READING_PROGRAMS,
    **READING_TOOLS,
    **LOOKING_AROUND,
    **REACHING_TOOLS,
    **PROJECT_TASKS,
}
#: What commands of the tables begin with, and the options that may stand there.
GROUPS: Final[Mapping[str, str]] = {
    **{
        " ".join(words[:count]): ""
        for words in (key.split(" ") for key in (*COMMANDS, *RUNNING_SUBCOMMANDS))
        for count in range(1, len(words))
    },
    **TOOL_GROUPS,
    **TASK_GROUPS,
}


class TableEntry(Struct, frozen=True):
    """Which command of the tables a command is, if any; its own words end before `end`.

    `problem` is a word on the way there that no prefix covers unless it names it.
    """

    key: str
    end: int
    problem: Word | None = None
    is_module: bool = False  # of Python; the workspace may have one of that name, or have it soon

    @property
    def kind(self) -> CommandKind:
        if self.key in PROJECT_TASKS:
            return CommandKind.PROJECT_CODE
        reads = self.key in READING_PROGRAMS or self.key in READING_TOOLS
        return CommandKind.READS if reads and not self.is_module else CommandKind.OTHER


def find_uncovered(command: SimpleCommand, granted: Words) -> Word | None:
    """Return the word of `command`, which begins with `granted`, that the grant does not cover."""
    start = runners.innermost(granted)
    words = list(command.words[start:])
    if runners.appends_words(granted):
        end = command.words[-1].span[1]
        words.append(Word((end, end), "$", "$", dynamic=True, loose=True))
    count = len(granted) - start
    located = locate(words, count)
    if located.problem is not None or not located.key:
        return located.problem
    rest, free = words[located.end :], max(count - located.end, 0)
    if check := SCRIPT_CHECKS.get(located.key):
        return check(rest, free)
    spec = option_spec(COMMANDS.get(located.key, "!"))
    if spec.asks_itself:
        return words[located.end - 1] if count < located.end else None
    reader = ArgumentReader(rest, spec, free)
    uncovered = reader.find_uncovered()
    is_short = uncovered is None and reader.sure_operands < spec.operands_min
    return words[located.end - 1] if is_short else uncovered


def may_name_paths(command: SimpleCommand, granted: Words) -> bool:
    """Whether a grant may name files for its command, which are others in another folder.

    It does not where the command reads or runs a project's code: behind its own words are tasks.
    """
    start = runners.innermost(granted)
    located = locate(command.words[start:], len(granted) - start)
    operands = granted[start + (located.end if located.key else 1) :]
    is_known = located.kind is not CommandKind.OTHER
    return not is_known and any(not word.startswith("-") for word in operands)


def locate(words: Sequence[Word], granted: int = 0) -> TableEntry:
    """Return the longest command of the tables with which `words` begin.

    Options between a program and its subcommand are read as those of the program. `granted` of
    the words stand in a grant.
    """
    key, end = _program(words)
    is_module = end > 1
    while key in GROUPS:
        below = words[end:]
        direct = f"{key} {below[0].value}" if below and not below[0].dynamic else ""
        if _is_known(direct):
            key, end = direct, end + 1
            continue
        if key in COMMANDS:
            break
        reader = ArgumentReader(below, option_spec(GROUPS[key]), max(granted - end, 0))
        problem = reader.find_uncovered(only_options=True)
        operand = below[reader.at] if reader.at < len(below) else None
        if problem is not None or operand is None:
            return TableEntry("", end, problem)
        at = end + reader.at
        toolchain = operand.value.startswith(_TOOLCHAIN)
        if operand.dynamic or (toolchain and "/" in operand.value):
            return TableEntry("", end, operand if at >= granted else None)
        if toolchain:
            end = at + 1
        elif _is_known(f"{key} {operand.value}"):
            key, end = f"{key} {operand.value}", at + 1
        else:
            return TableEntry("", end)
    return TableEntry(key if _is_known(key) else "", end, is_module=is_module)


def _program(words: Sequence[Word]) -> tuple[str, int]:
    """Return the name under which the tables may know a program, and how many words that took."""
    name = words[0].value.rsplit("/", 1)[-1]
    key = name if _is_known(name) else runners.program(name)
    if key == "python" and len(words) > 2 and words[1].value == "-m":
        return words[2].value, 3  # a module is known by its name
    return key, 1


def _is_known(key: str) -> bool:
    return key in COMMANDS or key in GROUPS or key in RUNNING_SUBCOMMANDS
