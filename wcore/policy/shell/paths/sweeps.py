"""Commands that remove or change a whole tree, and the trees that none may: by where they lead.

The words are judged as bash evaluates them: `cd ~ && rm -rf *` removes the home as `rm -rf ~` does.
"""

import posixpath
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from wcore.policy.protected import is_within
from wcore.policy.shell.paths.searches import RUN
from wcore.policy.shell.paths.transfers import Transfer, heads
from wcore.policy.shell.paths.values import ANY, HOLES, NAME, PATTERN, beginning
from wcore.policy.stops import program

SYSTEM: Final = frozenset(
    "bin boot dev etc home lib lib32 lib64 opt proc root sbin srv sys usr var Users System Library"
    " Applications".split()
)
_CHANGERS: Final = frozenset("chmod chown chgrp".split())
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
    for at in heads(words):
        name, rest = program(words[at] or ""), [word or "" for word in words[at + 1 :]]
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
    at = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    while at < len(words):
        if words[at] in RUN:
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


def emptied(value: str) -> str | None:
    """Return the path that is left if all that is not known is empty; `None` if all is known."""
    return HOLES.sub("", value) if ANY in value or NAME in value else None


def takes_all(value: str) -> bool:
    """Whether what stands behind the folder of a pattern takes every name in it."""
    begin = beginning(value)
    return begin.endswith(("/", "/.")) and set(value[len(begin) :]) <= {PATTERN, "/", "."}


def trees(words: Sequence[str | None], put: Transfer | None) -> Iterable[int]:
    """Return which words stand for all that lies below them, which is changed or comes along."""
    plain = [program(words[at] or "") for at in heads(words)]
    is_deep = any(_is_deep(word or "") for word in words)
    if sweep_of(words) or (is_deep and not {"setfacl", "chattr"}.isdisjoint(plain)):
        return range(1, len(words))
    if put is None:
        return ()
    return [*(put.sources if put.deep else ()), *([put.to] if put.cleans and put.to else ())]
