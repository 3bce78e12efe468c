"""What a person may grant: the leading words of a command, and nothing that is a way to all."""

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct

from wcore.policy.shell.characters import PLAIN_WORD
from wcore.policy.shell.parser import RESERVED
from wcore.policy.shell.runners import Refused, Words, check_runner, command_words, program

GRANT_CHARS_MAX: Final = 1024  # a grant is to be read and understood before it is given
ALTERNATIVES_MAX: Final = 32  # of one `{a,b}` group

_GROUP: Final = re.compile(r"([^{}]*)\{([^{}]*)\}([^{}]*)")
_BLANKS: Final = re.compile(r"[ \t]+")
_HEAD: Final = re.compile(r"[A-Za-z0-9_./@][A-Za-z0-9_@%+:,./-]*|:|\[")  # with = it is no name

#: Builtins whose effect ends with them, given the checks in `builtins`.
_BUILTINS_HONOURED: Final = frozenset(
    ": true false echo pwd cd exit kill type printf test [".split()
)
#: All others, of bash 5.3: they evaluate text, or change what later words mean.
_BUILTINS: Final = frozenset(
    ". alias bg bind break builtin caller command compgen complete compopt continue declare dirs"
    " disown enable eval exec export fc fg getopts hash help history jobs let local logout mapfile"
    " popd pushd read readarray readonly return set shift shopt source suspend times trap typeset"
    " ulimit umask unalias unset wait".split()
)
_VARIABLES_REFUSED: Final = frozenset(
    "PATH IFS ENV SHELLOPTS PS4 CDPATH GLOBIGNORE EXECIGNORE LOCPATH".split()
)
_VARIABLES_REFUSED_BEGIN: Final = ("BASH", "LD_", "LC_", "POSIX")


class PrefixGrant(Struct, frozen=True):
    """A parsed prefix grant. A command must begin with the words of one of `alternatives`."""

    text: str
    alternatives: tuple[Words, ...]

    @property
    def words(self) -> Words:
        """The words of the first alternative: the only one, without a `{a,b}` group."""
        return self.alternatives[0]


class PrefixGrantRefused(Struct, frozen=True):
    """A text that grants nothing, and why, for people."""

    reason: str


@lru_cache(8)  # for one card the same text is weighed, tried and explained
def parse_grant(text: str) -> PrefixGrant | PrefixGrantRefused:
    """Return the grant that `text` spells, or why it cannot be honoured."""
    if len(text) > GRANT_CHARS_MAX:
        return PrefixGrantRefused(f"it is longer than {GRANT_CHARS_MAX} characters")
    bare = text.strip(" \t")
    bare = bare.removesuffix(":*") if bare.endswith(":*") else bare.removesuffix("*")
    bare = bare.strip(" \t")
    if not bare and text.strip(" \t"):
        return PrefixGrantRefused(
            "it names no command: every command cannot be granted by a prefix"
        )
    try:
        alternatives = tuple(_checked(spelled) for spelled in _spelled_out(bare))
    except Refused as refused:
        return PrefixGrantRefused(str(refused))
    return PrefixGrant(_BLANKS.sub(" ", bare), alternatives)


def _spelled_out(text: str) -> list[str]:
    if "{" not in text and "}" not in text:
        return [text]
    group = _GROUP.fullmatch(text)
    choices = group[2].split(",") if group else []
    if group is None or not 2 <= len(choices) <= ALTERNATIVES_MAX:
        raise Refused(f"it may have one {{a,b}} group of 2 to {ALTERNATIVES_MAX} words")
    if not all(map(PLAIN_WORD.fullmatch, choices)):
        raise Refused("a {a,b} group may hold plain words only")
    return [group[1] + choice + group[3] for choice in choices]


def _checked(text: str) -> Words:
    """Return the words of one alternative.

    Raises:
        Refused: it grants nothing.
    """
    words = tuple(word for word in _BLANKS.split(text) if word)
    if not words:
        raise Refused("it is empty")
    for word in words:
        if not PLAIN_WORD.fullmatch(word):
            raise Refused("it has characters other than letters, digits and _ @ % + = : , . / -")
    assigned = words[: len(words) - len(command_words(words))]
    _check_assignments(assigned)
    _check_command(words[len(assigned) :])
    return words


def _check_assignments(words: Words) -> None:
    for word in words:
        name = word.split("=")[0].rstrip("+")
        if name in _VARIABLES_REFUSED or name.startswith(_VARIABLES_REFUSED_BEGIN):
            raise Refused(f"it sets {name}, which changes what commands mean")


def _check_command(words: Words) -> None:
    """Check a command without its assignments; runners lead to the command that they run."""
    while True:
        if not words:
            raise Refused("it names no command")
        head = words[0]
        if not _HEAD.fullmatch(head) or head.endswith("/"):
            raise Refused(f"`{head}` is not the name of a command")
        if head in RESERVED:
            raise Refused(f"`{head}` is a word of the shell's grammar")
        if head in _BUILTINS and head not in _BUILTINS_HONOURED:
            raise Refused(f"`{head}` can change what later commands mean, or run any")
        inner = check_runner(words)
        if inner is None:
            return
        assigned = inner[: len(inner) - len(command_words(inner))]
        if assigned and program(head) not in ("env", "cross-env"):
            raise Refused(f"`{head}` must be followed by the command that it runs")
        _check_assignments(assigned)
        words = inner[len(assigned) :]
