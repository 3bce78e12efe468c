"""Reads one word: the states of our lexer inside a word, and what each character does there."""

import re
from typing import Final

from wcore.policy.shell.characters import NAME, PLAIN
from wcore.policy.shell.model import Word
from wcore.policy.shell.reasons import Reason, Stop

BRACE_WORDS_MAX: Final = 1000  # of one word: some 1,300 such fit into a text, and bash holds them

#: Characters that end a word; the empty string stands for the end of the text.
WORD_ENDS: Final = frozenset(["", *" \t\n;&|<>"])

_PLAIN_RUN: Final = re.compile(f"{PLAIN}+")
_QUOTED_RUN: Final = re.compile(r'[^"\\$`]+')
_PARAMETER: Final = re.compile(rf"\$(?:{NAME}|\{{{NAME}\}}|\?)")
_DIGITS_MAX: Final = 20  # bash itself counts in 64 bits, and long numbers take long to read
_NUMBERS: Final = re.compile(r"([-+]?[0-9]+)\.\.([-+]?[0-9]+)")
_RANGE: Final = re.compile(r"(?<=(.))\.\.(?=(.))", re.DOTALL)
_SAME_CASE: Final = re.compile(r"[a-z]{2}|[A-Z]{2}")


class WordReader:
    """Reads the word that begins at `start`; `at` is then where it ends."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start
        self._start = start
        self._value: list[str] = []
        self._dynamic = self._loose = self._braces = self._tildes = False

    def read(self) -> Word:
        """Return the word.

        Raises:
            Stop: it is not one that the rule allows.
        """
        while self._here() not in WORD_ENDS:
            run = _PLAIN_RUN.match(self.text, self.at)
            if run:
                self._value.append(run[0])
                self.at = run.end()
            else:
                self._step()
        source = self.text[self._start : self.at]
        if source == "[":  # the command; no pattern is only a bracket
            self._dynamic = self._loose = False
        if self._braces:
            self._check_braces(source)
        value = "".join(self._value)
        return Word((self._start, self.at), source, value, self._dynamic, self._loose)

    def _step(self) -> None:
        match self._here():
            case "'":
                self._single_quotes()
            case '"':
                self._double_quotes()
            case "\\":
                self._escape()
            case "$":
                self._dollar()
            case "`":
                self._substitution()
            case "(" | ")":
                raise Stop(Reason.COMPOUND, self.at, self.at + 1)
            case "~":
                self._tilde()
            case "{":
                self._brace()
            case "*" | "?" | "[":
                self._pattern()
            case _:
                self._literal()

    def _literal(self) -> None:
        self._value.append(self._here())
        self.at += 1

    def _pattern(self) -> None:
        self._dynamic = self._loose = True
        self._literal()

    def _brace(self) -> None:
        self._braces = True
        self._pattern()

    def _tilde(self) -> None:
        """Accept `~` where it is not special, and `~` or `~/` where it is."""
        before = self.text[self.at - 1] if self.at > self._start else ""
        after = self.text[self.at + 1 : self.at + 2]
        if before in ("", "=", ":", "\n"):
            if before == "\n" or (after != "/" and after not in WORD_ENDS):
                raise Stop(Reason.TILDE, self.at, self.at + 1)
            self._dynamic = True
        self._tildes = self._tildes or before != ""
        self._literal()

    def _escape(self) -> None:
        if self.at + 1 >= len(self.text):
            raise Stop(Reason.QUOTING, self.at, self.at + 1)
        escaped = self.text[self.at + 1]
        self._value.append("" if escaped == "\n" else escaped)
        self.at += 2

    def _single_quotes(self) -> None:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise Stop(Reason.QUOTING, self.at, self.at + 1)
        self._value.append(self.text[self.at + 1 : end])
        self.at = end + 1

    def _double_quotes(self) -> None:
        opened = self.at
        self.at += 1
        while (here := self._here()) != '"':
            if run := _QUOTED_RUN.match(self.text, self.at):
                self._value.append(run[0])
                self.at = run.end()
            elif here == "\\":
                self._escape_in_quotes(opened)
            elif here == "$":
                self._parameter()
            elif here == "`":
                self._substitution()
            else:
                raise Stop(Reason.QUOTING, opened, opened + 1)
        self.at += 1

    def _escape_in_quotes(self, opened: int) -> None:
        escaped = self.text[self.at + 1 : self.at + 2]
        if not escaped:
            raise Stop(Reason.QUOTING, opened, opened + 1)
        kept = "" if escaped == "\n" else escaped if escaped in '$`"\\' else "\\" + escaped
        self._value.append(kept)
        self.at += 2

    def _dollar(self) -> None:
        if self.text[self.at + 1 : self.at + 2] in ("'", '"'):
            raise Stop(Reason.ANSI_QUOTE, self.at, self.at + 2)
        self._parameter()
        self._loose = True

    def _parameter(self) -> None:
        parameter = _PARAMETER.match(self.text, self.at)
        if parameter is None:
            follows = self.text[self.at + 1 : self.at + 3]
            plain = follows[:1] == "(" and follows != "(("
            reason = Reason.SUBSTITUTION if plain else Reason.EXPANSION
            raise Stop(reason, self.at, min(self.at + 2, len(self.text)))
        self._dynamic = True
        self._value.append(parameter[0])
        self.at = parameter.end()

    def _substitution(self) -> None:
        raise Stop(Reason.SUBSTITUTION, self.at, self.at + 1)

    def _check_braces(self, source: str) -> None:
        """Refuse braces out of which bash makes characters that are special afterwards.

        Nor may they make more words than the machine holds: `{1..9999999999}`.

        `{Z..a}` yields a backslash and a backtick, and what braces yield is read again: `{~,x}y`
        is `~y`. Without a comma or a range nothing is expanded.
        """
        joined = source.replace("\\\n", "")
        expands = "," in joined or ".." in joined
        special = self._tildes or any(map(_is_mixed, _RANGE.finditer(joined)))
        if expands and (special or expansion_bound(joined) > BRACE_WORDS_MAX):
            raise Stop(Reason.BRACE, self._start, self.at)

    def _here(self) -> str:
        return self.text[self.at : self.at + 1]


def _is_mixed(dots: re.Match[str]) -> bool:
    ends = dots[1] + dots[2]
    return all(map(str.isalpha, ends)) and _SAME_CASE.fullmatch(ends) is None


def expansion_bound(source: str) -> int:
    """Return what the braces of `source` cannot make more words than; quotes are not looked at."""
    bound = 1
    for start, end in _NUMBERS.findall(source):
        if max(len(start), len(end)) > _DIGITS_MAX:
            return BRACE_WORDS_MAX + 1
        bound *= abs(int(end) - int(start)) + 1
    choices: list[int] = []
    for character in source:
        if character == "{":
            choices.append(1)
        elif character == "," and choices:
            choices[-1] += 1
        elif character == "}" and choices:
            bound *= choices.pop()
    return bound
