"""Arguments with which a granted builtin evaluates text, or sets a variable, behind our back."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from wcore.policy.shell.characters import PLAIN
from wcore.policy.shell.model import Word

_FORMAT: Final = re.compile(  # text without %, or a conversion that only prints
    r"[^%]|%%|%[-+ #0']*(?:\*|[0-9]+)?(?:\.(?:\*|[0-9]*))?[hlLjzt]*[diouxXeEfFgGaAcsbqQ]"
    r"|%[0-9]*\([^()%]*(?:%[A-Za-z][^()%]*)*\)T",
    re.DOTALL,
)
_PATTERN: Final = re.compile(rf"(?:{PLAIN}|[*?])+")  # file names, and no other expansion
_TABLES: Final = ("BASH_ALIASES", "BASH_CMDS")
#: Builtins that do, by what stands among their arguments; `$X` may be it.
_RENAMING: Final = {
    "alias": re.compile(r"[=$]"),
    "shopt": re.compile(r"^expand_aliases$|\$"),
    "hash": re.compile(r"^-[a-z]*p|\$"),
    "enable": re.compile(r"^-[a-z]*f|\$"),
}
_EVALUATING: Final = frozenset(["-v", "-R"])


def renames(words: Sequence[str | None]) -> bool:
    """Whether a command makes later words mean other programs: aliases, hashed paths."""
    if any(word and any(table in word for table in _TABLES) for word in words):
        return True
    rest = list(words)
    while len(rest) > 1 and rest[0] in ("builtin", "command"):
        rest = rest[1:]
    name, given = rest[0] if rest else None, rest[1:]
    sign = _RENAMING.get(name or "")
    return sign is not None and any(word is None or sign.search(word) for word in given)


def find_hazard(head: str, arguments: Sequence[Word]) -> Word | None:
    """Return the argument that makes the builtin `head` more than it seems."""
    if head == "printf":
        return _in_printf(arguments)
    if head in ("test", "["):
        return _in_test(arguments)
    return None


def _in_printf(arguments: Sequence[Word]) -> Word | None:
    """`-v` assigns; so does `%n`, to the variable that an argument names."""
    if not arguments:
        return None
    first = arguments[0]
    if first.dynamic or first.value.startswith("-") or not _prints_only(first.value):
        return first
    return None


def _prints_only(form: str) -> bool:
    at = 0
    while match := _FORMAT.match(form, at):
        at = match.end()
    return at == len(form) and re.search(r"%[^A-Za-z%]*n", form.replace("%%", "")) is None


def _in_test(arguments: Sequence[Word]) -> Word | None:
    """`-v` and `-R` evaluate the subscript of their operand, quoted or not."""
    for i, word in enumerate(arguments):
        if _may_be(word, _EVALUATING) or "$(" in word.value or "`" in word.value:
            return word
        operand = arguments[i + 1] if i + 1 < len(arguments) else None
        if word.dynamic and operand and (operand.dynamic or "[" in operand.value):
            return word  # its value may be `-v`
    return None


def _may_be(word: Word, options: frozenset[str]) -> bool:
    """Whether what the shell makes of `word` may be, or contain, one of `options`."""
    if not word.loose:
        return word.value in options
    if not _PATTERN.fullmatch(word.source):
        return True
    return any(fnmatchcase(option, word.source) for option in options)
