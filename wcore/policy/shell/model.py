"""The values of the shell analysis. Spans are byte offsets `[start, end)` in the UTF-8 text."""

from typing import Final, cast

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
    """One command of a list or pipeline: at least one word."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()

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

    def to_plain(self) -> list[object]:
        """Return numbers, strings and lists that `from_plain` understands; without the text."""
        if self.reason is not None:
            return [self.reason.value, list(self.span or ())]
        return [[_plain_command(command) for command in self.commands]]

    @classmethod
    def from_plain(cls, text: str, plain: object) -> "Analysis":
        """Build the analysis of `text` again.

        Raises:
            ValueError: `plain` did not come from `to_plain`.
        """
        match _list(plain):
            case [str(reason), span]:
                return cls(text, reason=Reason(reason), span=_span(_list(span)))
            case [commands]:
                data = utf8(text)
                return cls(text, tuple(_command(data, _list(each)) for each in _list(commands)))
            case _:
                raise ValueError("not an analysis")


class Coverage(Struct, frozen=True):
    """Whether grants cover every command of a text; else the reason and the place."""

    covered: bool
    reason: Reason | None = None
    span: Span | None = None
    commands: tuple[SimpleCommand, ...] = ()


def _plain_command(command: SimpleCommand) -> list[object]:
    return [
        [_plain_word(word) for word in command.words],
        [[*r.span, r.operator, _plain_word(r.target), r.fd] for r in command.redirects],
    ]


def _plain_word(word: Word) -> list[object]:
    value = None if word.value == word.source else word.value
    return [*word.span, value, word.dynamic, word.loose]


def _list(plain: object) -> list[object]:
    if not isinstance(plain, list):
        raise ValueError("not a list")  # noqa: TRY004 - it came over a pipe
    return cast("list[object]", plain)


def _span(plain: list[object]) -> Span | None:
    match plain:
        case []:
            return None
        case [int(start), int(end)]:
            return start, end
        case _:
            raise ValueError("not a span")


def _command(data: bytes, plain: list[object]) -> SimpleCommand:
    match plain:
        case [words, redirects] if words:
            return SimpleCommand(
                tuple(_word(data, _list(word)) for word in _list(words)),
                tuple(_redirect(data, _list(redirect)) for redirect in _list(redirects)),
            )
        case _:
            raise ValueError("not a command")


def _redirect(data: bytes, plain: list[object]) -> Redirect:
    match plain:
        case [int(start), int(end), str(operator), target, (int() | None) as fd]:
            return Redirect((start, end), operator, _word(data, _list(target)), fd)
        case _:
            raise ValueError("not a redirection")


def _word(data: bytes, plain: list[object]) -> Word:
    match plain:
        case [int(start), int(end), (str() | None) as value, bool(dynamic), bool(loose)]:
            source = data[start:end].decode(*_ENCODING)
            return Word((start, end), source, source if value is None else value, dynamic, loose)
        case _:
            raise ValueError("not a word")
