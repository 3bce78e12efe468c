"""Options by which a program goes to another folder before it reads its words."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from wcore.policy.shell_paths.values import ANYTHING, Value, text
from wcore.policy.stops import program

MOVES_MAX: Final = 64  # of one command; more lead anywhere

_CAPITAL_C: Final = "git make gmake tar gtar bsdtar ninja go pnpm meson cargo poetry uv".split()
_OPTIONS: Final = {
    **dict.fromkeys(_CAPITAL_C, re.compile(r"(?:-[A-Za-z]*C|--(?:directory|dir|cd|project))(=?)")),
    "env": re.compile(r"(?:-[A-Za-z0]*C|--chd?i?r?)(=?)"),
    "sudo": re.compile(r"(?:-D|--chdir)(=?)"),
    "curl": re.compile(r"(?:--output-dir)(=?)"),
    "npm": re.compile(r"(?:-C|--prefix)(=?)"),
    "yarn": re.compile(r"(?:--cwd)(=?)"),
    "parallel": re.compile(r"(?:--wd|--workdir)(=?)"),
}


def folders_of(argv: Sequence[Value]) -> list[Value]:
    """Return the folders that programs among the words go to, each from where the last one led."""
    found = list(islice(_folders(argv), MOVES_MAX + 1))
    return found if len(found) <= MOVES_MAX else [*found[:MOVES_MAX], ANYTHING]


def _folders(argv: Sequence[Value]) -> Iterator[Value]:
    names = dict.fromkeys(program(value.literal or "") for value in argv)
    options = [_OPTIONS[name] for name in names if name in _OPTIONS]
    for at, value in enumerate(argv[1:] if options else (), 1):
        for option in options:
            match = option.match(value.beginning)
            if match is None:
                continue
            rest = Value((value.beginning[match.end() :], *value.pieces[1:]), value.private)
            attached = text("") + rest
            if attached.pieces:
                yield attached
            elif at + 1 < len(argv):
                yield argv[at + 1]
