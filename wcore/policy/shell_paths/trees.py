"""What programs do to whole folders, and where what they copy, move or link comes to lie."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from wcore.policy.shell.runners import may_start_any
from wcore.policy.stops import program

#: Each program that puts files somewhere: its options of one letter that take a value.
PUTTERS: Final = {
    **{"cp": "St", "mv": "St", "ln": "St", "install": "Stmog", "rsync": "efTMB", "scp": "cFiJloPSX"}
}
_CHANGERS: Final = frozenset("rm chmod chown chgrp setfacl chattr".split())
_LONG_WITH_VALUE: Final = frozenset(
    "--suffix --mode --owner --group --exclude --include --exclude-from --include-from --filter"
    " --rsh --files-from --chmod --chown".split()
)
_TARGET: Final = "--target-directory"
#: What may stand behind the folders of a `find -delete` that deletes all that they hold.
_FIND_ALL: Final = frozenset("-delete -depth -d -xdev -mount -mindepth 0 1 -type f".split())

Words = Sequence[str | None]


class Transfer(Struct, frozen=True):
    """One source and its destination, each by its number among the words.

    `target` is the destination where it is a part of a word, as in `--target-directory=x`, or `.`.
    `deep`: a folder comes with all that it holds. `into` and `onto`: as a name in the destination,
    as the destination itself.
    """

    source: int
    destination: int | None
    target: str = ""
    deep: bool = False
    into: bool = True
    onto: bool = True


class TreeChanges(Struct, frozen=True):
    """What a command does. `trees`: the words that are changed with all that lies below."""

    trees: tuple[int, ...] = ()
    puts: tuple[Transfer, ...] = ()


class _WordsByKind(Struct):
    """The words of a command by what they are."""

    operands: list[int]
    letters: set[str]
    longs: list[str]
    target: str = ""
    target_at: int | None = None


_NOTHING: Final = TreeChanges()


def changes(words: Words) -> TreeChanges:
    """Return what the words of a command, or of one behind a runner, do; `None` is not known."""
    head = program(words[0]) if words and words[0] else ""
    if not head:
        return _NOTHING
    plain = tuple(word or "" for word in words)
    begins = [0, *range(1, len(words))] if head == "git" or may_start_any(plain) else [0]
    if head == "find":  # its own words go on behind those of what it runs
        end = next((at for at, word in enumerate(words) if at and word in (";", "+")), len(words))
        words = words[:end]
    for begin in begins[: len(words)]:
        name = program(words[begin] or "")
        if name in PUTTERS:
            return _of_putter(name, words, begin)
        if name in _CHANGERS or name == "find":
            found = _of_changer(name, words, begin)
            if found.trees:
                return found
    return _NOTHING


def destination(words: Words) -> int | None:
    """Return which word of a program that puts files is where to, if a whole word is."""
    given = _given(words, 0, PUTTERS.get(program(words[0] or ""), ""))
    if given.target_at is not None or given.target:
        return given.target_at
    return given.operands[-1] if len(given.operands) > 1 else None


def _given(words: Words, begin: int, with_value: str) -> _WordsByKind:
    found = _WordsByKind([], set(), [])
    at, ended = begin + 1, False
    while at < len(words):
        word = words[at]
        if ended or word is None or not word.startswith("-") or word == "-":
            found.operands.append(at)
        elif word == "--":
            ended = True
        elif word.startswith("--"):
            at += _long(found, word, at, is_target="t" in with_value)
        else:
            at += _bundle(found, word, at, with_value)
        at += 1
    return found


def _long(found: _WordsByKind, word: str, at: int, *, is_target: bool) -> int:
    """Note a long option; return how many words behind belong to it."""
    name, attached, value = word.partition("=")
    found.longs.append(name)
    if is_target and len(name) > 2 and _TARGET.startswith(name):
        found.target, found.target_at = value, None if attached else at + 1
        return 0 if attached else 1
    return 1 if name in _LONG_WITH_VALUE and not attached else 0


def _bundle(found: _WordsByKind, word: str, at: int, with_value: str) -> int:
    for index, letter in enumerate(word[1:], 2):
        if letter in with_value:
            rest = word[index:]
            if letter == "t":
                found.target, found.target_at = rest, None if rest else at + 1
            return 0 if rest else 1
        found.letters.add(letter)
    return 0


def _of_putter(name: str, words: Words, begin: int) -> TreeChanges:
    given = _given(words, begin, PUTTERS[name])
    sources, target, target_at = given.operands, given.target, given.target_at
    if not target and target_at is None and len(sources) > 1:
        sources, target_at = sources[:-1], sources[-1]
    elif not target and target_at is None:
        target = "."
        if name != "ln":
            return _NOTHING
    if target_at is not None and target_at >= len(words):
        return _NOTHING
    deep = name == "mv" or bool(given.letters & set("aRr")) or _begins(given.longs, "--recursive")
    deep = (deep or _begins(given.longs, "--archive")) and name not in ("ln", "install")
    into = not ("T" in given.letters or _begins(given.longs, "--no-target-directory"))
    puts = tuple(Transfer(at, target_at, target, deep, into or name == "rsync") for at in sources)
    cleans = name == "rsync" and any(each.startswith("--del") for each in given.longs)
    cleaned = (target_at,) if cleans and target_at is not None else ()
    return TreeChanges((*sources, *cleaned) if name == "mv" else cleaned, puts)


def _begins(longs: list[str], name: str) -> bool:
    """Whether an option stands there, perhaps shortened."""
    return any(len(each) > 3 and name.startswith(each) for each in longs)


def _of_changer(name: str, words: Words, begin: int) -> TreeChanges:
    if name == "find":
        behind = begin + 1
        while behind < len(words) and not (words[behind] or "").startswith(("-", "(", "!")):
            behind += 1
        rest = words[behind:]
        is_all = "-delete" in rest and all(word in _FIND_ALL for word in rest)
        return TreeChanges(tuple(range(begin + 1, behind))) if is_all else _NOTHING
    given = _given(words, begin, "")
    is_deep = bool(given.letters & set("Rr")) if name == "rm" else "R" in given.letters
    if not is_deep and not _begins(given.longs, "--recursive"):
        return _NOTHING
    return TreeChanges(tuple(given.operands))
