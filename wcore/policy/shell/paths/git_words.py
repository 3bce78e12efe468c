"""Where the command stands among the words of git."""

from collections.abc import Sequence
from typing import Final

_WITH_VALUE: Final = frozenset(
    "-C -c --git-dir --work-tree --namespace --config-env --super-prefix --attr-source".split()
)


def command_at(words: Sequence[str | None]) -> int:
    """Return where the name of the command stands, or the number of words."""
    at = 1
    while at < len(words) and (words[at] or "").startswith("-"):
        at += 2 if words[at] in _WITH_VALUE else 1
    return min(at, len(words))


def command(words: Sequence[str | None]) -> str:
    """Return the name of the command, or nothing."""
    return next(iter(words[command_at(words) :]), None) or ""
