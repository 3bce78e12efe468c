"""Our own reading of shell text: one pass over the characters, left to right, fail-closed.

The lexer accepts only what the rule names and stops at the first character that it does not
understand. It knows no command names: it yields words, redirections and operators. All spans in
here are offsets of characters; `analysis` turns them into bytes.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from wcore.policy.shell.characters import PLAIN_RUN
from wcore.policy.shell.model import Redirect, Word
from wcore.policy.shell.reasons import Reason, Stop
from wcore.policy.shell.words import WORD_ENDS, read_word

_BLANKS: Final = re.compile(r"[ \t]*")
_BETWEEN: Final = re.compile(r"(?:[ \t]|\\\n|#[^\n]*)*")
#: `&&` and the like; a lone `&` and `|&` are told apart by what follows.
_OPERATOR: Final = re.compile(r"&&|\|\||;|\||\n")
_REDIRECTION: Final = re.compile(r"&>|>>|>&|>|<")
_DESCRIPTOR: Final = re.compile(r"[0-9]{1,3}")  # more digits might not fit and name a file instead


class Operator(Struct, frozen=True):
    """One of `;` `&&` `||` `|` and newline. `at` is a character offset."""

    text: str
    at: int


Token = Word | Redirect | Operator


class Lexer:
    """Reads one text, once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0

    def tokens(self) -> Iterator[Token]:
        """Yield the tokens of the text.

        Raises:
            Stop: the text is not understood any further.
        """
        while self._skip_blanks():
            here = self._at
            if self._here() in "<>" or self.text.startswith("&>", here):
                yield self._redirect(here, None)
            elif operator := _OPERATOR.match(self.text, here):
                if self.text.startswith(("|&", ";&", ";;"), here):
                    raise Stop(Reason.OPERATOR, here, here + 2)
                self._at = operator.end()
                yield Operator(operator[0], here)
            elif self._here() == "&":
                raise Stop(Reason.BACKGROUND, here, here + 1)
            else:
                yield self._word_or_descriptor()

    # --- between words ------------------------------------------------------------------------

    def _here(self) -> str:
        return self.text[self._at : self._at + 1]

    def _skip_blanks(self) -> bool:
        """Move to the next token: past blanks, joined lines and a comment. False at the end."""
        between = _BETWEEN.match(self.text, self._at)
        self._at = between.end() if between else self._at
        return self._here() != ""

    # --- redirections -------------------------------------------------------------------------

    def _word_or_descriptor(self) -> Token:
        start = self._at
        word = read_word(self.text, start)
        self._at = word.span[1]
        if self._here() not in ("<", ">"):
            return word
        if _DESCRIPTOR.fullmatch(word.source):
            return self._redirect(start, int(word.source))
        number_or_name = word.source.isdecimal() or word.source.startswith("{")
        if number_or_name or "\\\n" in word.source:
            raise Stop(Reason.REDIRECTION, start, self._at + 1)
        return word

    def _redirect(self, start: int, fd: int | None) -> Redirect:
        match = _REDIRECTION.match(self.text, self._at)
        assert match is not None
        operator, after = match[0], match.end()
        begin = after
        if operator != ">&":
            blanks = _BLANKS.match(self.text, after)
            begin = blanks.end() if blanks else after
        target = PLAIN_RUN.match(self.text, begin)
        end = target.end() if target else begin
        source, follows = self.text[begin:end], self.text[end : end + 1]
        number = source.isdigit() and follows in ("<", ">")  # belongs to the next redirection
        if follows not in WORD_ENDS or not _is_harmless(operator, source, number=number):
            raise Stop(self._redirect_reason(after), start, max(end, after))
        self._at = end
        return Redirect((start, end), operator, Word((begin, end), source, source), fd)

    def _redirect_reason(self, after: int) -> Reason:
        before, here = self.text[after - 1], self.text[after : after + 1]
        if here == "(":
            return Reason.SUBSTITUTION
        return Reason.HERE_DOCUMENT if before == here == "<" else Reason.REDIRECTION


def _is_harmless(operator: str, target: str, *, number: bool) -> bool:
    """Whether a redirection neither writes a file nor opens anything but a plain file to read."""
    if operator == ">&":
        return _DESCRIPTOR.fullmatch(target) is not None
    if operator != "<" or not target or target == "/dev/null":
        return target == "/dev/null"
    parts = [part for part in posixpath.normpath(target).split("/") if part]
    elsewhere = target.startswith("/") or parts[0] == ".."
    top = next((part for part in parts if part != ".."), "")
    return not number and not (elsewhere and top in ("dev", "proc"))
