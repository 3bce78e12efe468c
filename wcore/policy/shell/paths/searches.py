"""What `find` does something to: whatever below its folders fits the names that it asks for.

Without a test of names only what is written counts: to read all of a folder names no file of it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from wcore.policy.shell.paths.ignored_words import FIND_NAMES, FIND_NOT
from wcore.policy.shell.paths.roles import Role, roles
from wcore.policy.shell.paths.transfers import heads
from wcore.policy.shell.paths.values import FOLDERS, NAME, literal
from wcore.policy.stops import program

RUN: Final = frozenset("-exec -execdir -ok -okdir".split())
_OR: Final = frozenset(["-o", "-or", ","])
_OWN_OPTION: Final = re.compile(r"-[HLP]+|-O\d*")
_GLOB: Final = re.compile(r"[*?]+|\[[^\]/]*\]")
_STRENGTH: Final = (Role.WRITE, Role.UNKNOWN, Role.READ)

_Words = Sequence[str | None]


def found_by(argv: Sequence[str], role: Role | None = None) -> Iterator[tuple[str, Role]]:
    """Yield the paths that a `find` among the words changes or hands on, as patterns.

    `role`: what another program does to those that it prints.
    """
    words = [literal(value) for value in argv]
    at = next((at for at in heads(words) if program(words[at] or "") == "find"), None)
    if at is None:
        return
    begin = at + 1
    while begin < len(words) and _OWN_OPTION.fullmatch(words[begin] or ""):
        begin += 1
    end = begin
    while end < len(words) and not (words[end] or "x").startswith(("-", "(", "!")):
        end += 1
    role = role or _role(words[end:])
    if role is not None:
        for root in argv[begin:end] or ["."]:
            for name in _asked(argv[end:], words[end:], role):
                yield f"{root}/{FOLDERS}/{name}", role


def _role(words: _Words) -> Role | None:
    """Return the strongest of what happens to what is found."""
    done = {Role.WRITE} if "-delete" in words else set[Role]()
    for at, word in enumerate(words):
        if word in RUN:
            rest = words[at + 1 :]
            end = next((i for i, each in enumerate(rest) if each in (";", "+")), len(rest))
            inner = list(rest[:end])
            found = zip(inner, roles(inner), strict=True)
            done |= {role for each, role in found if "{}" in (each or "")}
    return next((role for role in _STRENGTH if role in done), None)


def _asked(values: Sequence[str], words: _Words, role: Role) -> list[str]:
    """Return the names that are asked for; any, where what is written has none."""
    found: list[str] = []
    is_open = False  # whether a part asks for no name
    cuts = [at for at, word in enumerate(words) if word in _OR]
    for begin, end in zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(words)], strict=True):
        part = words[begin:end]
        names = [at for at in range(begin + 1, end) if _asks_for(words, at)]
        found += [_of_test(words[at - 1] or "", values[at]) for at in names]
        acts = "-delete" in part or not RUN.isdisjoint(part)
        is_harmless = ("-prune" in part and not acts) or not (acts or {"(", ")"} & {*words})
        is_open = is_open or not (names or is_harmless)
    return [NAME] if is_open and role is Role.WRITE else list(dict.fromkeys(found))


def _asks_for(words: _Words, at: int) -> bool:
    """Whether the word at `at` is a name that is asked for, not one that is left out."""
    is_left_out = at >= 2 and words[at - 2] in FIND_NOT
    is_name = words[at - 1] in FIND_NAMES and words[at + 1 : at + 2] != ["-prune"]
    return is_name and not is_left_out


def _of_test(test: str, value: str) -> str:
    """Return the last name of what a test takes: a pattern takes dots, and that of a path `/`."""
    last = value.rstrip("/").rpartition("/")[2] if "path" in test or "whole" in test else value
    if "*" in last and last is not value:
        last = "*" + last.rpartition("*")[2]
    elif test.startswith("-i"):
        last = f"*{last[1:]}"  # names with holes fit in either case
    return _GLOB.sub(NAME, last.replace("\\", ""))
