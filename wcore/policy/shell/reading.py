"""Reads the whole of a shell text as commands of words: the tolerant face of our lexer.

`lexer` stops at what it does not know; this goes on with a hole, a part of a word whose value
nobody knows: an expansion, a substitution, a pattern. What stands inside a substitution is read
as well. Total, linear in the text, and no character is lost. For saying no, never for saying yes.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from wcore.policy.shell.analysis import TEXT_BYTES_MAX
from wcore.policy.shell.characters import NAME, first_refused
from wcore.policy.shell.mentions import ROUGH_CHARS_MAX
from wcore.policy.shell.model import Span, utf8
from wcore.policy.shell.reasons import Reason
from wcore.policy.shell.word_parts import (
    ASSIGNMENT,
    NESTED_MAX,
    NO_PARAMETERS,
    QUOTES,
    PartReader,
    Parts,
    ReadWord,
)

#: A command that begins with one of them names no program by it.
NO_PROGRAMS: Final = frozenset("for select case function [[ } fi done esac".split())
#: What may stand in front of a command, as words of the grammar.
GRAMMAR: Final = frozenset("if then elif else do while until ! { time -p -- coproc".split())

_OPERATOR: Final = re.compile(r"\|\||&&|\|&|;;&|;;|;&|[;|&\n]")
_REDIRECTION: Final = re.compile(r"&>>?|<<<|<<-?|[<>]&|<>|>>|>\||[<>]")
_DESCRIPTOR: Final = re.compile(rf"([0-9]+)|\{{{NAME}(?:\[[^\]]*\])?\}}")  # `3<`, `{fd}<`
_BLANKS: Final = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT: Final = re.compile(r"#[^\n]*")
#: Between `((` and `))`, `[[` and `]]` bash may take for something else what looks like a comment.
_NO_COMMENTS: Final = re.compile(r"\(\(|\[\[")
_EXPANDS: Final = frozenset("$`")
_JOINED: Final = re.compile(r"\\\n|(\\.)")  # lines, where the backslash is not quoted itself


class Redirection(Struct, frozen=True):
    """A redirection to or from `target`; of a here-document, that is what ends it."""

    span: Span
    operator: str
    target: ReadWord
    fd: int | None = None


class ReadCommand(Struct):
    """A simple command, or what stands where one may. `inputs` are texts that it is given.

    `printed_by` is the command whose output it reads, where that is simple. Of one that `is_name`
    the words name what is defined behind them: `f` of `f() {`, or a coprocess.
    """

    words: list[ReadWord] = field(default_factory=list[ReadWord])
    redirections: list[Redirection] = field(default_factory=list[Redirection])
    inputs: list[ReadWord] = field(default_factory=list[ReadWord])
    printed_by: "ReadCommand | None" = None
    is_pattern: bool = False  # of a `case`: it runs nothing
    is_name: bool = False


class Reading(Struct, frozen=True):
    """All commands of a text, those in substitutions too. `doubt`: there may be others.

    `comments` are those of which nobody can say that bash takes them for anything else.
    """

    commands: tuple[ReadCommand, ...]
    doubt: Reason | None = None
    comments: tuple[Span, ...] = ()


def words(text: str) -> Reading:
    """Return the commands of a text; spans count characters. Never raises."""
    reader = _Reader(text[:ROUGH_CHARS_MAX], 0, 0)
    if len(utf8(text)) > TEXT_BYTES_MAX:
        reader.doubt = Reason.TOO_LONG
    reader.commands_until("")
    if first_refused(text) is not None:
        reader.doubt = reader.doubt or Reason.FORBIDDEN_CHARACTER
    is_sure = reader.doubt is None and not _NO_COMMENTS.search(text)
    return Reading(tuple(reader.found), reader.doubt, tuple(reader.comments if is_sure else ()))


def within_quotes(text: str) -> ReadWord:
    """Return the word that a text is between double quotes. Never raises."""
    parts = Parts()
    _Reader(text, 0, 0).quoted(parts, "")
    return parts.word((0, len(text)), text)


class _Level:
    """The commands of one text or substitution while they are read."""

    def __init__(self) -> None:
        self.command = ReadCommand()
        self.last: ReadCommand | None = None  # whose output a pipe may carry
        self.open: list[str] = []  # parentheses, and `case`
        self.documents: list[tuple[ReadCommand, Redirection]] = []  # that begin on the next line
        self.at_head = True  # before the first word of a command that is none of the grammar's
        self.in_test = False  # between `[[` and `]]`


class _Reader(PartReader):
    """Reads the commands of one text."""

    def __init__(self, text: str, base: int, depth: int) -> None:
        super().__init__(text, base, depth)
        self.found: list[ReadCommand] = []
        self.comments: list[Span] = []
        self._levels: list[_Level] = []

    def commands_until(self, close: str) -> None:
        """Read commands up to `close`, which is passed over, or to the end."""
        if len(self._levels) + self._depth >= NESTED_MAX:
            self._lose(Reason.SUBSTITUTION)
            self._at = len(self._text)
            return
        level = _Level()
        self._levels.append(level)
        while self._skip_blanks():
            here = self._here()
            if level.in_test and here in "&|()<>\n" and not self._begins_substitution():
                self._at += 1
            elif here == ")" and close and not level.open:
                break
            elif here in "()":
                self._parenthesis(level)
            elif _REDIRECTION.match(self._text, self._at) and not self._begins_substitution():
                self._redirection(level, self._at, None)
            elif operator := _OPERATOR.match(self._text, self._at):
                self._at = operator.end()
                self._operator(level, operator[0])
            else:
                self._word(level)
        self._end(level)
        if close and level.documents:
            self._lose(Reason.HERE_DOCUMENT)
        if close and self._here() != close:
            self._lose(Reason.QUOTING)
        self._at = min(self._at + len(close), len(self._text))
        self._levels.pop()

    # --- between words ------------------------------------------------------------------------

    def _skip_blanks(self) -> bool:
        """Move to the next token: past blanks, joined lines and a comment. False at the end."""
        while self._at < len(self._text):
            if blanks := _BLANKS.match(self._text, self._at):
                self._at = blanks.end()
            elif comment := _COMMENT.match(self._text, self._at):
                is_apart = self._text[self._at - 1 : self._at] in ("", *" \t\n")
                if is_apart and _EXPANDS.isdisjoint(comment[0]):
                    self.comments.append(comment.span())
                self._at = comment.end()
            else:
                return True
        return False

    def _end(self, level: _Level) -> bool:
        """Close the command that is read; whether there was one."""
        command = level.command
        level.at_head, level.in_test = True, False
        if not command.words and not command.redirections:
            return False
        self.found.append(command)
        level.command, level.last = ReadCommand(), command
        return True

    def _operator(self, level: _Level, text: str) -> None:
        ended = self._end(level)
        if text == "\n":
            if any(each.documents for each in self._levels[:-1]):
                self._lose(Reason.HERE_DOCUMENT)
            documents, level.documents = level.documents, []
            for command, redirection in documents:
                self._read_document(command, redirection)
            if not ended:
                return  # a pipe goes on
        level.command.printed_by = level.last if text in ("|", "|&") and ended else None

    def _parenthesis(self, level: _Level) -> None:
        start = self._at
        if self._is_arithmetic(start):
            parts = Parts()
            self._enclosed(parts, start, ")")
            self._add(level, start, parts)
            return
        self._at += 1
        if self._text[start] == "(":
            given = level.command.words
            is_function = NO_PARAMETERS.match(self._text, start) is not None
            is_named = is_function or (given and given[0].bare == "coproc")
            level.command.is_name = len(from_program(given)) == 1 and bool(is_named)
            self._end(level)
            level.open.append("(")
        elif level.open and level.open[-1] == "(":
            level.open.pop()
            self._end(level)
        else:
            level.command.is_pattern = True
            self._end(level)
        level.last = None

    def _redirection(self, level: _Level, start: int, fd: int | None) -> None:
        match = _REDIRECTION.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        if blanks := _BLANKS.match(self._text, self._at):
            self._at = blanks.end()
        begin, parts = self._at, Parts()
        self._parts(parts, begin, at_head=False)
        target = self._made(begin, parts)
        found = Redirection(self._span(start), match[0], target, fd)
        level.command.redirections.append(found)
        if found.operator == "<<<":
            level.command.inputs.append(target)
        elif found.operator.startswith("<<"):
            level.documents.append((level.command, found))

    def _read_document(self, command: ReadCommand, redirection: Redirection) -> None:
        last, start = re.escape(redirection.target.value), self._at
        if redirection.operator.endswith("-"):
            last = "\t*" + re.escape(redirection.target.value.lstrip("\t"))
        line = re.compile(f"^{last}$", re.MULTILINE)
        found = line.search(self._text, start)
        end, behind = found.span() if found else (len(self._text), len(self._text))
        self._at = min(behind + 1, len(self._text))
        text, parts = self._text[start:end], Parts()
        if QUOTES.search(redirection.target.source):
            parts.add(text, quoted=True)
        else:
            joined = _JOINED.sub(r"\1", self._text[start:])
            same = line.search(joined)
            if _JOINED.sub(r"\1", text) != joined[: same.start() if same else len(joined)]:
                self._lose(Reason.HERE_DOCUMENT)  # its end is made of joined lines, or taken away
            inner = _Reader(text, self._base + start, len(self._levels) + self._depth)
            inner.quoted(parts, "")
            self._take(inner)
        command.inputs.append(parts.word(self._span(start), text))

    def read_apart(self, text: str, base: int) -> None:
        inner = _Reader(text, base, self._depth + 1)
        inner.commands_until("")
        self._take(inner)

    def _take(self, inner: "_Reader") -> None:
        self.found += inner.found
        self.doubt = self.doubt or inner.doubt

    # --- words ----------------------------------------------------------------------------------

    def _word(self, level: _Level) -> None:
        start, parts = self._at, Parts()
        self._parts(parts, start, at_head=level.at_head)
        source = self._text[start : self._at]
        descriptor = _DESCRIPTOR.fullmatch(source.replace("\\\n", ""))
        if self._here() in ("<", ">") and descriptor:
            self._redirection(level, start, int(descriptor[1][:9]) if descriptor[1] else None)
            return
        self._add(level, start, parts)

    def _add(self, level: _Level, start: int, parts: Parts) -> None:
        word = self._made(start, parts)
        given, bare = level.command.words, word.bare
        if given and bare in ("{", "do") and given[0].bare in NO_PROGRAMS | GRAMMAR:
            level.command.is_name = given[0].bare == "coproc" and len(given) == 2
            self._end(level)  # of `for x do`, `function f {`, `coproc N {`
        level.command.words.append(word)
        if bare == "]]":
            level.in_test = False
        if not level.at_head:
            return
        level.at_head = bare in GRAMMAR
        level.in_test = bare == "[["
        if bare == "case":
            level.open.append("case")
        elif bare == "esac" and level.open[-1:] == ["case"]:
            level.open.pop()


def from_program(given: Sequence[ReadWord]) -> list[ReadWord]:
    """Return the words of a command from its program on."""
    at = 0
    while at < len(given) and (given[at].bare in GRAMMAR or ASSIGNMENT.match(given[at].bare)):
        at += 1
    return list(given[at:])
