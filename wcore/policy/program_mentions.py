"""Whether a text that nobody understands names a program: generously, for saying no."""

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct

from wcore.policy import patterns, shell
from wcore.policy.documents import without_data
from wcore.policy.invocations import PARTS_MAX, program
from wcore.policy.shell_paths.ansi import decode

GLOB_CHARS_MAX: Final = 256  # of a word that may be a program

#: What the shell makes other characters of.
_ANSI: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_DEFAULT: Final = re.compile(r"\$\{!?[A-Za-z0-9_@*#?!-]+:?[-+=?]")  # `${x-rm}`
_CUT: Final = re.compile(r"\$\{!?\w+(?:\[[^]]*\])?(?:[#%/^,@]|:(?![-+=?]))")
_PARAMETER: Final = re.compile(r"\$(?:\{[^{}]*\}|\w+|[@*#?!$-])")
_SPLIT: Final = re.compile(r"^-[A-Za-z0]*S")  # `env -SX`
_SPACES: Final = re.compile(r"[\s;|&<>()`=]+")
_WILD: Final = re.compile(r"[*?]+|\[")
_BRACKET: Final = re.compile(r"\[[^]/]*\]")
_SAYS: Final = re.compile(r"\w")
_QUOTES: Final = str.maketrans("", "", "'\"\\")


def mentions(text: str, pattern: str) -> bool:
    """Whether a text that nobody understands has such a program's name among its words.

    A word of which the shell makes something counts as a pattern, where it says any of the name.
    """
    text = without_data(text)
    name, names = program(pattern), _names(text)
    if name in names.written:
        return True
    if patterns.WILD & set(name):
        return any(map(patterns.name_glob(name).match, names.written))
    if any(each.fullmatch(name) for each in names.patterns):
        return True
    return names.cut and name in text.casefold()


class _Names(Struct, frozen=True):
    written: frozenset[str]
    patterns: tuple[re.Pattern[str], ...]
    cut: bool  # the shell takes a part of a value: `${x#q}`


@lru_cache(2)  # one text is held against every rule
def _names(text: str) -> _Names:
    spelled = _ANSI.sub(lambda match: decode(match[1]) or "", text[: shell.ROUGH_CHARS_MAX])
    read = shell.rough_words(_DEFAULT.sub(" ", spelled))
    words = {*shell.rough_words(text), *read, *(_SPLIT.sub("", word) for word in read)}
    computed = (_PARAMETER.sub("*", word) for word in _SPACES.split(spelled.translate(_QUOTES)))
    globs = {program(word) for word in computed if _WILD.search(word)}
    said = (each for each in sorted(globs)[:PARTS_MAX] if _SAYS.search(each))
    return _Names(
        frozenset(program(word) for word in words),
        tuple(_glob(each) for each in said),
        _CUT.search(text) is not None,
    )


def _glob(word: str) -> re.Pattern[str]:
    """Return what a word may become, widely: a bracket is any character."""
    parts = (re.escape(part) for part in _WILD.split(_BRACKET.sub("?", word)[:GLOB_CHARS_MAX]))
    return re.compile(".*".join(parts))
