"""Reads redirections and here-documents."""

import re
from typing import Final

from wcore.policy.shell_paths.cursor import LostError
from wcore.policy.shell_paths.syntax import Atom, Event, HereDocument, Redirection, Text, Word
from wcore.policy.shell_paths.word_parser import WordParser

_REDIRECTION: Final = re.compile(r"&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<|>")
_DUPLICATION: Final = re.compile(r"[0-9]+-?|-")


class RedirectionParser(WordParser):
    """The part of the reader that knows what stands between words."""

    def __init__(self, text: str, events: list[Event], depth: int) -> None:
        super().__init__(text, events, depth)
        self.documents: list[tuple[str, bool, bool, HereDocument]] = []

    def document(self, body: str) -> list[Atom]:
        """Read what is expanded in the body of a here-document."""
        raise NotImplementedError

    def blanks(self, *, lines: bool = False) -> None:
        while True:
            here = self.here()
            if here in (" ", "\t") or (lines and here == "\n"):
                self.at += 1
            elif self.starts("\\\n"):
                self.at += 2
            elif here == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def redirection(self, found: list[Redirection]) -> None:
        match = _REDIRECTION.match(self.text, self.at)
        assert match is not None
        operator = match[0]
        self.at = match.end()
        while self.here() in (" ", "\t") or self.starts("\\\n"):
            self.at += 2 if self.here() == "\\" else 1
        begin = self.at
        target = self.word()
        if self.at == begin:
            raise LostError
        if operator in ("<<", "<<-"):
            document = self._begin_document(target, strips=operator == "<<-")
            found.append(Redirection(operator, target, document))
        elif operator not in (">&", "<&") or not _DUPLICATION.fullmatch(target.source):
            found.append(Redirection(operator, target))

    def _begin_document(self, target: Word, *, strips: bool) -> HereDocument:
        delimiter = target.literal
        if delimiter is None or any(c in target.source for c in "$`\n"):
            raise LostError
        if strips and delimiter.startswith("\t"):
            raise LostError  # bash compares the line before it strips the tabs, or after
        document = HereDocument()
        self.documents.append((delimiter, strips, not target.is_bare, document))
        return document

    def read_documents(self) -> None:
        """Read the bodies that begin on this line. Commands in them are read like any other."""
        documents, self.documents = self.documents, []
        for delimiter, strips, is_quoted, document in documents:
            lines: list[str] = []
            while self.at < len(self.text):
                line = self._line(joined=not is_quoted)
                line = line.lstrip("\t") if strips else line
                if line == delimiter:
                    break
                lines.append(line)
            body = "\n".join(lines)
            atoms = self.document(body) if lines and not is_quoted else [Text(body, quoted=True)]
            document.atoms = tuple(atoms)

    def _line(self, *, joined: bool) -> str:
        found = ""
        while True:
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            found += self.text[self.at : end]
            self.at = end + 1
            backslashes = len(found) - len(found.rstrip("\\"))
            if not joined or backslashes % 2 == 0 or self.at > len(self.text):
                return found
            found = found[:-1]

    def brackets(self) -> None:
        """Pass the `()` of a function."""
        self.at += 1
        self.blanks()
        if self.here() != ")":
            raise LostError
        self.at += 1

    def patterns(self) -> None:
        """Pass the patterns of one part of a `case`."""
        while True:
            self.blanks()
            before = self.at
            self.word()
            self.blanks()
            here = self.here()
            if here in (")", "|") and here:
                self.at += 1
                if here == ")":
                    return
            elif self.at == before:
                raise LostError
