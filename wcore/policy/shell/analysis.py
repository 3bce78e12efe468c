"""A text in, its simple commands out; or the reason why not. Total, pure, bounded."""

from itertools import accumulate
from typing import Final, TypeVar

from msgspec.structs import replace

from wcore.policy.shell import bashlex_check
from wcore.policy.shell.characters import first_refused
from wcore.policy.shell.model import Analysis, Redirect, SimpleCommand, Span, Word, utf8
from wcore.policy.shell.parser import read
from wcore.policy.shell.reasons import Reason, Stop

TEXT_BYTES_MAX: Final = 16 * 1024  # longer commands are not read by the person either
COMMANDS_MAX: Final = 200  # nor are more commands than this

_Part = TypeVar("_Part", Word, Redirect)


def analyse(text: str) -> Analysis:
    """Return the simple commands of `text` as two independent analyses see them, or the reason.

    Never raises. Longer texts than `TEXT_BYTES_MAX` are refused unread; for the others, time and
    memory are those of bashlex, at worst about a second: run it where it can be ended.
    """
    return _analysed(text, confirmed=True)


def lex(text: str) -> Analysis:
    """Return what the lexer alone sees, in linear time: good for hints, not for approval."""
    return _analysed(text, confirmed=False)


def _analysed(text: str, *, confirmed: bool) -> Analysis:
    if len(text) > TEXT_BYTES_MAX or len(utf8(text)) > TEXT_BYTES_MAX:
        return Analysis(text, reason=Reason.TOO_LONG)
    refused = first_refused(text)
    if refused is not None:
        return _stopped(text, Reason.FORBIDDEN_CHARACTER, (refused, refused + 1))
    try:
        commands = read(text, COMMANDS_MAX)
    except Stop as stop:
        return _stopped(text, stop.reason, (stop.start, stop.end))
    doubt = bashlex_check.find_doubt(text, commands) if confirmed else None
    if doubt is not None:
        return _stopped(text, doubt.reason, doubt.span)
    return Analysis(text, _in_bytes(text, commands))


def _stopped(text: str, reason: Reason, span: Span | None) -> Analysis:
    if span is not None:
        start, end = span
        before = len(utf8(text[:start]))
        span = before, before + len(utf8(text[start:end]))
    return Analysis(text, reason=reason, span=span)


def _in_bytes(text: str, commands: tuple[SimpleCommand, ...]) -> tuple[SimpleCommand, ...]:
    """Return `commands` with spans that count bytes."""
    if text.isascii():
        return commands
    offsets = [0, *accumulate(len(utf8(character)) for character in text)]

    def shifted(part: _Part) -> _Part:
        start, end = part.span
        return replace(part, span=(offsets[start], offsets[end]))

    return tuple(
        SimpleCommand(
            tuple(shifted(word) for word in command.words),
            tuple(replace(shifted(r), target=shifted(r.target)) for r in command.redirects),
        )
        for command in commands
    )
