"""Commands that evaluate their words: as a subscript, an arithmetic expression, a callback.

For rules that deny: such a word, quoted or not, may run commands that nobody sees in it.
"""

import re
from collections.abc import Sequence
from typing import Final

from wcore.policy.shell.characters import ASSIGNMENT
from wcore.policy.shell.runners import may_start_any, program

_SUBSTITUTION: Final = re.compile(r"\$\(|`|<\(|>\(|@P")
_COMPUTED: Final = re.compile(r"[$`]")
#: They evaluate the subscript of a variable that their words name; some only behind an option.
_SUBSCRIPTS: Final = frozenset(
    "declare typeset local export readonly read mapfile readarray getopts unset wait".split()
)
_SUBSCRIPTS_BEHIND: Final = re.compile(r"-[vR]|[$`].*", re.DOTALL)
_SOMETIMES: Final = frozenset(["printf", "test", "["])
_ARITHMETIC: Final = frozenset(["let"])
_PLAIN_ARITHMETIC: Final = re.compile(
    r"[A-Za-z_]\w*(?:\+\+|--|[-+*/%]?=-?(?:\d+|[A-Za-z_]\w*[-+]\d+))"
)
#: By builtin, the arguments that are commands, or that bash expands again.
_CALLBACKS: Final = {
    "compgen": re.compile(r"-[A-Za-z]*[CFWX]"),
    "complete": re.compile(r"-[A-Za-z]*[CFWX]"),
    "mapfile": re.compile(r"-[A-Za-z]*C"),
    "readarray": re.compile(r"-[A-Za-z]*C"),
    "bind": re.compile(r"-[A-Za-z]*[xf]"),
    "fc": re.compile(r""),
}
#: Variables that bash expands again: before each traced command, or when it starts.
_EXPANDED_AGAIN: Final = re.compile(r"(PS4|PROMPT_COMMAND|BASH_ENV|ENV)(?:\+?=(.*))?", re.DOTALL)
_SPLIT_STRING: Final = re.compile(r"-[A-Za-z0]*S(?P<short>.*)|--s[a-z-]*=?(?P<long>.*)", re.DOTALL)

_APPENDS: Final = frozenset(["xargs", "gxargs"])
_REPLACES: Final = re.compile(r"-[A-Za-z0-9]*[IiJ](.*)|--replace(?:=(.*))?", re.DOTALL)
_VALUED: Final = frozenset("-n -P -L -s -d -E -a -I -J -R -S -u -C -k -c -p".split())
_NUMBER: Final = re.compile(r"[0-9][0-9.]*[smhd]?")

Words = Sequence[str | None]  # `None`: not known


def evaluates(words: Words, *, text: str) -> bool:
    """Whether a command of `text` evaluates a word that nobody can read."""
    rest = list(words)
    while len(rest) > 1 and rest[0] in ("builtin", "command"):
        rest = rest[1:]
    name, given = rest[0] or "", rest[1:]
    callback = _CALLBACKS.get(name)
    if callback is not None and any(word is None or callback.match(word) for word in given):
        return True
    if name == "fc":
        return True
    if name in _ARITHMETIC:
        hidden = _SUBSTITUTION.search(text) is not None
        plain = all(word and _PLAIN_ARITHMETIC.fullmatch(word) for word in given)
        return hidden or not plain
    if name in _SOMETIMES:
        behind = (at for at, word in enumerate(given) if _SUBSCRIPTS_BEHIND.match(word or "$"))
        given = given[next(behind, len(given)) :]
    elif name not in _SUBSCRIPTS:
        return False
    hides = _SUBSTITUTION.search(text) is not None
    return any(_is_subscript(word, hides=hides) for word in given)


def expands_again(word: str, *, sets: bool) -> bool:
    """Whether a word is about a variable whose value bash expands once more, to run what it says.

    `sets`: also where it stands alone, as in `read PS4`.
    """
    match = _EXPANDED_AGAIN.fullmatch(word)
    if match is None:
        return False
    if match[2] is None or match[1].endswith("ENV"):
        return sets or match[2] is not None
    return _SUBSTITUTION.search(match[2]) is not None


def runs_appended(words: Sequence[str]) -> bool:
    """Whether `xargs` lets what it reads say which program is run: `xargs env`, `xargs -I@ @`."""
    at = next((i for i, word in enumerate(words) if program(word) in _APPENDS), None)
    if at is None:
        return False
    replaced = {"{}"}
    rest = list(words[at + 1 :])
    for i, word in enumerate(rest):
        if match := _REPLACES.fullmatch(word):
            replaced.add(match[1] or (rest[i + 1] if i + 1 < len(rest) else "{}"))
    runs = False
    for i, word in enumerate(rest):
        before = rest[i - 1] if i else ""
        if word.startswith("-") or ASSIGNMENT.match(word) or _NUMBER.fullmatch(word):
            continue
        if before in _VALUED:
            continue
        if any(each in word for each in replaced):
            return True
        if not may_start_any((word,)) or program(word) == "find":
            return False
        runs = True
    return runs


def split_strings(words: Sequence[str]) -> list[str]:
    """Return the texts that `env -S TEXT` makes words of; what follows belongs to them."""
    found: list[str] = []
    for at, word in enumerate(words):
        match = _SPLIT_STRING.fullmatch(word)
        if match is not None:
            attached = match["short"] or match["long"]
            behind = words[at + 1 :]
            whole = " ".join([attached, *behind] if attached else behind)
            found.append(whole.replace("\\_", " "))  # which is a blank there
    return found


def _is_subscript(word: str | None, *, hides: bool) -> bool:
    """Whether a word may name an element of an array by what it computes."""
    computed = word is None or _COMPUTED.search(word) is not None
    return computed and (hides or word is None or "[" in word)
