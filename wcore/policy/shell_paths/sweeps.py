"""Commands that remove or change a whole tree, and the trees that none may: by where they lead.

The words are judged as bash evaluates them: `cd ~ && rm -rf *` removes the home as `rm -rf ~` does.
"""

import posixpath
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from wcore.policy.protected import is_within
from wcore.policy.shell.runners import may_start_any
from wcore.policy.shell_paths.values import Hole, Value
from wcore.policy.stops import program

SYSTEM: Final = frozenset(
    "bin boot dev etc home lib lib32 lib64 opt proc root sbin srv sys usr var Users System Library"
    " Applications".split()
)
_CHANGERS: Final = frozenset("chmod chown chgrp".split())
_RUN: Final = frozenset("-exec -execdir -ok -okdir".split())
#: Tests of find that leave whole trees in.
_WIDE: Final = frozenset("-delete -depth -d -xdev -mount -print -print0 -follow -noleaf".split())
_WIDE_VALUED: Final = frozenset("-mindepth -maxdepth -type".split())
_OF_A_USER: Final = re.compile(r"~[A-Za-z_][\w.-]*/*(?:\*|\.)?")


class Sweep(StrEnum):
    """What is done to all below a path."""

    REMOVES = "removes"
    CHANGES = "changes"


def sweep_of(words: Sequence[str | None]) -> Sweep | None:
    """Return what a command does to whole trees; `None` in `words` is a word that is not known."""
    plain = tuple(word or "" for word in words)
    runs = bool(plain and plain[0]) and may_start_any(plain)
    for at, word in enumerate(plain if runs else plain[:1]):
        name, rest = program(word), plain[at + 1 :]
        if name == "rm" and any(_is_deep(each) for each in rest):
            return Sweep.REMOVES
        if name in _CHANGERS and any(_is_deep(each) for each in rest):
            return Sweep.CHANGES
        if name == "find":
            return Sweep.REMOVES if _removes_all(rest) else None
    return None


def _is_deep(word: str) -> bool:
    if word.startswith("--"):
        return len(word) > 2 and "--recursive".startswith(word)
    return word.startswith("-") and not {"r", "R"}.isdisjoint(word)


def _removes_all(words: Sequence[str]) -> bool:
    begin = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    at = begin
    while at < len(words):
        if words[at] in _RUN:
            return at + 1 < len(words) and program(words[at + 1]) == "rm"
        if words[at] not in _WIDE | _WIDE_VALUED:
            return False
        at += 1 + (words[at] in _WIDE_VALUED)
    return "-delete" in words


def danger_of(sweep: Sweep, path: str, home: str) -> str | None:
    """Return the name of the check that a whole tree meets: the root, the home, the system's."""
    plain = "/" + posixpath.normpath(path).lstrip("/")
    if sweep is Sweep.CHANGES:
        return "chmod-root" if plain == "/" else None
    if plain == "/":
        return "rm-root"
    if is_within(home, plain):
        return "rm-home"
    return "rm-system" if plain[1:] in SYSTEM else None


def is_home_of_somebody(source: str) -> bool:
    return _OF_A_USER.fullmatch(source) is not None


def emptied(value: Value) -> str | None:
    """Return the path that is left if all that is not known is empty; `None` if all is known."""
    if not any(piece in (Hole.ANY, Hole.NAME) for piece in value.pieces):
        return None
    shown = (piece if isinstance(piece, str) else "" for piece in value.pieces)
    return "".join(shown)


def takes_all(value: Value) -> bool:
    """Whether what stands behind the folder of a pattern takes every name in it."""
    first = next((at for at, each in enumerate(value.pieces) if isinstance(each, Hole)), None)
    if first is None or not value.beginning.endswith(("/", "/.")):
        return False
    rest = value.pieces[first:]
    return all(piece is Hole.PATTERN or set(str(piece)) <= {"/", "."} for piece in rest)
