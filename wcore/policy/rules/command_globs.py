"""Which commands a rule asks about or denies: globs over the words that they begin with.

It errs on the side of no: words are compared without quotes, programs without folder and case, and
options in front of a word are passed over.
"""

import re
from typing import Final

from msgspec import Struct

from wcore.policy import patterns
from wcore.policy.invocations import ASSIGNMENT, GRAMMAR, Invocation
from wcore.policy.invocations import WORDS_MAX as READ_MAX
from wcore.policy.invocations import program as name_of
from wcore.policy.patterns import WILD, PatternError
from wcore.policy.shell import leading_options

WORDS_MAX: Final = 32  # of a command in a rule
_NEVER_COMPARED: Final = frozenset("'\"\\{}")  # what is left of `{a,b}` stands in no word
_PLAIN_BRACKET: Final = re.compile(r"\[[^\[\]:]+\]")
_STARS: Final = re.compile(r"\*+")
_OTHER_BRACKET: Final = re.compile(r"\[.*\]", re.DOTALL)  # a class, or one with a `]` of its own
_GROUP_OF_WORDS: Final = re.compile(r"([^{}]*)\{([^{}]*)\}([^{}]*)")


class RuleError(ValueError):
    """The text is no rule; the message says why, for people."""


class CommandGlob(Struct, frozen=True):
    """Which commands to stop: globs over the leading words, one alternative must fit."""

    alternatives: tuple[tuple[str, ...], ...]

    @property
    def programs(self) -> tuple[str, ...]:
        return tuple(words[0] for words in self.alternatives)

    def fits(self, started: Invocation) -> bool:
        return any(_begins(started, words, guesses=False) for words in self.alternatives)

    def fits_among(self, words: tuple[str, ...]) -> bool:
        """Whether it fits a command that begins with any of the words."""
        begins = {program[:1].casefold() for program in self.programs}
        wild = not begins.isdisjoint(WILD)
        return any(
            self.fits(Invocation(words[at : at + READ_MAX]))
            for at, word in enumerate(words)
            if wild or name_of(word)[:1] in begins or word[:1] in begins
        )

    def may_fit(self, started: Invocation) -> bool:
        """Whether it would fit if the shell made the right words of those that it computes."""
        return any(_begins(started, words, guesses=True) for words in self.alternatives)


def parse_command_glob(spec: str) -> CommandGlob:
    """Return the commands to stop, with every choice of a `{a,b}` group.

    Raises:
        RuleError: it names no command, or none that could ever fit.
    """
    bare = spec.strip()
    bare = bare[:-2] if bare.endswith(":*") else bare
    group = _GROUP_OF_WORDS.fullmatch(bare)
    choices = group[2].split(",") if group else [""]
    found: list[tuple[str, ...]] = []
    for choice in choices:
        words = (group[1] + choice + group[3] if group else bare).split()
        if words and words[-1] == "*":
            words.pop()  # `git push *`: whatever follows, also nothing
        if not words:
            raise RuleError(f"({spec}) names no command; leave the brackets out to mean every one")
        if len(words) > WORDS_MAX:
            raise RuleError(f"({spec}) has more than {WORDS_MAX} words")
        found.append(tuple(words))
    for words in found:
        _check(words, spec)
    return CommandGlob(tuple(found))


def _check(words: tuple[str, ...], spec: str) -> None:
    """Refuse words that no command is compared with: the rule would never stop anything."""
    if words[0] in GRAMMAR or ASSIGNMENT.match(words[0]):
        raise RuleError(f"({spec}): {words[0]!r} is no command; begin with the program")
    for word in words:
        if _NEVER_COMPARED & set(word):
            raise RuleError(f"({spec}): words are compared without quotes, so {word!r} never fits")
        try:
            patterns.name_glob(word)
        except PatternError as error:
            raise RuleError(f"{word!r} in ({spec}): {error}") from error


def _begins(started: Invocation, wanted: tuple[str, ...], *, guesses: bool) -> bool:
    """Whether a command begins with words like these, options in front of any of them left out.

    With `guesses` a word that the shell computes may be any, and so may what was not read.
    """
    head = started.words[0].casefold() if "/" in wanted[0] else started.program
    program = wanted[0].casefold()
    if head[:1] != program[:1] and WILD.isdisjoint((head[:1], program[:1])):
        return False  # most rules are about other programs
    if not (_is_like(head, program) or (guesses and _may_become(head, program))):
        return False
    words = started.words
    places = {(1, leading_options.program_key(started.program))}
    for each in wanted[1:]:
        behind = {
            (at, key)
            for start, key in places
            for at in leading_options.behind_options(words, start, key)
        }
        if guesses:
            behind |= {(at + 1, key) for at, key in behind if _may_become_option(words, at)}
            if any(_is_open(words, at, each) for at, _ in behind):
                return True
        places = {
            (at + 1, leading_options.deeper(key, words[at]))
            for at, key in behind
            if at < len(words) and _is_like(words[at], each)
        }
    return bool(places)


def _is_open(words: tuple[str, ...], at: int, wanted: str) -> bool:
    """Whether what stands at a place, if anything, may become the word that a rule wants."""
    if at >= len(words):
        return at >= READ_MAX
    return leading_options.is_computed(words[at]) or _may_become(words[at], wanted)


def _may_become_option(words: tuple[str, ...], at: int) -> bool:
    return at < len(words) and words[at][:1] in WILD


def _may_become(word: str, wanted: str) -> bool:
    """Whether a pattern of file names may be replaced by what a rule wants: `p*`, `[p]ush`.

    A quoted one counts too: quotes are gone. Sets of characters are not evaluated.
    """
    if WILD.isdisjoint(word):
        return False
    if not WILD.isdisjoint(wanted):
        return True
    glob = _OTHER_BRACKET.sub("*", _PLAIN_BRACKET.sub("?", word)).replace("[", "?")
    glob = _STARS.sub("*", glob).casefold()
    try:
        return patterns.name_glob(glob).match(wanted.casefold()) is not None
    except PatternError:
        return True


def _is_like(word: str, wanted: str) -> bool:
    return word == wanted or patterns.name_glob(wanted).match(word) is not None
