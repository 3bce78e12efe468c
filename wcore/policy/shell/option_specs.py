"""How the words after a command are to be read: one line of text for a command, read once.

-abc       letters that take no value         --name     a long option without one
-abc:      letters with a value               --name=    with one, attached or the next word
-abc?      perhaps with one, attached         --name=?   perhaps with one, attached
!-o:       an option that is never covered    !          the command itself is not
--name={a,b}   one of these values, attached or the next word; another is not covered
-#         a number may stand as an option
<2         nor are more operands than two     >1         nor are fewer operands than one
^          operands are tasks: a prefix that names one covers no further one
^0         nor does a prefix that names none
/          an operand that is an address (`https://x`, `npm:x`) or `@file` is not covered
*          options that are not named are covered; without it they are not
~          nothing of it is known to do harm, so words that the shell computes are covered
.          options end at the first operand; what follows belongs to what it runs
=          one dash is as good as two, letters are not bundled
@REGEX     operands in which this is found are not covered; several add up
%REGEX     nor are values of options
&REGEX     nor are words, whatever they are
"""

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache

from msgspec import Struct


class OptionArgument(Enum):
    """What follows an option."""

    NOTHING = ""
    VALUE = ":"
    ATTACHED = "?"


class Tasks(Enum):
    """Which tasks a prefix covers, where operands are tasks."""

    ANY = ""
    ONLY_THE_NAMED = "^"  # if it names one
    NONE_BUT_THE_NAMED = "^0"


class OptionSpec(Struct, frozen=True):
    """The options and operands of one command. Names are written with their dashes."""

    known: Mapping[str, OptionArgument]
    asks: Mapping[str, OptionArgument]
    asks_itself: bool = False
    is_open: bool = False  # `*`
    is_harmless: bool = False  # `~`
    hands_on: bool = False  # `.`
    single_dash: bool = False  # `=`
    numbers: bool = False  # `-#`
    no_addresses: bool = False  # `/`
    tasks: Tasks = Tasks.ANY
    operands_max: int | None = None
    operands_min: int = 0
    operand_pattern: re.Pattern[str] | None = None
    value_pattern: re.Pattern[str] | None = None
    word_pattern: re.Pattern[str] | None = None
    values: Mapping[str, frozenset[str]] = {}

    @property
    def never_covered(self) -> tuple[str, ...]:
        """The options that are known to do harm, as they are written."""
        return tuple(name[1:] if self.single_dash else name for name in self.asks)


_SUFFIXES = {
    ":": OptionArgument.VALUE,
    "=": OptionArgument.VALUE,
    "?": OptionArgument.ATTACHED,
    "=?": OptionArgument.ATTACHED,
}
_MARKS = {"!", "*", "~", ".", "=", "-#", "/", "^", "^0"}
_CHOICE = re.compile(r"(--[^={}]+)=\{([^{}]+)\}")


@lru_cache(1024)
def option_spec(text: str) -> OptionSpec:
    """Return what `text`, a line of one of our tables, says.

    Raises:
        ValueError: it is not written as the module's docstring says.
    """
    tokens = text.split()
    known: dict[str, OptionArgument] = {}
    asks: dict[str, OptionArgument] = {}
    limit: int | None = None
    least = 0
    patterns: dict[str, list[str]] = {}
    values: dict[str, frozenset[str]] = {}
    for token in tokens:
        if token in _MARKS:
            continue
        if token.startswith("<"):
            limit = int(token[1:])
        elif token.startswith(">"):
            least = int(token[1:])
        elif token.startswith(("@", "%", "&")):
            patterns.setdefault(token[0], []).append(token[1:])
        elif choice := _CHOICE.fullmatch(token):
            known[choice[1]] = OptionArgument.VALUE
            values[choice[1]] = frozenset(choice[2].split(","))
        else:
            _add(token.removeprefix("!"), asks if token.startswith("!") else known)
    compiled = {sign: re.compile("|".join(each)) for sign, each in patterns.items()}
    return OptionSpec(
        known,
        asks,
        asks_itself="!" in tokens,
        is_open="*" in tokens,
        is_harmless="~" in tokens,
        hands_on="." in tokens,
        single_dash="=" in tokens,
        numbers="-#" in tokens,
        no_addresses="/" in tokens,
        tasks=next((each for each in Tasks if each.value in tokens), Tasks.ANY),
        operands_max=limit,
        operands_min=least,
        operand_pattern=compiled.get("@"),
        value_pattern=compiled.get("%"),
        word_pattern=compiled.get("&"),
        values=values,
    )


def _add(token: str, options: dict[str, OptionArgument]) -> None:
    name = token.rstrip(":=?")
    suffix = token[len(name) :]
    takes = _SUFFIXES[suffix] if suffix else OptionArgument.NOTHING
    if name.startswith("--") and len(name) > 2:
        options[name] = takes
    elif name.startswith("-") and len(name) > 1:
        options.update((f"-{letter}", takes) for letter in name[1:])
    else:
        raise ValueError(f"{token!r} is no option")
