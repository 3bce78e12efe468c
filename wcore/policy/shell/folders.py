"""In which folder commands of a text are run: `cd DIR &&` in front of them, `make -C DIR`.

A prefix holds in any folder of the workspace. So where somebody has looked that DIR is a plain
one, neither needs a grant of its own; what the folder may make another thing still asks.
"""

import posixpath
from collections.abc import Container
from typing import Final

from msgspec.structs import replace

from wcore.policy.shell.model import Analysis, SimpleCommand, Word, utf8

_ENTERS: Final = "cd"
_EXPANDED: Final = frozenset("~$")  # by the programs themselves: npm `${NAME}`, make `~user`
_AND_THEN: Final = b"&&"
#: Right behind these programs, and followed by the folder: `git log -C` is about copies.
FOLDER_OPTIONS: Final = {"make": "-C", "git": "-C", "npm": "--prefix"}


def may_enter(text: str) -> bool:
    """Whether a text holds what enters a folder at all; most need not be read for that."""
    return any(sign in text for sign in (_ENTERS, *FOLDER_OPTIONS.values()))


def folders_entered(analysis: Analysis) -> list[str]:
    """Return the folders of which `in_folders` must be told whether they are plain ones."""
    first = _entered_first(analysis)
    if first is None:
        return _named_by_options(analysis.commands, "")
    return [first, *_named_by_options(analysis.commands[1:], first)]


def in_folders(analysis: Analysis, plain: Container[str]) -> Analysis:
    """Return the analysis with the commands that need a grant, where all are in `plain` folders."""
    first, commands = _entered_first(analysis), analysis.commands
    if first is not None and first in plain:
        commands = tuple(replace(command, moved=True) for command in commands[1:])
    if _is_certain(commands):
        commands = tuple(_placed(command, first or "", plain) for command in commands)
    return replace(analysis, commands=commands)


def _is_certain(commands: tuple[SimpleCommand, ...]) -> bool:
    """Whether none of the commands can change the folder in which the next ones are run."""
    return not any(word.value == _ENTERS for command in commands for word in command.words)


def _named_by_options(commands: tuple[SimpleCommand, ...], here: str) -> list[str]:
    found = map(_option_of, commands) if _is_certain(commands) else ()
    return [posixpath.join(here, folder) for folder in found if folder is not None]


def _placed(command: SimpleCommand, here: str, plain: Container[str]) -> SimpleCommand:
    """Return the command with what it is without the folder that it names, if that is plain."""
    folder = _option_of(command)
    if folder is None or posixpath.join(here, folder) not in plain:
        return command
    words = command.words[:1] + command.words[3:]
    return replace(command, elsewhere=replace(command, words=words, moved=True))


def _option_of(command: SimpleCommand) -> str | None:
    program, *rest = command.words
    is_named = len(rest) > 1 and rest[0].source == FOLDER_OPTIONS.get(program.source)
    return _literal(rest[1]) if is_named else None


def _entered_first(analysis: Analysis) -> str | None:
    """Return the folder of `cd DIR &&` at the very beginning, with nothing else in it."""
    if len(analysis.commands) < 2:
        return None
    first, second = analysis.commands[:2]
    between = utf8(analysis.text)[first.span[1] : second.span[0]]
    if first.redirects or len(first.words) != 2 or between.strip() != _AND_THEN:
        return None
    enters, folder = first.words
    return _literal(folder) if enters.source == _ENTERS else None


def _literal(folder: Word) -> str | None:
    is_literal = not folder.dynamic and not folder.value.startswith("-")
    is_literal = is_literal and _EXPANDED.isdisjoint(folder.value)
    return folder.value or None if is_literal else None
