"""Which commands a rule asks about or denies: globs over the words that they begin with.

It errs on the side of no: words are compared without quotes, programs without folder and case, and
options in front of a word are passed over.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from wcore.policy import patterns
from wcore.policy.patterns import WILD, PatternError
from wcore.policy.shell import Reason, leading_options
from wcore.policy.shell.parser import RESERVED
from wcore.policy.shell.word_parts import ASSIGNMENT, HOLE
from wcore.policy.stops import WORDS_MAX as READ_MAX
from wcore.policy.stops import Head, Scan, Span, tokens
from wcore.policy.stops import program as name_of

WORDS_MAX: Final = 32  # of a command in a rule
_NEVER_COMPARED: Final = frozenset("'\"\\{}")  # what is left of `{a,b}` stands in no word
LETTERS_MAX: Final = 4  # of a bundle of options in a rule
_SAYS: Final = re.compile(r"\w")
_CUT: Final = re.compile(r"\$\{!?\w+(?:\[[^]]*\])?(?:[#%/^,@]|:(?![-+=?]))")  # `${x#q}`
_GROUP_OF_WORDS: Final = re.compile(r"([^{}]*)\{([^{}]*)\}([^{}]*)")


class Stop(Struct, frozen=True):
    """Where a rule fits a text; with a `code` it only may, for that reason."""

    span: Span | None
    code: str | None = None


class RuleError(ValueError):
    """The text is no rule; the message says why, for people."""


class CommandGlob(Struct, frozen=True):
    """Which commands to stop: globs over the leading words, one alternative must fit."""

    alternatives: tuple[tuple[str, ...], ...]

    def find(self, seen: Scan, *, guesses: bool = True) -> Stop | None:
        """Return where it fits what is seen of a text, or may.

        Without `guesses` a program that the shell computes counts where it says some of the name.
        """
        found = (_find(words, seen, guesses=guesses) for words in self.alternatives)
        stops = [stop for stop in found if stop is not None]
        return next((stop for stop in stops if stop.code is None), stops[0] if stops else None)


def parse_command_glob(spec: str) -> CommandGlob:
    """Return the commands to stop, with every choice of a `{a,b}` group.

    Raises:
        RuleError: it names no command, or none that could ever fit.
    """
    bare = spec.strip().removesuffix(":*")
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
    if words[0] in RESERVED or ASSIGNMENT.match(words[0]):
        raise RuleError(f"({spec}): {words[0]!r} is no command; begin with the program")
    for word in words:
        if _NEVER_COMPARED & set(word):
            raise RuleError(f"({spec}): words are compared without quotes, so {word!r} never fits")
        try:
            patterns.name_glob(word)
        except PatternError as error:
            raise RuleError(f"{word!r} in ({spec}): {error}") from error


def _find(wanted: tuple[str, ...], seen: Scan, *, guesses: bool) -> Stop | None:
    for head in seen.heads:
        if _begins(head, wanted, guesses=False):
            return Stop(head.span)
    if _is_spelled(wanted, seen.spelled):
        return Stop(None, Reason.EVALUATED)
    for head in (*seen.heads, *seen.possible):
        if _begins(head, wanted, guesses=True):
            return Stop(head.span, Reason.DYNAMIC_ARGUMENT)
    for made in seen.computed:
        if _may_be_program(made, name_of(wanted[0]), seen, guesses=guesses):
            return Stop(made.span, Reason.DYNAMIC_HEAD)
    return Stop(seen.span, seen.doubt) if guesses and seen.doubt is not None else None


def _is_spelled(wanted: tuple[str, ...], spelled: frozenset[str]) -> bool:
    """Whether all words of a rule occur in a text, as tokens of any language."""
    short, folded = _kinds(spelled)
    first = name_of(wanted[0])
    if WILD.isdisjoint(first):
        begins = all(part in folded or _ends(part, short) for part in _parts(first))
    else:
        begins = any(map(patterns.name_glob(first).match, folded))
    return begins and all(_occurs(word, spelled, short) for word in wanted[1:])


@lru_cache(4)  # one text is held against every rule
def _kinds(spelled: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the tokens that may be bundles of options, and all of them without their case."""
    short = (token for token in spelled if token.startswith("-") and token[1:2] != "-")
    return frozenset(short), frozenset(token.casefold() for token in spelled)


def _occurs(word: str, spelled: frozenset[str], short: Iterable[str]) -> bool:
    if not WILD.isdisjoint(word):
        return True
    if word.startswith("-"):
        return _has_option(word, spelled)
    return all(part in spelled or _ends(part, short) for part in _parts(word))


def _parts(word: str) -> list[str]:
    found = tokens(word)
    return [part for part in found if _SAYS.search(part)] or found


def _ends(part: str, short: Iterable[str]) -> bool:
    """Whether a word stands right behind an option: `-Srm`."""
    return any(token.endswith(part) for token in short)


def _has_option(wanted: str, words: Iterable[str]) -> bool:
    """Whether an option stands among words: bundled, shortened or with a value."""
    given = [word.partition("=")[0] for word in words if word.startswith("-") and len(word) > 1]
    if wanted in given:
        return True
    if wanted.startswith("--"):
        return any(wanted.startswith(word) for word in given if word[2:])
    return is_bundle(wanted) and set(wanted[1:]) <= {
        letter for word in given if word[1] != "-" for letter in word[1:]
    }


def is_bundle(option: str) -> bool:
    """Whether an option of a rule is letters, not the long name of one with one dash."""
    letters = option[1:]
    is_long = option.startswith("--") or len(letters) > LETTERS_MAX
    return not is_long and len(set(letters)) == len(letters)


def _may_be_program(made: Head, name: str, seen: Scan, *, guesses: bool) -> bool:
    """Whether the shell may make this program of what is computed."""
    (shape,), (value,) = made.shapes, made.words
    if guesses:
        return not WILD.isdisjoint(name) or name.endswith(shape.rpartition(HOLE)[2].casefold())
    if _SAYS.search(shape) and _may_become(shape, name):
        return True
    return _CUT.search(value) is not None and any(name in token for token in seen.spelled)


def _begins(head: Head, wanted: tuple[str, ...], *, guesses: bool) -> bool:
    """Whether a command begins with words like these, options in front of any of them left out.

    Options may stand anywhere behind the program. With `guesses` a word that the shell computes
    may be any of its shape, and so may what was not read.
    """
    if len(wanted) < head.words_min:
        return False
    first = head.words[0].casefold() if "/" in wanted[0] else head.program
    name = wanted[0].casefold()
    shape = head.shapes[0].rsplit("/", 1)[-1]
    if not _is_like(first, name) and not (
        guesses and _SAYS.search(shape) and _may_become(shape, name)
    ):
        return False
    if _follow(head, wanted[1:], guesses=guesses):
        return True
    options = [word for word in wanted[1:] if word.startswith("-")]
    others = [word for word in wanted[1:] if not word.startswith("-")]
    if not options or not _follow(head, others, guesses=guesses):
        return False
    return all(
        _has_option(option, head.words[1:]) or (guesses and _may_have_option(option, head))
        for option in options
    )


def _follow(head: Head, wanted: Sequence[str], *, guesses: bool) -> bool:
    """Whether these words follow the program in their order, with nothing but options between."""
    words = head.words
    places = {(1, leading_options.program_key(head.program))}
    for each in wanted:
        behind = {
            (at, key)
            for start, key in places
            for at in leading_options.behind_options(words, start, key)
        }
        if guesses:
            behind |= {
                (at + 1, key)
                for at, key in behind
                if at < len(words) and head.shapes[at].startswith(HOLE)
            }
            if any(_is_open(head, at, each) for at, _ in behind):
                return True
        places = {
            (at + 1, leading_options.deeper(key, words[at]))
            for at, key in behind
            if at < len(words) and _is_word(words[at], each)
        }
    return bool(places)


def _is_open(head: Head, at: int, wanted: str) -> bool:
    """Whether what stands at a place, if anything, may become the word that a rule wants."""
    if at >= len(head.words):
        return at >= READ_MAX
    return _may_become(head.shapes[at], wanted)


def _may_have_option(wanted: str, head: Head) -> bool:
    """Whether a word that the shell computes, or one that was not read, may be an option."""
    bundle = any(shape.startswith("-") and HOLE in shape for shape in head.shapes)
    if len(head.words) >= READ_MAX or (bundle and not wanted.startswith("--")):
        return True
    return any(_may_become(shape, wanted) for shape in head.shapes[1:])


def _may_become(shape: str, wanted: str) -> bool:
    """Whether the shell may make of a shape what a rule wants."""
    if HOLE not in shape:
        return False
    if not WILD.isdisjoint(wanted):
        return True
    return _shape(shape.casefold()).fullmatch(wanted.casefold()) is not None


@lru_cache(256)
def _shape(shape: str) -> re.Pattern[str]:
    """Return what fits a shape; each hole takes the shortest stretch, and never more."""
    first, *rest = re.sub(f"{HOLE}+", HOLE, shape).split(HOLE)
    middle = "".join(f"(?>.*?{re.escape(piece)})" for piece in rest[:-1])
    return re.compile(f"{re.escape(first)}{middle}.*{re.escape(rest[-1])}", re.DOTALL)


def _is_word(word: str, wanted: str) -> bool:
    return _is_like(word, wanted) or (wanted.startswith("-") and _has_option(wanted, [word]))


def _is_like(word: str, wanted: str) -> bool:
    return word == wanted or patterns.name_glob(wanted).match(word) is not None
