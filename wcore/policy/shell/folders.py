"""In which folder the commands of a text are run: `cd DIR &&` in front of them.

A prefix holds in any folder of the workspace. So where somebody has looked that DIR is a plain
one, `cd DIR` needs no grant of its own; what the folder may make another thing still asks.
"""

from collections.abc import Container
from typing import Final

from msgspec.structs import replace

from wcore.policy.shell.model import Analysis, Word, utf8

_ENTERS: Final = "cd"
_AND_THEN: Final = b"&&"


def folders_entered(analysis: Analysis) -> list[str]:
    """Return the folders of which `in_folders` must be told whether they are plain ones."""
    folder = _entered_first(analysis)
    return [] if folder is None else [folder]


def in_folders(analysis: Analysis, plain: Container[str]) -> Analysis:
    """Return the analysis with the commands that need a grant, where all are in `plain` folders."""
    folder = _entered_first(analysis)
    if folder is None or folder not in plain:
        return analysis
    moved = (replace(command, moved=True) for command in analysis.commands[1:])
    return replace(analysis, commands=tuple(moved))


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
    return folder.value or None if is_literal else None
