"""In which line of a TOML text a table, key or array item begins: what `tomllib` does not tell.

Only for texts that `tomllib` has accepted: nothing is judged here, and what is not found is said
to begin in line 1. Linear in the text.
"""

import re
from collections import Counter
from typing import Final

from msgspec import Struct, field

Path = tuple[str | int, ...]  # ("rule", 0, "match"), ("deny", 2)

_TOKEN: Final = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<text>\"{3}(?:[^\\]|\\.)*?\"{3,5}|'{3}.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')
    |(?P<newline>\n)
    |(?P<mark>[\[\]{}=,.])
    |(?P<word>[^\s\[\]{}=,.\#"']+)""",
    re.VERBOSE | re.DOTALL,
)


class _Token(Struct, frozen=True):
    kind: str
    text: str
    line: int


class Lines(Struct):
    """Where things begin. Ask `of` for a path such as `("rule", 0, "match")`."""

    found: dict[Path, int] = field(default_factory=dict[Path, int])

    def of(self, *path: str | int) -> int:
        """Return the line of `path`, or of the nearest thing around it."""
        while path:
            if path in self.found:
                return self.found[path]
            path = path[:-1]
        return 1


def locate(text: str) -> Lines:
    """Return the lines of all tables, keys and array items."""
    reader = _Reader(_tokens(text))
    reader.read()
    return Lines(reader.found)


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "comment":
            found.append(_Token(kind, match[0], line))
        line += match[0].count("\n")
    return found


class _Reader:
    """Walks over the tokens of a whole file once."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.found: dict[Path, int] = {}
        self._tokens = tokens
        self._at = 0
        self._table: Path = ()
        self._counts: Counter[Path] = Counter()

    def read(self) -> None:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.text == "[" and token.kind == "mark":
                self._header(token.line)
            elif token.kind == "newline":
                self._at += 1
            else:
                self._assignment(self._table)

    def _header(self, line: int) -> None:
        self._at += 1
        is_array = self._next_is("[")
        self._at += is_array
        name = self._key("]")
        self._at += 1 + is_array
        path: Path = ()
        for index, part in enumerate(name):
            path = (*path, part)
            if is_array and index == len(name) - 1:
                self._counts[path] += 1
            if self._counts[path]:
                path = (*path, self._counts[path] - 1)
        self._table = path
        self.found.setdefault(path, line)

    def _assignment(self, above: Path) -> None:
        """Read `key = value` up to whatever ends it."""
        line = self._tokens[self._at].line
        path = (*above, *self._key("="))
        self._at += 1
        self.found.setdefault(path, line)
        self._value(path)

    def _value(self, top: Path) -> None:
        """Read one value; brackets are kept on a stack of their own, so depth costs nothing."""
        stack: list[tuple[str, Path, int]] = []
        path = top
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            mark = token.text if token.kind == "mark" else ""
            if not stack and token.kind == "newline":
                return
            if (stack and mark == "]" == stack[-1][0]) or (stack and mark == "}" == stack[-1][0]):
                stack.pop()
                path = stack[-1][1] if stack else top
                self._at += 1
                continue
            if token.kind == "newline" or mark == ",":
                self._at += 1
                continue
            if stack and stack[-1][0] == "}":
                path = (*stack[-1][1], *self._key("="))
                self.found.setdefault(path, token.line)
                self._at += 1
                self._into(path, stack)
            elif stack:
                _, above, count = stack[-1]
                stack[-1] = ("]", above, count + 1)
                path = (*above, count)
                self.found.setdefault(path, token.line)
                self._into(path, stack)
            else:
                self._into(path, stack)

    def _into(self, path: Path, stack: list[tuple[str, Path, int]]) -> None:
        """Step into a bracket, or over the words of a plain value."""
        if self._next_is("["):
            stack.append(("]", path, 0))
            self._at += 1
        elif self._next_is("{"):
            stack.append(("}", path, 0))
            self._at += 1
        else:
            self._at += 1  # whatever it is: a text that is no TOML must not hold us up
            while self._at < len(self._tokens) and not self._ends_value():
                self._at += 1

    def _ends_value(self) -> bool:
        token = self._tokens[self._at]
        return token.kind == "newline" or (token.kind == "mark" and token.text in ",]}")

    def _next_is(self, mark: str) -> bool:
        if self._at >= len(self._tokens):
            return False
        token = self._tokens[self._at]
        return token.kind == "mark" and token.text == mark

    def _key(self, end: str) -> tuple[str, ...]:
        """Read a dotted key up to the mark `end`, which is not taken."""
        parts: list[str] = []
        while self._at < len(self._tokens) and not self._next_is(end):
            token = self._tokens[self._at]
            if token.kind == "word":
                parts.append(token.text)
            elif token.kind == "text":
                parts.append(token.text[1:-1])
            self._at += 1
        return tuple(parts)
