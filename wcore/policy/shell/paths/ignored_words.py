"""Words that name nothing a program touches: exclusions, patterns, messages, other machines."""

import re
from collections.abc import Sequence
from typing import Final

from wcore.policy.shell.paths import git_words

_EXCLUDES: Final = re.compile(r"--(?:exclude|exclude-dir|ignore|ignore-dir)(=.*)?")
#: Programs that do not touch what these options name.
_EXCLUDERS: Final = frozenset("grep egrep fgrep rg ag ack du diff tar rsync tree".split())
FIND_NAMES: Final = frozenset("-path -ipath -wholename -iwholename -name -iname".split())
FIND_NOT: Final = frozenset(["!", "-not"])
_FIND_MORE: Final = frozenset(["(", ")", ",", "-o", "-or"])  # that may turn a `!` around
#: Programs that look for the first of their operands, and the options with which they do not.
_SEARCHERS: Final = frozenset("grep egrep fgrep rg ag ack".split())
_PATTERN: Final = frozenset(["-e", "--regexp"])
_OTHER_PATTERNS: Final = re.compile(r"-[A-Za-z]*[efg].*|--(?:regexp|file|files|type-list).*")
_GIT_PATTERN: Final = frozenset(["--grep", "-S", "-G"])
_MESSENGERS: Final = frozenset("git gh glab hub svn hg jj".split())
_MESSAGE: Final = re.compile(
    r"-[a-z]*m|--(?:message|title|body|subject|description|notes)(=.*)?", re.DOTALL
)
_GIT_TOLD: Final = frozenset("commit tag merge notes stash revert".split())  # with messages
_COPIES_AFAR: Final = frozenset(["scp", "rsync", "sftp"])
_AFAR: Final = re.compile(r"(?!(?:[^/:]*@)?(?:localhost|127\.))[\w.@-]{2,}:")

_Words = Sequence[str | None]


def left_out(head: str, words: _Words) -> list[int]:
    """Return which words name what a program is known not to touch, or are no names at all."""
    if head == "find":
        return _by_find(words)
    found = _behind(words, _EXCLUDES) if head in _EXCLUDERS else []
    if head in _SEARCHERS:
        found += _searched_for(words)
    if head == "git":
        found += [at for at in range(2, len(words)) if words[at - 1] in _GIT_PATTERN]
        if git_words.command(words) == "grep":
            first = git_words.command_at(words)
            found += [first + at for at in _searched_for(words[first:])]
    if head in _MESSENGERS and (head != "git" or git_words.command(words) in _GIT_TOLD):
        found += _behind(words, _MESSAGE)
    return [*found, *(at for at, word in enumerate(words) if is_afar(head, word))]


def is_afar(head: str, word: str | None) -> bool:
    """Whether a word is on another machine: `scp x host:path`, not `./a:b`."""
    return head in _COPIES_AFAR and _AFAR.match(word or "") is not None


def _behind(words: _Words, option: re.Pattern[str]) -> list[int]:
    """Return the values of an option, `--x=VALUE` and `--x VALUE`."""
    found: list[int] = []
    for at, word in enumerate(words):
        match = option.fullmatch(word or "")
        if match is not None:
            found.append(at if match[1] else at + 1)
    return [at for at in found if at < len(words)]


def _searched_for(words: _Words) -> list[int]:
    """Return which words are patterns: those behind `-e`, or the first operand."""
    if any(_OTHER_PATTERNS.fullmatch(word or "-e") for word in words[1:]):
        return [at for at in range(2, len(words)) if words[at - 1] in _PATTERN]
    operands = (at for at, word in enumerate(words) if at and not (word or "").startswith("-"))
    return [at for at, _ in zip(operands, range(1), strict=False)]


def _by_find(words: _Words) -> list[int]:
    """Return which words are the names of `! -path X` and of `-path X -prune -o` at the beginning.

    Nothing else of the expression may bring them back.
    """
    first = next((i for i, w in enumerate(words) if i and (w is None or w[:1] in "-!(")), 0)
    pruned = [first + 1] if [*words[first + 2 : first + 4]] == ["-prune", "-o"] else []
    if pruned and words[first] in FIND_NAMES and not {"(", ")", ",", None} & {*words}:
        return pruned
    if _FIND_MORE & {*words} or None in words:
        return []
    return [
        at
        for at in range(3, len(words))
        if words[at - 1] in FIND_NAMES
        and words[at - 2] in FIND_NOT
        and words[at - 3] not in FIND_NOT
    ]
