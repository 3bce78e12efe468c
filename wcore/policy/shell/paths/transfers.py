"""Programs that put files somewhere: which of their words say what, and which where to."""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from wcore.policy.shell.runners import may_start_any
from wcore.policy.stops import program

HEADS_MAX: Final = 256  # nobody writes as many words before the program that is run

#: Each with its options of one letter that take a value.
PUTTERS: Final = {
    **{"cp": "St", "mv": "St", "ln": "St", "install": "Stmog", "rsync": "efTMB", "scp": "cFiJloPSX"}
}
_LONG_WITH_VALUE: Final = frozenset(
    "--suffix --mode --owner --group --exclude --include --exclude-from --include-from --filter"
    " --rsh --files-from --chmod --chown".split()
)
_TARGET: Final = re.compile(r"-[A-RT-Za-ln-su-z]*t(?P<short>.*)|--t[a-z-]*(?:=(?P<long>.*))?")
_DEEP: Final = re.compile(r"-[A-Za-z]*[aRr][A-Za-z]*|--(?:rec|arc).*")

Words = Sequence[str | None]


class Transfer(Struct, frozen=True):
    """The words that are put somewhere, and the word that says where; or `target` does.

    `deep`: a folder comes with all that it holds.
    """

    program: str
    sources: tuple[int, ...]
    to: int | None
    target: str = ""
    deep: bool = False
    cleans: bool = False


def heads(words: Words) -> Sequence[int]:
    """Return which words of a command may be the program, behind one that runs others too."""
    plain = tuple(word or "" for word in words)
    runs = bool(plain and plain[0]) and (program(plain[0]) == "git" or may_start_any(plain))
    return range(min(len(words), HEADS_MAX if runs else 1))


def transfer(words: Words) -> Transfer | None:
    """Return what a command, or one behind a runner, puts where; `None` in `words`: not known."""
    if words and program(words[0] or "") == "find":  # its own words go on behind those of that
        end = next((at for at, word in enumerate(words) if at and word in (";", "+")), None)
        words = words[:end]
    begin = next((at for at in heads(words) if program(words[at] or "") in PUTTERS), None)
    return None if begin is None else _transfer(program(words[begin] or ""), words, begin)


def _transfer(name: str, words: Words, begin: int) -> Transfer | None:
    takes_value = re.compile(f"-[A-Za-z]*?[{PUTTERS[name]}]")
    operands: list[int] = []
    options: list[str] = []
    to, target, at, is_ended = None, "", begin, False
    while (at := at + 1) < len(words):
        word = words[at]
        if is_ended or word is None or not word.startswith("-") or word == "-":
            operands.append(at)
            continue
        options.append(word)
        is_ended = word == "--"
        place = _TARGET.fullmatch(word) if "t" in PUTTERS[name] else None
        if place is not None:
            target = place["short"] or place["long"] or ""
            to = None if target else at + 1
            at += to is not None
        elif word in _LONG_WITH_VALUE or takes_value.fullmatch(word):
            at += 1
    if not target and to is None and len(operands) > 1:
        to = operands.pop()
    elif not target and to is None and name == "ln":
        target = "."
    if (to is None and not target) or (to is not None and to >= len(words)):
        return None
    deep = name not in ("ln", "install") and any(map(_DEEP.fullmatch, options))
    cleans = name == "rsync" and any(each.startswith("--del") for each in options)
    return Transfer(name, tuple(operands), to, target, deep or name == "mv", cleans)
