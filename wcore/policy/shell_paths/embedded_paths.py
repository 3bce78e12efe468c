"""Paths that are spelled within a word: in a script of `sed`, in an address. Best effort.

Programs open what their own little languages name, and nobody reads all of those: what looks like
a path within a word is taken for one that the program may open, and for one that it writes where a
sign of writing stands in front of it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import unquote

from wcore.policy.shell_paths.programs import Role
from wcore.policy.shell_paths.values import Value, split, text
from wcore.policy.stops import program

_BREAKS: Final = " \t\r\n\f\v;|&<>()=`$\"'\\{}[],:!"
_LIKE_A_PATH: Final = re.compile(r"[^/]/[^/]|^~?/[^/]|\.[A-Za-z]")
_BEHIND: Final = ".,?!"  # what may follow a name in a sentence
_ADDRESS: Final = re.compile(r"file:(?://[^/\s]*)?(/[^\s\"'?#]*)", re.IGNORECASE)
_NAME: Final = r"([^\s\"';})]+)"
#: What is written: `print > "x"`, `writefile('x', …)`, `open("x", "w")`.
_WRITTEN: Final = re.compile(
    r">\s*[\"']([^\"'\n]+)[\"']|writefile\(\s*'([^'\n]+)'|open\(\s*[\"']([^\"'\n]+)[\"']\s*,\s*[\"'][wax]"
)
#: What is opened: `getline < "x"`, `open("x")`.
_OPENED: Final = re.compile(r"<\s*[\"']([^\"'\n]+)[\"']|open\(\s*[\"']([^\"'\n]+)[\"']")
_REDIRECTED: Final = re.compile(r">\s*" + _NAME)
#: The files of commands, written and read, of programs that are given scripts.
_EDITOR: Final = re.compile(r"(?:^|[^A-Za-z])(?:[wW]q?|write|saveas|wall)!?[ \t]+" + _NAME)
_SED: Final = (
    re.compile(r"(?:^|[^A-Za-z]|[/|#,][gpiIeMm0-9]{1,4})[wW][ \t]*([^\s;}][^\n;}]*)"),
    re.compile(r"(?:^|[^A-Za-z])[rR][ \t]*([^\s;}][^\n;}]*)"),
)
_SQLITE: Final = re.compile(
    r"\.(?:once|output|log|excel|save|backup|dump|clone|archive|ar)\s+(?:-\S+\s+)*[\"']?" + _NAME
)
_GDB: Final = re.compile(r"(?:logging file|^save \S+|^dump \S+ \S+|generate-core-file)\s+" + _NAME)
_SCRIPTED: Final = {
    **dict.fromkeys(("ed", "ex", "vi", "vim", "nvim", "view", "red"), _EDITOR),
    **dict.fromkeys(("sqlite3", "sqlite"), _SQLITE),
    **dict.fromkeys(("gdb", "lldb"), _GDB),
}
_PATCHERS: Final = frozenset(["patch", "git"])
_SEDS: Final = frozenset(["sed", "gsed", "ssed"])
_ALSO: Final = frozenset("awk gawk mawk nawk perl ruby emacs script patch".split())


class Scripts:
    """Finds the paths that are spelled within the words of one command."""

    def __init__(self, words: Sequence[str | None]) -> None:
        self._names = {program(word) for word in words if word}

    def within(self, value: Value, role: Role) -> Iterator[tuple[Value, Role]]:
        """Yield the paths that a word spells besides being one."""
        if role is Role.WRITE and not self._are_scripted():
            role = Role.UNKNOWN  # it writes what the whole word names; `split --filter=` runs it
        return self.of_text(value, role)

    def of_text(self, value: Value, role: Role) -> Iterator[tuple[Value, Role]]:
        """Yield the paths that a text spells which the command is given."""
        if role is not Role.UNKNOWN and not (role is Role.WRITE and self._are_scripted()):
            return
        for piece in value.pieces:
            if isinstance(piece, str):
                for path, does in self._told(piece, role):
                    yield text(path, private=value.private), does
        for part in split(value, _BREAKS):
            literal = part.literal
            if part != value and literal is not None and _LIKE_A_PATH.search(literal):
                yield part, role
                bare = literal.rstrip(_BEHIND)
                if bare and bare != literal:
                    yield text(bare, private=value.private), role
                if bare[:2] in ("a/", "b/") and not self._names.isdisjoint(_PATCHERS):
                    yield text(bare[2:], private=value.private), role

    def _are_scripted(self) -> bool:
        return not self._names.isdisjoint(_SCRIPTED.keys() | _SEDS | _ALSO)

    def _told(self, piece: str, role: Role) -> Iterator[tuple[str, Role]]:
        for match in _ADDRESS.finditer(piece):
            yield unquote(match[1]), role
        for match in _WRITTEN.finditer(piece):
            yield next(filter(None, match.groups())), Role.WRITE
        for match in _OPENED.finditer(piece):
            yield next(filter(None, match.groups())), role
        for match in _REDIRECTED.finditer(piece):
            if _LIKE_A_PATH.search(match[1]):
                yield match[1], Role.WRITE
        for name in self._names & _SCRIPTED.keys():
            yield from ((match[1], Role.WRITE) for match in _SCRIPTED[name].finditer(piece))
        if not self._names.isdisjoint(_SEDS):
            for expression, does in zip(_SED, (Role.WRITE, role), strict=True):
                yield from ((match[1], does) for match in expression.finditer(piece))
