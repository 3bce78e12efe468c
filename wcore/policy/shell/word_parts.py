"""Reads the words of any shell text, part by part: what is known of each, and a hole for the rest.

`words` refuses what it does not know; this never does. What stands inside a word's substitutions
is read by whoever reads commands, see `reading`.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from wcore.policy.shell.ansi import decode
from wcore.policy.shell.characters import NAME, PLAIN_RUN
from wcore.policy.shell.model import Span
from wcore.policy.shell.reasons import Reason
from wcore.policy.shell.words import BRACE_WORDS_MAX, expansion_bound

HOLE: Final = "\0"  # in the shape of a word; the character itself stands in no command
NESTED_MAX: Final = 40  # expansions within each other
ASSIGNMENT: Final = re.compile(rf"{NAME}(?:\[[^\]]*\])?\+?=")
NO_PARAMETERS: Final = re.compile(r"\([\s\\]*\)")  # of a function
QUOTES: Final = re.compile(r"['\"\\]")

_WORD_ENDS: Final = frozenset(["", *" \t\n;&|<>()"])
_QUOTED_RUN: Final = re.compile(r'[^"\\$`]+')
_ANSI: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_PARAMETER: Final = re.compile(rf"\$(?:{NAME}|[0-9@*#?$!-])")
_BACKTICKS: Final = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_UNESCAPED: Final = re.compile(r"\\([$`\\\"])")
_BRACKET: Final = re.compile(r"\[[^\[\]\s:'\"\\$`]+\]")
_ARRAY: Final = re.compile(rf"{ASSIGNMENT.pattern}\Z")
#: What stands behind a joined line may belong to what stands before it.
_CONTINUED: Final = re.compile(r"(?:\$\w*|[<>])\\\n")


class Part(Struct, frozen=True):
    """Characters of a word: known, of which braces count where they are bare, or an expansion."""

    text: str
    is_known: bool = True
    is_bare: bool = False


class ReadWord(Struct, frozen=True):
    r"""A word: `value` is its source without quotes, `shape` the same with holes.

    `r"$x"m` has the value `r$xm` and the shape `r\0m`, with a `HOLE` in the middle; its parts are
    `r`, `$x` and `m`.
    """

    span: Span
    source: str
    value: str
    shape: str
    parts: tuple[Part, ...] = ()

    @property
    def bare(self) -> str:
        """The source without joined lines, as the grammar sees it."""
        return self.source.replace("\\\n", "")

    @property
    def is_bare(self) -> bool:
        """Whether it is no word where what it is made of is empty."""
        return not QUOTES.search(self.source)

    @property
    def literal(self) -> str | None:
        """What a program receives, where that is known."""
        return None if HOLE in self.shape else self.value


class Parts:
    """A word while it is read."""

    def __init__(self) -> None:
        self.shape: list[str] = []
        self.made: list[Part] = []
        self.is_open = False  # whether the last hole is all of the rest

    def add(self, text: str, *, is_known: bool = True, quoted: bool = False) -> None:
        self.made.append(Part(text, is_known, not quoted))
        if not self.is_open:
            self.shape.append(text if is_known else HOLE)

    def word(self, span: Span, source: str, shape: str | None = None) -> ReadWord:
        shape = "".join(self.shape) if shape is None else shape
        value = "".join(part.text for part in self.made)
        return ReadWord(span, source, value, shape, tuple(self.made))


class PartReader:
    """Reads the words of one text. Spans are those of a text in which it begins at `base`."""

    def __init__(self, text: str, base: int, depth: int) -> None:
        self.doubt: Reason | None = None
        self._text = text
        self._at = 0
        self._base = base
        self._depth = depth
        self._nested = 0  # expansions
        self._closed = dict(_parentheses(text))
        if _CONTINUED.search(text):
            self._lose(Reason.QUOTING)

    def commands_until(self, close: str) -> None:
        """Read the commands of a substitution up to `close`, which is passed over."""
        raise NotImplementedError

    def read_apart(self, text: str, base: int) -> None:
        """Read the commands of a text that stands within this one otherwise than it is run."""
        raise NotImplementedError

    def _here(self, ahead: int = 0) -> str:
        return self._text[self._at + ahead : self._at + ahead + 1]

    def _lose(self, reason: Reason) -> None:
        self.doubt = self.doubt or reason

    def _span(self, start: int) -> Span:
        return self._base + start, self._base + self._at

    def _begins_substitution(self) -> bool:
        return self._here() in ("<", ">") and self._here(1) == "("

    def _made(self, start: int, parts: Parts) -> ReadWord:
        source = self._text[start : self._at]
        shape = source if source == "[" else None
        return parts.word(self._span(start), source, shape)

    def _parts(self, parts: Parts, start: int, *, at_head: bool) -> None:
        """Read the parts of a word up to its end."""
        brace: int | None = None
        while True:
            here = self._here()
            if here == "(" and self._is_group(start, at_head=at_head):
                is_array = _ARRAY.match(self._text[start : self._at]) is not None
                self._enclosed(parts, self._at, ")", comments=is_array)
            elif here in _WORD_ENDS and not self._begins_substitution():
                break
            elif run := PLAIN_RUN.match(self._text, self._at):
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

    def _part(self, parts: Parts, here: str) -> None:
        match here:
            case "'":
                end = self._text.find("'", self._at + 1)
                if end < 0:
                    self._lose(Reason.QUOTING)
                    end = len(self._text)
                parts.add(self._text[self._at + 1 : end], quoted=True)
                self._at = min(end + 1, len(self._text))
            case '"':
                self._at += 1
                self.quoted(parts, '"')
            case "\\":
                escaped = self._here(1)
                if not escaped:
                    self._lose(Reason.QUOTING)
                parts.add("" if escaped == "\n" else escaped, quoted=True)
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

    def _literal(self, parts: Parts, *, is_known: bool = True) -> None:
        parts.add(self._here(), is_known=is_known)
        self._at += 1

    def _bracket(self, parts: Parts) -> None:
        if match := _BRACKET.match(self._text, self._at):
            parts.add(match[0], is_known=False)
            self._at = match.end()
            return
        self._literal(parts, is_known=False)
        parts.is_open = True

    def _is_group(self, start: int, *, at_head: bool) -> bool:
        """Whether a parenthesis belongs to the word: of an array, or of a pattern `@(a|b)`."""
        source = self._text[start : self._at]
        if (source == "!" and at_head) or NO_PARAMETERS.match(self._text, self._at):
            return False
        return source[-1:] in tuple("?*+@!") or _ARRAY.match(source) is not None

    def quoted(self, parts: Parts, until: str) -> None:
        """Read text in which only expansions are special; a here-document goes on to the end."""
        while (here := self._here()) != until:
            if run := _QUOTED_RUN.match(self._text, self._at):
                parts.add(run[0], quoted=True)
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

    def _expansion(self, parts: Parts, *, quoted: bool) -> None:
        """Read what begins with `$`, a backtick, or within quotes a backslash."""
        self._nested += 1
        if self._nested > NESTED_MAX:
            self._lose(Reason.SUBSTITUTION)
            self._at = len(self._text)
        else:
            self._expand(parts, quoted=quoted)
        self._nested -= 1

    def _expand(self, parts: Parts, *, quoted: bool) -> None:
        here, follows = self._here(), self._here(1)
        if here == "\\":
            kept = "" if follows == "\n" else follows if follows in '$`"\\' else "\\" + follows
            parts.add(kept, quoted=True)
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

    def _substitution(self, parts: Parts) -> None:
        start = self._at
        self._at += 2
        self.commands_until(")")
        parts.add(self._text[start : self._at], is_known=False)

    def _backticks(self, parts: Parts) -> None:
        match = _BACKTICKS.match(self._text, self._at)
        if match is None or self._depth >= NESTED_MAX // 4:
            self._lose(Reason.QUOTING)
            self._literal(parts, is_known=False)
            return
        self.read_apart(_UNESCAPED.sub(r"\1", match[1]), self._base + self._at + 1)
        parts.add(match[0], is_known=False)
        self._at = match.end()

    def _enclosed(
        self,
        parts: Parts,
        start: int,
        closes: str,
        *,
        quoted: bool = False,
        comments: bool = False,
    ) -> None:
        """Read up to what closes the word's part that begins at `start`: only expansions run."""
        depth, inner = 0, Parts()
        opens = "(" if closes == ")" else ""
        while here := self._here():
            depth += (here == opens) - (here == closes)
            if here == "'" and quoted:  # versions of bash differ
                self._lose(Reason.QUOTING)
                self._at += 1
            elif here in "'\"\\$`" or self._begins_substitution():
                self._part(inner, here)
            elif comments and here == "#" and self._text[self._at - 1] in " \t\n(":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
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

    def _ansi(self, parts: Parts) -> None:
        match = _ANSI.match(self._text, self._at)
        if match is None:
            self._lose(Reason.QUOTING)
            self._literal(parts)
            return
        decoded = decode(match[1])
        known = decoded is not None
        parts.add(match[0] if decoded is None else decoded, is_known=known, quoted=known)
        self._at = match.end()

    def _is_arithmetic(self, at: int) -> bool:
        """Whether `((` is what bash reads as an expression up to `))`."""
        inner, outer = self._closed.get(at + 1), self._closed.get(at)
        if self._text[at : at + 2] != "((" or inner is None or outer != inner + 1:
            return False
        return QUOTES.search(self._text[at:outer]) is None


def _parentheses(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each parenthesis opens and closes, as if none were quoted."""
    opened: list[int] = []
    for match in re.finditer(r"[()]", text):
        if match[0] == "(":
            opened.append(match.start())
        elif opened:
            yield opened.pop(), match.start()
