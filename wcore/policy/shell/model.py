"""The values of the shell analysis. Spans are byte offsets `[start, end)` in the UTF-8 text."""

from typing import Final

from msgspec import Struct

from wcore.policy.shell.characters import PLAIN_WORD
from wcore.policy.shell.reasons import Reason
from wcore.vocabulary import ProgramFact

Span = tuple[int, int]

_ENCODING: Final = ("utf-8", "surrogatepass")  # total: lone surrogates take three bytes


def utf8(text: str) -> bytes:
    """Return the bytes that spans count; never fails."""
    return text.encode(*_ENCODING)


class Word(Struct, frozen=True):
    """A shell word.

    `source` is the text as written, `value` what is left without quotes and backslashes. That is
    what a program receives, unless the word is `dynamic`: then the shell computes its value.
    A `loose` word is one that may become several words, or none.
    """

    span: Span
    source: str
    value: str
    dynamic: bool = False
    loose: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is written without anything that is special to a shell."""
        return PLAIN_WORD.fullmatch(self.source) is not None


class Redirect(Struct, frozen=True):
    """A redirection. `fd` is the number before the operator, `target` the word after it."""

    span: Span
    operator: str
    target: Word
    fd: int | None = None


class SimpleCommand(Struct, frozen=True):
    """One command of a list or pipeline: at least one word.

    A `moved` one is run in another folder than the text, see `folders`; `elsewhere` is one that
    names its folder by an option, without that.
    """

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    moved: bool = False
    elsewhere: "SimpleCommand | None" = None

    @property
    def span(self) -> Span:
        spans = [part.span for part in (*self.words, *self.redirects)]
        return min(spans)[0], max(end for _, end in spans)


class Analysis(Struct, frozen=True):
    """The simple commands of a text; or the reason and place that stopped the analysis.

    `programs` are the files that its words would start, where somebody has looked.
    """

    text: str
    commands: tuple[SimpleCommand, ...] = ()
    reason: Reason | None = None
    span: Span | None = None
    programs: tuple[ProgramFact, ...] = ()


class Coverage(Struct, frozen=True):
    """Whether grants cover every command of a text; else the reason and the place."""

    covered: bool
    reason: Reason | None = None
    span: Span | None = None
    commands: tuple[SimpleCommand, ...] = ()
