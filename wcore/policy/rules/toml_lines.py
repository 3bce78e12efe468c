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


class _Open(Struct):
    """An array or an inline table that is not closed yet."""

    closes: str
    path: Path
    items: int = 0


def locate(text: str) -> Lines:
    """Return the lines of all tables, keys and array items."""
    reader = _Reader()
    line = 1
    for match in _TOKEN.finditer(text + "\n"):
        if match.lastgroup == "newline":
            reader.end_line()
        elif match.lastgroup != "comment":
            reader.take(match[0], line, is_mark=match.lastgroup == "mark")
        line += match[0].count("\n")
    return Lines(reader.found)


class _Reader:
    """Takes the tokens of a whole file; brackets are on a stack, so depth costs nothing."""

    def __init__(self) -> None:
        self.found: dict[Path, int] = {}
        self._table: Path = ()
        self._counts: Counter[Path] = Counter()
        self._open: list[_Open] = []
        self._key: list[str] = []  # what is read of a key, or of a header
        self._line = 1  # where that begins
        self._brackets = 0  # of a header
        self._path: Path = ()  # of the value that is read
        self._is_value = False  # whether one begins with the next token

    def take(self, text: str, line: int, *, is_mark: bool) -> None:
        mark = text if is_mark else ""
        inner = self._open[-1] if self._open else None
        if not self._key:
            self._line = line
        if inner is not None and mark == inner.closes:
            self._open.pop()
            self._is_value = False
        elif self._is_value:
            self._value(mark, line)
        elif mark == "=":
            self._path = (*(self._table if inner is None else inner.path), *self._key)
            self.found.setdefault(self._path, self._line)
            self._key, self._is_value = [], True
        elif mark == ",":
            self._key, self._is_value = [], inner is not None and inner.closes == "]"
        elif mark == "[":
            self._brackets += 1
        elif not is_mark:
            self._key.append(text[1:-1] if text[0] in "\"'" else text)

    def end_line(self) -> None:
        if self._open:
            return
        if self._brackets:
            self._header()
        self._key, self._brackets, self._is_value = [], 0, False

    def _header(self) -> None:
        path: Path = ()
        for index, part in enumerate(self._key, 1):
            path = (*path, part)
            self._counts[path] += self._brackets > 1 and index == len(self._key)
            if self._counts[path]:
                path = (*path, self._counts[path] - 1)
        self._table = path
        self.found.setdefault(path, self._line)

    def _value(self, mark: str, line: int) -> None:
        """Note where an item of an array begins, and what it opens."""
        inner, path = self._open[-1] if self._open else None, self._path
        if inner is not None and inner.closes == "]":
            path = (*inner.path, inner.items)
            inner.items += 1
            self.found.setdefault(path, line)
        if mark in ("[", "{"):
            self._open.append(_Open("]" if mark == "[" else "}", path))
        self._is_value = mark == "["
