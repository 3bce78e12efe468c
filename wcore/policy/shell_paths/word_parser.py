"""Reads one word of a shell text: quotes, parameters, and the commands within it."""

import re
from typing import Final

from wcore.policy.shell_paths.ansi import decode
from wcore.policy.shell_paths.cursor import DEPTH_MAX, Cursor, LostError
from wcore.policy.shell_paths.syntax import (
    Atom,
    Close,
    Command,
    Open,
    Parameter,
    ProcessSubstitution,
    RuntimeValue,
    Scope,
    Text,
    Word,
)

METACHARACTERS: Final = frozenset(" \t\n;&|<>()")
_ORDINARY: Final = re.compile(r"[^ \t\n;&|<>()'\"\\$`]+")
_IN_QUOTES: Final = re.compile(r'[^"\\$`]+')
_IN_BRACES: Final = re.compile(r"[^}'\"\\$`<>]+")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_SHORT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_SUBSCRIPT: Final = re.compile(r"\[[A-Za-z0-9_@*$ +-]*\]")
_ARRAY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


class WordParser(Cursor):
    """The part of the reader that knows words."""

    def word(self) -> Word:
        """Return the word that begins here."""
        begin = self.at
        atoms: list[Atom] = []
        array: tuple[Word, ...] | None = None
        while True:
            here = self.here()
            if run := _ORDINARY.match(self.text, self.at):
                self.at = run.end()
                is_extended = run[0][-1] in "?*+@!" and self.starts("(") and not self.starts("()")
                bare = run[0][:-1] if is_extended else run[0]
                atoms += [Text(bare, quoted=False)] if bare else []
                if is_extended:
                    atoms += self._extended()
            elif here in ("<", ">") and here and self.text[self.at + 1 : self.at + 2] == "(":
                atoms.append(self._pipe())
            elif here == "(" and _ARRAY.fullmatch(self.text[begin : self.at]):
                array = self._array()
            elif not here or here in METACHARACTERS:
                break
            else:
                atoms += self._special()
        return Word(self.text[begin : self.at], tuple(atoms), array)

    def _extended(self) -> list[Atom]:
        """Read an extended pattern, `@(a|b)` and its like; its operator is behind us."""
        depth = 0
        while True:
            here = self.here()
            if not here or self.starts("<(", ">("):
                raise LostError
            depth += {"(": 1, ")": -1}.get(here, 0)
            if depth == 0:
                self.at += 1
                return [RuntimeValue(quoted=False, is_name=True)]
            if run := _ORDINARY.match(self.text, self.at):
                self.at = run.end()
            elif here in METACHARACTERS:
                self.at += 1
            else:
                self._special()

    def _special(self) -> list[Atom]:
        match self.here():
            case "'":
                return [Text(self._until_quote(), quoted=True)]
            case '"':
                self.at += 1
                return self._double_quotes()
            case "\\":
                return self._escape()
            case "$":
                return [self._dollar(quoted=False)]
            case _:
                return [self._backticks(quoted=False)]

    def _until_quote(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise LostError
        found = self.text[self.at + 1 : end]
        self.at = end + 1
        return found

    def _escape(self) -> list[Atom]:
        escaped = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if escaped == "\n":
            return []
        return [Text(escaped or "\\", quoted=True)]

    def _double_quotes(self) -> list[Atom]:
        """Read on to the closing quote; the opening one is behind us."""
        atoms: list[Atom] = [Text("", quoted=True)]
        while self.here() != '"':
            if not self.here():
                raise LostError
            atoms += self.quoted_piece()
        self.at += 1
        return atoms

    def quoted_piece(self, stop: re.Pattern[str] = _IN_QUOTES) -> list[Atom]:
        """Read one piece as it is read between double quotes and in here-documents."""
        if run := stop.match(self.text, self.at):
            self.at = run.end()
            return [Text(run[0], quoted=True)]
        match self.here():
            case "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                self.at += 2
                kept = "" if escaped == "\n" else escaped if escaped in '$`"\\' else "\\" + escaped
                return [Text(kept, quoted=True)]
            case "$":
                return [self._dollar(quoted=True)]
            case "`":
                return [self._backticks(quoted=True)]
            case other:  # a quote in a here-document
                self.at += 1
                return [Text(other, quoted=True)]

    def _dollar(self, *, quoted: bool) -> Atom:
        after = self.text[self.at + 1 : self.at + 2]
        if after == "'" and not quoted:
            self.at += 2
            return Text(self._ansi(), quoted=True)
        if after == '"' and not quoted:
            self.at += 1
            return Text("", quoted=True)  # the quotes follow; there is no translation
        if after == "(":
            return self._substitution(quoted=quoted)
        if after == "{":
            self.at += 2
            return self._braced(quoted=quoted)
        if after == "[":
            raise LostError
        short = _SHORT.match(self.text, self.at + 1)
        if short is None:
            self.at += 1
            return Text("$", quoted=quoted)
        self.at = short.end()
        return Parameter(short[0], quoted)

    def _ansi(self) -> str:
        begin = self.at
        while self.here() != "'":
            if not self.here():
                raise LostError
            self.at += 2 if self.here() == "\\" else 1
        found = decode(self.text[begin : self.at])
        self.at += 1
        if found is None:
            raise LostError
        return found

    def _substitution(self, *, quoted: bool) -> Atom:
        if self.starts("$(("):
            begin, count = self.at, len(self.events)
            self.at += 3
            if self.arithmetic():
                return RuntimeValue(quoted, is_name=True)
            self.at = begin
            del self.events[count:]
        self.at += 2
        return RuntimeValue(quoted, is_cwd=self._subshell() == "pwd")

    def _subshell(self) -> str | None:
        """Read commands up to `)`; return the only word of the only command, if that is all."""
        count = len(self.events)
        self.events.append(Open(Scope.SUBSHELL, self.before))
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise LostError
        self.commands_within()
        self.depth -= 1
        self.events.append(Close())
        match self.events[count + 1 : -1]:
            case [Command(words=(word,), redirections=())]:
                return word.source
            case _:
                return None

    def _pipe(self) -> Atom:
        self.at += 2
        self._subshell()
        return ProcessSubstitution()

    def _backticks(self, *, quoted: bool) -> Atom:
        begin = self.at + 1
        self.at = begin
        while self.here() != "`":
            if not self.here():
                raise LostError
            self.at += 2 if self.here() == "\\" else 1
        kept = r"\\([$`\\\"])" if quoted else r"\\([$`\\])"
        inner = re.sub(kept, r"\1", self.text[begin : self.at])
        self.at += 1
        self.events.append(Open(Scope.SUBSHELL, self.before))
        self.text_within(inner)
        self.events.append(Close())
        return RuntimeValue(quoted, is_cwd=inner.strip(" ") == "pwd")

    def _array(self) -> tuple[Word, ...]:
        self.at += 1
        found: list[Word] = []
        while True:
            self.blanks(lines=True)
            if self.here() == ")":
                self.at += 1
                return tuple(found)
            before = self.at
            found.append(self.word())
            if self.at == before:
                raise LostError

    def _braced(self, *, quoted: bool) -> Atom:
        """Read `${…}`; the `${` is behind us."""
        prefix = self.here()
        if prefix in "#!" and self.text[self.at + 1 : self.at + 2] not in ("}", ":", "-", "="):
            self.at += 1
        else:
            prefix = ""
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise LostError
        self.at = name.end()
        if self.here() == "[":
            subscript = _SUBSCRIPT.match(self.text, self.at)
            if subscript is None:
                raise LostError
            self.at = subscript.end()
            prefix = prefix or "["
        begin = self.at
        operator = re.compile(r":[-=?+]|##|%%|\^\^|,,|//|/[#%]|[-=?+#%/^,@:]|").match(
            self.text, begin
        )
        assert operator is not None
        self.at = operator.end()
        argument = self._argument(quoted=quoted)
        if prefix == "#":
            return RuntimeValue(quoted, is_name=True)
        return Parameter(name[0], quoted, prefix or operator[0], argument)

    def _argument(self, *, quoted: bool) -> tuple[Atom, ...]:
        """Read on to the `}` that ends a parameter."""
        atoms: list[Atom] = []
        while self.here() != "}":
            here = self.here()
            if not here or here in "<>" or (here == "'" and quoted):
                raise LostError  # `<(…)` is live in here, and quotes mean different things
            if run := _IN_BRACES.match(self.text, self.at):
                atoms.append(Text(run[0], quoted))
                self.at = run.end()
            else:
                atoms += self._special() if here in "'\"\\" else self.quoted_piece()
        self.at += 1
        return tuple(atoms)
