"""Reads the whole of a shell text as commands of words: the tolerant face of our lexer.

`lexer` stops at what it does not know; this goes on with a hole, a part of a word whose value
nobody knows: an expansion, a substitution, a pattern. What stands inside a substitution is read
as well. Total, linear in the text, and no character is lost. For saying no, never for saying yes.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from wcore.policy.shell.analysis import TEXT_BYTES_MAX
from wcore.policy.shell.characters import NAME, PLAIN, first_refused
from wcore.policy.shell.model import Span, utf8
from wcore.policy.shell.reasons import Reason
from wcore.policy.shell.rough_words import ROUGH_CHARS_MAX
from wcore.policy.shell.words import BRACE_WORDS_MAX, expansion_bound
from wcore.policy.shell_paths.ansi import decode

HOLE: Final = "\0"  # in the shape of a word; the character itself stands in no command
NESTED_MAX: Final = 40  # expansions within each other

#: A command that begins with one of them names no program by it.
NO_PROGRAMS: Final = frozenset("for select case function [[ } fi done esac".split())
#: What may stand in front of a command, as words of the grammar.
GRAMMAR: Final = frozenset("if then elif else do while until ! { time -p -- coproc".split())
ASSIGNMENT: Final = re.compile(rf"{NAME}(?:\[[^\]]*\])?\+?=")

_PLAIN_RUN: Final = re.compile(f"{PLAIN}+")
_OPERATOR: Final = re.compile(r"\|\||&&|\|&|;;&|;;|;&|[;|&\n]")
_REDIRECTION: Final = re.compile(r"&>>?|<<<|<<-?|[<>]&|<>|>>|>\||[<>]")
_DESCRIPTOR: Final = re.compile(r"[0-9]+")
_BLANKS: Final = re.compile(r"(?:[ \t]|\\\n)+")
_WORD_ENDS: Final = frozenset(["", *" \t\n;&|<>()"])
_QUOTED_RUN: Final = re.compile(r'[^"\\$`]+')
_ANSI: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_PARAMETER: Final = re.compile(rf"\$(?:{NAME}|[0-9@*#?$!-])")
_BACKTICKS: Final = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_UNESCAPED: Final = re.compile(r"\\([$`\\\"])")
_BRACKET: Final = re.compile(r"\[[^\[\]\s:'\"\\$`]+\]")
_ARRAY: Final = re.compile(rf"{ASSIGNMENT.pattern}\Z")
_NO_PATTERN: Final = re.compile(r"\([\s\\]*\)")  # of a function
_JOINED: Final = re.compile(r"\\\n|(\\.)")  # lines, where the backslash is not quoted itself
_QUOTES: Final = re.compile(r"['\"\\]")
#: What stands behind a joined line may belong to what stands before it.
_CONTINUED: Final = re.compile(r"(?:\$\w*|[<>])\\\n")


class ReadWord(Struct, frozen=True):
    r"""A word: `value` is its source without quotes, `shape` the same with holes.

    `r"$x"m` has the value `r$xm` and the shape `r\0m`, with a `HOLE` in the middle.
    """

    span: Span
    source: str
    value: str
    shape: str

    @property
    def bare(self) -> str:
        """The source without joined lines, as the grammar sees it."""
        return self.source.replace("\\\n", "")

    @property
    def literal(self) -> str | None:
        """What a program receives, where that is known."""
        return None if HOLE in self.shape else self.value


class Redirection(Struct, frozen=True):
    """A redirection to or from `target`; of a here-document, that is what ends it."""

    span: Span
    operator: str
    target: ReadWord
    fd: int | None = None


class ReadCommand(Struct):
    """A simple command, or what stands where one may. `inputs` are texts that it is given.

    `printed_by` is the command whose output it reads, where that is simple.
    """

    words: list[ReadWord] = field(default_factory=list[ReadWord])
    redirections: list[Redirection] = field(default_factory=list[Redirection])
    inputs: list[ReadWord] = field(default_factory=list[ReadWord])
    printed_by: "ReadCommand | None" = None
    is_pattern: bool = False  # of a `case`: it runs nothing


class Reading(Struct, frozen=True):
    """All commands of a text, those in substitutions too. `doubt`: there may be others."""

    commands: tuple[ReadCommand, ...]
    doubt: Reason | None = None


def words(text: str) -> Reading:
    """Return the commands of a text; spans count characters. Never raises."""
    reader = _Reader(text[:ROUGH_CHARS_MAX], 0, 0)
    if first_refused(text) is not None:
        reader.doubt = Reason.FORBIDDEN_CHARACTER
    if len(utf8(text)) > TEXT_BYTES_MAX:
        reader.doubt = Reason.TOO_LONG
    reader.commands_until("")
    return Reading(tuple(reader.found), reader.doubt)


class _Parts:
    """A word while it is read."""

    def __init__(self) -> None:
        self.value: list[str] = []
        self.shape: list[str] = []
        self.is_open = False  # whether the last hole is all of the rest

    def add(self, text: str, *, is_known: bool = True) -> None:
        self.value.append(text)
        if not self.is_open:
            self.shape.append(text if is_known else HOLE)


class _Level:
    """The commands of one text or substitution while they are read."""

    def __init__(self) -> None:
        self.command = ReadCommand()
        self.last: ReadCommand | None = None  # whose output a pipe may carry
        self.open: list[str] = []  # parentheses, and `case`
        self.documents: list[tuple[ReadCommand, Redirection]] = []  # that begin on the next line
        self.at_head = True  # before the first word of a command that is none of the grammar's
        self.in_test = False  # between `[[` and `]]`


class _Reader:
    """Reads one text. Spans are those of a text in which it begins at `base`."""

    def __init__(self, text: str, base: int, depth: int) -> None:
        self.found: list[ReadCommand] = []
        self.doubt: Reason | None = None
        self._text = text
        self._at = 0
        self._base = base
        self._depth = depth
        self._levels: list[_Level] = []
        self._nested = 0  # expansions
        self._closed = dict(_parentheses(text))
        if _CONTINUED.search(text):
            self._lose(Reason.QUOTING)

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

    def _here(self, ahead: int = 0) -> str:
        return self._text[self._at + ahead : self._at + ahead + 1]

    def _lose(self, reason: Reason) -> None:
        self.doubt = self.doubt or reason

    def _span(self, start: int) -> Span:
        return self._base + start, self._base + self._at

    def _skip_blanks(self) -> bool:
        """Move to the next token: past blanks, joined lines and a comment. False at the end."""
        while self._at < len(self._text):
            if blanks := _BLANKS.match(self._text, self._at):
                self._at = blanks.end()
            elif self._here() == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                return True
        return False

    def _begins_substitution(self) -> bool:
        return self._here() in ("<", ">") and self._here(1) == "("

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
            parts = _Parts()
            self._enclosed(parts, start, ")")
            self._add(level, start, parts)
            return
        self._at += 1
        if self._text[start] == "(":
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
        begin, parts = self._at, _Parts()
        self._parts(parts, level, begin)
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
        text, parts = self._text[start:end], _Parts()
        if _QUOTES.search(redirection.target.source):
            parts.add(text)
        else:
            joined = _JOINED.sub(r"\1", self._text[start:])
            same = line.search(joined)
            if _JOINED.sub(r"\1", text) != joined[: same.start() if same else len(joined)]:
                self._lose(Reason.HERE_DOCUMENT)  # its end is made of joined lines, or taken away
            inner = _Reader(text, self._base + start, len(self._levels) + self._depth)
            inner.quoted(parts, "")
            self._take(inner)
        command.inputs.append(
            ReadWord(self._span(start), text, "".join(parts.value), "".join(parts.shape))
        )

    def _take(self, inner: "_Reader") -> None:
        self.found += inner.found
        self.doubt = self.doubt or inner.doubt

    # --- words ----------------------------------------------------------------------------------

    def _word(self, level: _Level) -> None:
        start, parts = self._at, _Parts()
        self._parts(parts, level, start)
        source = self._text[start : self._at]
        if self._here() in ("<", ">") and _DESCRIPTOR.fullmatch(source):
            self._redirection(level, start, int(source[:9]))
            return
        self._add(level, start, parts)

    def _add(self, level: _Level, start: int, parts: _Parts) -> None:
        word = self._made(start, parts)
        given, bare = level.command.words, word.bare
        if given and bare in ("{", "do") and given[0].bare in NO_PROGRAMS | GRAMMAR:
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

    def _made(self, start: int, parts: _Parts) -> ReadWord:
        source = self._text[start : self._at]
        shape = source if source == "[" else "".join(parts.shape)
        return ReadWord(self._span(start), source, "".join(parts.value), shape)

    def _parts(self, parts: _Parts, level: _Level, start: int) -> None:
        """Read the parts of a word up to its end."""
        brace: int | None = None
        while True:
            here = self._here()
            if here == "(" and self._is_group(level, start):
                self._enclosed(parts, self._at, ")")
            elif here in _WORD_ENDS and not self._begins_substitution():
                break
            elif run := _PLAIN_RUN.match(self._text, self._at):
                parts.add(run[0])
                self._at = run.end()
            elif here == "~" and self._at == start:
                self._literal(parts, is_known=False)
            elif here == "{" and brace is None:
                brace = len(parts.shape)
                self._literal(parts)
            else:
                self._part(parts, here)
        joined = self._text[start : self._at].replace("\\\n", "")
        if brace is not None and ("," in joined or ".." in joined):
            parts.shape[brace:] = [HOLE]
            if expansion_bound(joined) > BRACE_WORDS_MAX:
                self._lose(Reason.BRACE)

    def _part(self, parts: _Parts, here: str) -> None:
        match here:
            case "'":
                end = self._text.find("'", self._at + 1)
                if end < 0:
                    self._lose(Reason.QUOTING)
                    end = len(self._text)
                parts.add(self._text[self._at + 1 : end])
                self._at = min(end + 1, len(self._text))
            case '"':
                self._at += 1
                self.quoted(parts, '"')
            case "\\":
                escaped = self._here(1)
                if not escaped:
                    self._lose(Reason.QUOTING)
                parts.add("" if escaped == "\n" else escaped)
                self._at = min(self._at + 2, len(self._text))
            case "$" | "`":
                self._expansion(parts, quoted=False)
            case "<" | ">":
                self._substitution(parts)
            case "*" | "?":
                self._literal(parts, is_known=False)
            case "[":
                self._bracket(parts)
            case _:
                self._literal(parts)

    def _literal(self, parts: _Parts, *, is_known: bool = True) -> None:
        parts.add(self._here(), is_known=is_known)
        self._at += 1

    def _bracket(self, parts: _Parts) -> None:
        if match := _BRACKET.match(self._text, self._at):
            parts.add(match[0], is_known=False)
            self._at = match.end()
            return
        self._literal(parts, is_known=False)
        parts.is_open = True

    def _is_group(self, level: _Level, start: int) -> bool:
        """Whether a parenthesis belongs to the word: of an array, or of a pattern `@(a|b)`."""
        source = self._text[start : self._at]
        if (source == "!" and level.at_head) or _NO_PATTERN.match(self._text, self._at):
            return False
        return source[-1:] in tuple("?*+@!") or _ARRAY.match(source) is not None

    def quoted(self, parts: _Parts, until: str) -> None:
        """Read text in which only expansions are special; a here-document goes on to the end."""
        while (here := self._here()) != until:
            if run := _QUOTED_RUN.match(self._text, self._at):
                parts.add(run[0])
                self._at = run.end()
            elif here == '"':
                self._literal(parts)
            elif not here:
                self._lose(Reason.QUOTING)
                break
            else:
                self._expansion(parts, quoted=True)
        self._at = min(self._at + len(until), len(self._text))

    # --- expansions -----------------------------------------------------------------------------

    def _expansion(self, parts: _Parts, *, quoted: bool) -> None:
        """Read what begins with `$`, a backtick, or within quotes a backslash."""
        self._nested += 1
        if self._nested > NESTED_MAX:
            self._lose(Reason.SUBSTITUTION)
            self._at = len(self._text)
        else:
            self._expand(parts, quoted=quoted)
        self._nested -= 1

    def _expand(self, parts: _Parts, *, quoted: bool) -> None:
        here, follows = self._here(), self._here(1)
        if here == "\\":
            kept = "" if follows == "\n" else follows if follows in '$`"\\' else "\\" + follows
            parts.add(kept)
            self._at = min(self._at + 2, len(self._text))
        elif here == "`":
            self._backticks(parts)
        elif follows == "(" and self._is_arithmetic(self._at + 1):
            self._at += 1
            self._enclosed(parts, self._at - 1, ")")
        elif follows == "(":
            self._substitution(parts)
        elif follows == "{":
            self._at += 2
            self._enclosed(parts, self._at - 2, "}", quoted=quoted)
        elif not quoted and follows == "'":
            self._ansi(parts)
        elif not quoted and follows == '"':
            self._at += 1
        elif parameter := _PARAMETER.match(self._text, self._at):
            parts.add(parameter[0], is_known=False)
            self._at = parameter.end()
        else:
            if follows == "[":
                self._lose(Reason.EXPANSION)
            self._literal(parts)

    def _substitution(self, parts: _Parts) -> None:
        start = self._at
        self._at += 2
        self.commands_until(")")
        parts.add(self._text[start : self._at], is_known=False)

    def _backticks(self, parts: _Parts) -> None:
        match = _BACKTICKS.match(self._text, self._at)
        if match is None or self._depth >= NESTED_MAX // 4:
            self._lose(Reason.QUOTING)
            self._literal(parts, is_known=False)
            return
        inner = _Reader(_UNESCAPED.sub(r"\1", match[1]), self._base + self._at + 1, self._depth + 1)
        inner.commands_until("")
        self._take(inner)
        parts.add(match[0], is_known=False)
        self._at = match.end()

    def _enclosed(self, parts: _Parts, start: int, closes: str, *, quoted: bool = False) -> None:
        """Read up to what closes the word's part that begins at `start`: only expansions run."""
        depth, inner = 0, _Parts()
        opens = "(" if closes == ")" else ""
        while here := self._here():
            depth += (here == opens) - (here == closes)
            if here == "'" and quoted:  # versions of bash differ
                self._lose(Reason.QUOTING)
                self._at += 1
            elif here in "'\"\\$`" or self._begins_substitution():
                self._part(inner, here)
            else:
                self._at += 1
            if here == closes and depth <= 0:
                break
        else:
            self._lose(Reason.QUOTING)
        source = self._text[start : self._at]
        if source.endswith("@P}"):
            self._lose(Reason.EXPANSION)  # runs what the variable holds
        parts.add(source, is_known=False)

    def _ansi(self, parts: _Parts) -> None:
        match = _ANSI.match(self._text, self._at)
        if match is None:
            self._lose(Reason.QUOTING)
            self._literal(parts)
            return
        decoded = decode(match[1])
        parts.add(decoded or match[0], is_known=decoded is not None)
        self._at = match.end()

    def _is_arithmetic(self, at: int) -> bool:
        """Whether `((` is what bash reads as an expression up to `))`."""
        inner, outer = self._closed.get(at + 1), self._closed.get(at)
        if self._text[at : at + 2] != "((" or inner is None or outer != inner + 1:
            return False
        return _QUOTES.search(self._text[at:outer]) is None


def _parentheses(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each parenthesis opens and closes, as if none were quoted."""
    opened: list[int] = []
    for match in re.finditer(r"[()]", text):
        if match[0] == "(":
            opened.append(match.start())
        elif opened:
            yield opened.pop(), match.start()
