"""Paths that are spelled within a word: in a script of `sed`, in an address. Best effort.

Programs open what their own little languages name, and nobody reads all of those: what looks like
a path within a word is taken for one that the program may open, and for one that it writes where a
sign of writing stands in front of it.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from wcore.policy.shell.paths.values import HOLES, literal

_BREAKS: Final = re.compile(r"[\s;|&<>()=`$\"'\\{}\[\],:!]+")
_LIKE_A_PATH: Final = re.compile(r"[^/]/[^/]|^~?/[^/]|\.[A-Za-z]")
_BEHIND: Final = ".,?!"  # what may follow a name in a sentence
_ADDRESS: Final = re.compile(r"file:(?://[^/\s]*)?(/[^\s\"'?#]*)", re.IGNORECASE)
_NAME: Final = r"([^\s\"';})]+)"
#: What is written: `print > "x"`, `writefile('x', …)`, `open("x", "w")`, `.output x` of sqlite3,
#: `set logging file x` of gdb.
_WRITTEN: Final = (
    re.compile(r">\s*[\"']([^\"'\n]+)[\"']"),
    re.compile(r"writefile\(\s*'([^'\n]+)'"),
    re.compile(r"open\(\s*[\"']([^\"'\n]+)[\"']\s*,\s*[\"'][wax]"),
    re.compile(rf">\s*(?=[^\s\"';}})]*[./]){_NAME}"),
    re.compile(
        r"\.(?:once|output|log|excel|save|backup|dump|clone|archive|ar)\s+(?:-\S+\s+)*[\"']?"
        + _NAME
    ),
    re.compile(r"(?:logging file|^save \S+|^dump \S+ \S+|generate-core-file)\s+" + _NAME),
)
#: What is opened: `getline < "x"`, `open("x")`.
_OPENED: Final = (
    re.compile(r"<\s*[\"']([^\"'\n]+)[\"']"),
    re.compile(r"open\(\s*[\"']([^\"'\n]+)[\"']"),
)
EDITORS: Final = frozenset("sed gsed ssed ed ex vi vim nvim view red".split())
_WRITTEN_BY_EDITORS: Final = (
    re.compile(r"(?:^|[^A-Za-z]|[/|#,][gpiIeMm0-9]{1,4})[wW]q?!?[ \t]*([^\s;}][^\n;}]*)"),
    re.compile(r"(?:^|[^A-Za-z])(?:write|saveas|wall)!?[ \t]+" + _NAME),
)
_READ_BY_EDITORS: Final = (re.compile(r"(?:^|[^A-Za-z])[rR][ \t]*([^\s;}][^\n;}]*)"),)


def spelled(value: str, *, by_editor: bool, is_input: bool) -> Iterator[tuple[str, bool]]:
    """Yield the paths that a text spells besides being one, and whether it is written.

    `is_input`: a program reads it, and may take all of it for a path.
    """
    written = (*_WRITTEN, *(_WRITTEN_BY_EDITORS if by_editor else ()))
    opened = (*_OPENED, *(_READ_BY_EDITORS if by_editor else ()))
    for piece in HOLES.split(value):
        for match in _ADDRESS.finditer(piece):
            yield unquote(match[1]), False
        for expressions, is_written in ((written, True), (opened, False)):
            for expression in expressions:
                yield from ((match[1], is_written) for match in expression.finditer(piece))
    if is_input and value.strip() and not _BREAKS.search(value.strip()):
        yield value.strip(), False
    for part in _BREAKS.split(value):
        if (is_input or part != value) and literal(part) and _LIKE_A_PATH.search(part):
            bare = part.rstrip(_BEHIND)
            patched = [bare[2:]] if bare[:2] in ("a/", "b/") else []  # of a patch
            yield from ((each, False) for each in dict.fromkeys([part, bare, *patched]) if each)
