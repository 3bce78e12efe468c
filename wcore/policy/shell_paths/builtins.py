"""Builtins that change what later words mean."""

from collections.abc import Sequence
from typing import Final

#: They set variables that their words name.
DECLARERS: Final = frozenset("declare typeset local export readonly".split())
SETTERS: Final = DECLARERS | frozenset("getopts let unset wait".split())
#: What they set is made of their words and of what they are given as text.
READERS: Final = frozenset("read mapfile readarray printf".split())
#: An assignment in front of them outlives them, in some shells.
SPECIAL: Final = frozenset(
    ": . source break continue eval exec exit export readonly return set shift times trap"
    " unset".split()
)
#: They evaluate subscripts in their words, quoted or not.
_SUBSCRIPTS: Final = SETTERS | READERS | frozenset("test [ [[".split())
_HARMLESS_OPTIONS: Final = frozenset("errexit nounset pipefail xtrace verbose errtrace".split())


def evaluates(name: str | None, argv: Sequence[str | None]) -> bool:
    """Whether a builtin would run commands that stand in a quoted word."""
    if name not in _SUBSCRIPTS:
        return False
    return any(word and ("$(" in word or "`" in word) for word in argv[1:] if _may_name(word))


def _may_name(word: str | None) -> bool:
    return word is not None and "[" in word


def keeps_meaning(argv: Sequence[str | None]) -> bool:
    """Whether a `set` only changes what happens after errors."""
    expected = False
    for word in argv[1:]:
        if word is None:
            return False
        if expected and word in _HARMLESS_OPTIONS:
            expected = False
        elif word[:1] in ("-", "+") and len(word) > 1 and set(word[1:]) <= set("euxvEo"):
            expected = word.endswith("o")
        else:
            return False
    return not expected


def only_activates(argv: Sequence[str | None]) -> bool:
    """Whether `. X` reads the `bin/activate` of a virtual environment: it sets variables only.

    By its name: what a file that is sourced does by itself is not seen anyway.
    """
    return len(argv) == 2 and (argv[1] or "").endswith("bin/activate")
