"""Reads a shell text into events: commands, redirections, and what they are run in. Generous.

Reserved words are followed as far as they tell what is a command, what a pattern and what data.
It never fails: where it is lost it says so, and what came before still stands.
"""

import re
from typing import Final

from wcore.policy.shell_paths.cursor import DEPTH_MAX, LostError
from wcore.policy.shell_paths.redirection_parser import RedirectionParser
from wcore.policy.shell_paths.syntax import (
    ArithmeticAssignment,
    Atom,
    Close,
    Command,
    Event,
    ForLoop,
    FunctionDefinition,
    Open,
    Parameter,
    Redirection,
    Scope,
    Text,
    UnparsedRest,
    Word,
)

_OPERATOR: Final = re.compile(r"&&|\|\||\|&|[;|&]")
_IN_DOCUMENT: Final = re.compile(r"[^\\$`]+")
_DESCRIPTOR: Final = re.compile(r"[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\}")
_GLUE: Final = frozenset("then do else elif ! time".split())
_OPENS: Final = {"if": Scope.BRANCH, "{": Scope.BRANCH, "while": Scope.LOOP, "until": Scope.LOOP}
_CLOSES: Final = frozenset(["fi", "done", "}"])


def parse(text: str, depth: int = 0) -> list[Event]:
    """Return the events of `text`; linear but for backticks within backticks."""
    events: list[Event] = []
    try:
        parser = _Parser(text, events, depth)
    except LostError:
        return [UnparsedRest(0)]
    try:
        parser.commands(")" if depth < 0 else "")
    except (LostError, RecursionError):
        events.append(UnparsedRest(parser.at))
    return events


class _Parser(RedirectionParser):
    def __init__(self, text: str, events: list[Event], depth: int) -> None:
        super().__init__(text, events, depth)
        self._last: Command | None = None  # the command that an operator would follow

    def commands_within(self) -> None:
        waiting, self.documents = self.documents, []
        last, before = self._last, self.before
        self.commands(")")
        if self.documents:
            raise LostError  # a here-document that begins behind the closing bracket
        self.documents, self._last, self.before = waiting, last, before

    def text_within(self, text: str) -> None:
        inner = _Parser(text, self.events, self.depth + 1)
        inner.tries = self.tries
        inner.commands("")

    def document(self, body: str) -> list[Atom]:
        inner = _Parser(body, self.events, self.depth + 1)
        inner.tries = self.tries
        found: list[Atom] = []
        while inner.here():
            piece = inner.quoted_piece(_IN_DOCUMENT)
            found += piece
            for atom in piece:
                if isinstance(atom, Parameter) and atom.operator in ("=", ":="):
                    self.events.append(ArithmeticAssignment((atom.name,)))
        return found

    def commands(self, end: str) -> bool:
        """Read commands up to `end`: `)`, `;;` (also `esac`: then true), or the end of the text."""
        before, begin = ";", len(self.events)
        while True:
            self.blanks()
            here = self.here()
            if self.starts(";;", ";&") or not here or here == ")":
                return self._end(here, end)
            if here == "\n":
                self.at += 1
                self.read_documents()
                before, begin = ";", len(self.events)
            elif (operator := _OPERATOR.match(self.text, self.at)) and not self.starts("&>"):
                self.at = operator.end()
                before = operator[0]
                begin = self._operator(before, begin)
            elif self._command(before, end):
                return True
            else:
                before = before if self._last is None else ";"
                if self.events and isinstance(self.events[-1], Open):
                    before, begin = ";", len(self.events)

    def _end(self, here: str, end: str) -> bool:
        """Pass the end of a list of commands, which must be the one that is looked for."""
        if (";;" if here == ";" else here) != end:
            raise LostError
        self.at += (3 if self.starts(";;&") else 2) if here == ";" else len(here)
        return here != ";"

    def _operator(self, operator: str, begin: int) -> int:
        """Note an operator; return where the list of commands that it stands in begins."""
        if operator == "&":  # the whole list is run beside the shell
            self.events.insert(begin, Open(Scope.SUBSHELL))
            self.events.append(Close())
        if self._last is not None:
            self._last.after = operator
        self._last = None
        return len(self.events) if operator in ("&", ";") else begin

    def _command(self, before: str, end: str) -> bool:
        """Read one command, or the beginning of a compound one; true at the end of a `case`."""
        self._last = None
        self.before = before
        if self.here() == "(":
            self._bracket(before)
            return False
        words: list[Word] = []
        redirections: list[Redirection] = []
        while True:
            self.blanks()
            here = self.here()
            if not here or here in "\n;)|" or (here == "&" and not self.starts("&>")):
                break
            if here == "(":
                self._function(words)
                return False
            if (here in "<>" and not self.starts("<(", ">(")) or here == "&":
                self.redirection(redirections)
                continue
            word = self.word()
            if self.here() in ("<", ">") and self.here() and _DESCRIPTOR.fullmatch(word.source):
                self.redirection(redirections)
            elif words or redirections or not word.is_bare:
                words.append(word)
            elif (ended := self._reserved(word.source, before, end)) is not None:
                return ended
            else:
                words.append(word)
        self._add(words, redirections, before)
        return False

    def _add(self, words: list[Word], redirections: list[Redirection], before: str) -> None:
        if words or redirections:
            self._last = Command(tuple(words), tuple(redirections), before)
            self.events.append(self._last)

    def _reserved(self, source: str, before: str, end: str) -> bool | None:
        """Follow a reserved word; `None` where it is none, true at the end of a `case`."""
        if source in _GLUE:
            return False
        if source in _OPENS:
            self.events.append(Open(_OPENS[source], before))
        elif source in _CLOSES:
            self._close(before)
        elif source in ("for", "select", "case"):
            self._case(before) if source == "case" else self._for()
        elif source == "esac" and end == ";;":
            return True
        elif source == "function":
            self._named_function()
        elif source == "[[":
            self._test(before)
        elif source == "coproc":
            raise LostError
        else:
            return None
        return False

    def _close(self, before: str) -> None:
        self.events.append(Close())
        self._behind(before)

    def _behind(self, before: str) -> None:
        """Read the redirections behind a compound command."""
        redirections: list[Redirection] = []
        while True:
            self.blanks()
            begin = self.at
            if self.here() not in ("<", ">") and not self.starts("&>"):
                descriptor = re.compile(r"(?:[0-9]+|\{[A-Za-z_]\w*\})(?=[<>])").match(
                    self.text, self.at
                )
                if descriptor is None:
                    break
                self.at = descriptor.end()
            if self.starts("<(", ">("):
                self.at = begin
                break
            self.redirection(redirections)
        self._add([], redirections, before)

    def _bracket(self, before: str) -> None:
        if self.starts("(("):
            begin, count = self.at, len(self.events)
            self.at += 2
            if self.arithmetic():
                self._behind(before)
                return
            self.at = begin
            del self.events[count:]
        self.at += 1
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise LostError
        self.events.append(Open(Scope.SUBSHELL, before))
        self.commands_within()
        self.events.append(Close())
        self.depth -= 1
        self._last = None
        self._behind(before)

    def _function(self, words: list[Word]) -> None:
        if len(words) != 1:
            raise LostError
        self.brackets()
        self.events.append(FunctionDefinition(words[0].source))

    def _named_function(self) -> None:
        self.blanks()
        name = self.word().source
        self.blanks()
        if self.here() == "(":
            self.brackets()
        self.events.append(FunctionDefinition(name))

    def _for(self) -> None:
        self.blanks()
        if self.starts("(("):
            self.at += 2
            if not self.arithmetic():
                raise LostError
            self.events.append(Open(Scope.LOOP, self.before))
            return
        name = self.word()
        if not name.is_bare:
            raise LostError
        self.blanks(lines=True)
        words: list[Word] | None = None
        begin = self.at
        if self.here() not in (";", "") and self.word().source == "in":
            words = []
            while True:
                self.blanks()
                if self.here() in ("", "\n", ";"):
                    break
                before = self.at
                words.append(self.word())
                if self.at == before:
                    raise LostError
        else:
            self.at = begin
        self.events.append(
            ForLoop(name.source, None if words is None else tuple(words), self.before)
        )
        self.events.append(Open(Scope.LOOP, self.before))

    def _case(self, before: str) -> None:
        self.blanks()
        subject = self.word()
        self.events.append(Command((Word("case", ()), subject), (), before))
        self.blanks(lines=True)
        if self.word().source != "in":
            raise LostError
        self.events.append(Open(Scope.BRANCH, before))
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise LostError
        while True:
            self.blanks(lines=True)
            if self.here() == "(":
                self.at += 1
                self.blanks()
            elif re.compile(r"esac(?![^ \t\n;&|<>()])").match(self.text, self.at):
                self.at += 4
                break
            self.patterns()
            if self.commands(";;"):
                break
        self.depth -= 1
        self._close(before)

    def _test(self, before: str) -> None:
        """Read `[[ … ]]`: nothing in it is redirected."""
        words = [Word("[[", (Text("[[", quoted=False),))]
        while True:
            self.blanks(lines=True)
            here = self.here()
            if not here or self.starts("<(", ">("):
                raise LostError
            if here in "<>()&|;":
                self.at += 1
                continue
            word = self.word()
            if word.source == "]]":
                break
            words.append(word)
        self._add(words, [], before)
        last = self._last
        self._behind(before)
        self._last = self._last or last
