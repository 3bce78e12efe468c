"""What the decision needs to know about a call, gathered from values: no disk, no clock."""

import posixpath
import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from wcore.policy import protected, shell
from wcore.policy.protected import Places
from wcore.vocabulary import Access, Category, Pin, Prepared, Touch

_ROUGH_SPLIT = re.compile(r"[\s;|&<>()=`$\"'\\{},:]+")
_PARTS = re.compile(r"[=:,@]")  # `--file=.env`, `-v ~/.ssh:/x`, `-d @.env`
_OPTION = re.compile(r"^-[^-](.+)")  # `-f.env`
_HIDDEN_PATTERN = re.compile(r"(?:^|/)\.[^/]*[*?\[{]")
_WITHOUT_QUOTES = str.maketrans("", "", "'\"\\")


class PathFact(Struct, frozen=True):
    """One path of a call. `protected` says why it is, `own` means wcore's own files."""

    path: str
    access: Access
    inside: bool
    protected: str | None = None
    own: bool = False


class Facts(Struct, frozen=True):
    """A call as the decision table sees it. `analysis` is set for tools that run shell text.

    `pin` says which version of an MCP tool it is; a yes to another one does not count. `command`
    is the shell text to the byte; `ties` is the digest of the scripts that it names, and of where
    the paths that it names lead, `UNTIED` where that cannot be told.
    """

    tool: str
    category: Category
    paths: tuple[PathFact, ...] = ()
    analysis: shell.Analysis | None = None
    pin: Pin | None = None
    command: str | None = None
    ties: str | None = None


class Studied(Struct, frozen=True):
    """What was found out about a call beside what it says, for tools that run shell text."""

    analysis: shell.Analysis | None = None
    ties: str | None = None


def gather(
    prepared: Prepared,
    analysis: shell.Analysis | None,
    places: Places,
    ties: str | None = None,
) -> Facts:
    """Return the facts of one prepared call."""
    paths = [of_touch(touch, places) for touch in prepared.touches]
    if prepared.command is not None:
        paths += _of_shell(prepared.command, analysis, places)
    category, command = prepared.category, prepared.command
    return Facts(prepared.tool, category, tuple(paths), analysis, prepared.pin, command, ties)


def of_touch(touch: Touch, places: Places) -> PathFact:
    """Return what is known of one resolved path."""
    return PathFact(
        touch.path,
        touch.access,
        inside=protected.is_within(touch.path, places.workspace),
        protected=protected.protection(touch.path, touch.access, places),
        own=protected.is_own(touch.path, places),
    )


def _of_shell(text: str, analysis: shell.Analysis | None, places: Places) -> Iterable[PathFact]:
    """Words that name a protected path. A guard rail: what a program does itself is not seen."""
    known = analysis is not None and analysis.reason is None
    named = _words(analysis) if analysis is not None and known else _rough_words(text)
    seen: set[str] = set()
    for word, is_pattern in named:
        for name in {word, *_PARTS.split(word), *_OPTION.findall(word)} - seen:
            seen.add(name)
            fact = _of_word(name, places)
            if fact.protected is not None:
                yield fact
            elif is_pattern and _HIDDEN_PATTERN.search(name):  # `.e*` may be `.env`
                yield replace(fact, protected="a pattern that can name hidden files")
    for target in _read_by_the_shell(analysis):
        fact = _of_word(target, places)
        if not protected.is_within(fact.path, places.workspace):
            yield replace(fact, access=Access.READ, inside=False)


def _words(analysis: shell.Analysis) -> Iterable[tuple[str, bool]]:
    """Yield the words of an understood text, and whether bash expands them as patterns."""
    for command in analysis.commands:
        for word in (*command.words, *(redirect.target for redirect in command.redirects)):
            yield word.value, word.loose
            if word.loose:  # `{.env,x}`; a quoted sentence that mentions a name is no path
                yield from ((part, True) for part in _ROUGH_SPLIT.split(word.value))


def _rough_words(text: str) -> Iterable[tuple[str, bool]]:
    """Yield what may be words of a text that nobody understands."""
    bare = text.translate(_WITHOUT_QUOTES)
    return ((word, True) for word in (*_ROUGH_SPLIT.split(text), *_ROUGH_SPLIT.split(bare)))


def _read_by_the_shell(analysis: shell.Analysis | None) -> Iterable[str]:
    """Return what `<` opens: these words are paths for certain."""
    commands = analysis.commands if analysis is not None else ()
    for redirect in (redirect for command in commands for redirect in command.redirects):
        if redirect.operator == "<" and redirect.target.value != "/dev/null":
            yield redirect.target.value


def _of_word(word: str, places: Places) -> PathFact:
    if word == "~" or word.startswith("~/"):
        word = places.home + word[1:]
    path = posixpath.normpath(posixpath.join(places.workspace, word))
    return PathFact(
        path,
        Access.WRITE,
        inside=True,  # a word is not known to be a path: only protection counts
        protected=protected.protection(path, Access.WRITE, places),
        own=protected.is_own(path, places),
    )
