"""Which characters may stand in a shell text at all, and the few sets that several parts share."""

import re
from functools import lru_cache
from typing import Final
from unicodedata import category

#: What a granted word may consist of: nothing here is special to bash inside a word.
PLAIN: Final = r"[A-Za-z0-9_@%+=:,./-]"
PLAIN_RUN: Final = re.compile(f"{PLAIN}+")
PLAIN_WORD: Final = re.compile(rf"{PLAIN}+|\[")
NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
ASSIGNMENT: Final = re.compile(rf"({NAME})\+?=")

_ORDINARY: Final = re.compile(r"[\t\n -~]*")
_CATEGORIES_REFUSED: Final = frozenset(["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"])
#: Letters and symbols that are drawn as nothing or as a blank.
_DRAWN_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def first_refused(text: str) -> int | None:
    """Return the offset of the first character that may not stand in a shell text."""
    ordinary = _ORDINARY.match(text)
    at = ordinary.end() if ordinary else 0
    return next((i for i in range(at, len(text)) if not _is_allowed(text[i])), None)


@lru_cache(4096)
def _is_allowed(character: str) -> bool:
    if character in "\n\t ":
        return True
    return category(character) not in _CATEGORIES_REFUSED and character not in _DRAWN_BLANK
