"""What `find` does something to: whatever below its folders fits the names that it asks for.

Without a test of names only what is written counts: to read all of a folder names no file of it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from wcore.policy.shell.runners import may_start_any
from wcore.policy.shell_paths.ignored_words import FIND_NAMES, FIND_NOT
from wcore.policy.shell_paths.programs import Role, roles
from wcore.policy.shell_paths.values import Hole, Piece, Value, joined, text
from wcore.policy.stops import program

_RUN: Final = frozenset("-exec -execdir -ok -okdir".split())
_OR: Final = frozenset(["-o", "-or", ","])
_BRACKETS: Final = frozenset("()")
_PATHS: Final = frozenset("-path -ipath -wholename -iwholename".split())
_OWN_OPTION: Final = re.compile(r"-[HLP]+|-O\d*")
_GLOB: Final = re.compile(r"[*?]+|\[[^\]/]*\]|\\")
_EVERYTHING: Final = Value((Hole.FOLDERS, Hole.NAME))
_STRENGTH: Final = (Role.WRITE, Role.UNKNOWN, Role.READ)

_Words = Sequence[str | None]


def found_by(argv: Sequence[Value], role: Role | None = None) -> Iterator[tuple[Value, Role]]:
    """Yield the paths that a `find` among the words changes or hands on, as patterns.

    `role`: what another program does to those that it prints.
    """
    words = [value.literal for value in argv]
    at = _find_at(words)
    if at is None:
        return
    begin = at + 1
    while begin < len(words) and _OWN_OPTION.fullmatch(words[begin] or ""):
        begin += 1
    end = begin
    while end < len(words) and not (words[end] or "x").startswith(("-", "(", "!")):
        end += 1
    role = role or _role(words[end:])
    if role is None:
        return
    for root in argv[begin:end] or [text(".")]:
        for below in _asked(argv[end:], words[end:], role):
            yield root + text("/") + below, role


def _find_at(words: _Words) -> int | None:
    plain = tuple(word or "" for word in words)
    runs = bool(plain and plain[0]) and may_start_any(plain)
    heads = plain if runs else plain[:1]
    return next((at for at, word in enumerate(heads) if program(word) == "find"), None)


def _role(words: _Words) -> Role | None:
    """Return the strongest of what happens to what is found."""
    done = {Role.WRITE} if "-delete" in words else set[Role]()
    for at, word in enumerate(words):
        if word in _RUN:
            rest = words[at + 1 :]
            end = next((i for i, each in enumerate(rest) if each in (";", "+")), len(rest))
            inner = list(rest[:end])
            found = roles(inner)
            done |= {role for each, role in zip(inner, found, strict=True) if "{}" in (each or "")}
    return next((role for role in _STRENGTH if role in done), None)


def _asked(values: Sequence[Value], words: _Words, role: Role) -> list[Value]:
    """Return what stands for the names that are asked for, below a folder."""
    found: list[Value] = []
    is_open = False  # whether a part asks for no name
    for begin, end in _parts(words):
        part = words[begin:end]
        names = [at for at in range(begin + 1, end) if _asks_for(words, at)]
        found += [_of_test(words[at - 1] or "", values[at]) for at in names]
        acts = "-delete" in part or not _RUN.isdisjoint(part)
        is_pruned = "-prune" in part and not acts
        is_open = is_open or not (names or is_pruned or not (acts or _BRACKETS & {*words}))
    if is_open and role is Role.WRITE:
        return [_EVERYTHING]
    return list(dict.fromkeys(found))


def _parts(words: _Words) -> Iterator[tuple[int, int]]:
    cuts = [at for at, word in enumerate(words) if word in _OR]
    yield from zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(words)], strict=True)


def _asks_for(words: _Words, at: int) -> bool:
    """Whether the word at `at` is a name that is asked for, not one that is left out."""
    return (
        words[at - 1] in FIND_NAMES
        and (at < 2 or words[at - 2] not in FIND_NOT)
        and words[at + 1 : at + 2] != ["-prune"]
    )


def _of_test(test: str, value: Value) -> Value:
    if test == "-iname" and value.literal:
        value = text(f"*{value.literal[1:]}")  # names with holes fit in either case
    if test not in _PATHS:
        return Value((Hole.FOLDERS,)) + _pattern(value)
    last = (value.literal or "*").rstrip("/").rpartition("/")[2]
    if "*" in last:  # which takes `/` as well: what is behind the last one may be all of a name
        last = "*" + last.rpartition("*")[2]
    elif test.startswith("-i"):
        last = f"*{last[1:]}"
    return Value((Hole.FOLDERS,)) + _pattern(text(last))


def _pattern(value: Value) -> Value:
    """Return a pattern of find with its holes: they take dots too."""
    pieces: list[Piece] = []
    for piece in value.pieces:
        if isinstance(piece, Hole):
            pieces.append(Hole.NAME)
            continue
        at = 0
        for match in _GLOB.finditer(piece):
            pieces += [piece[at : match.start()], *([] if match[0] == "\\" else [Hole.NAME])]
            at = match.end()
        pieces.append(piece[at:])
    return joined(pieces)
