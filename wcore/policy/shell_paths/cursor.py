"""A place in a shell text, and the reading of arithmetic, which every part of the reader meets."""

import re
from typing import Final

from wcore.policy.shell_paths.syntax import ArithmeticAssignment, Atom, Event

DEPTH_MAX: Final = 24  # parts within parts; nobody reads more, and our own stack is finite
TRIES_MAX: Final = 256  # of `((` that may be arithmetic; read again where it is none
_SETS: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")
_STEPS: Final = re.compile(r"(?:\+\+|--)\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:\+\+|--)")


class LostError(Exception):
    """The reader does not understand the text any further."""


class Cursor:
    """A place in a text. `at` is where the reader is; events go to `events`."""

    def __init__(self, text: str, events: list[Event], depth: int) -> None:
        if depth > DEPTH_MAX:
            raise LostError
        self.text = text
        self.at = 0
        self.events = events
        self.depth: int = depth
        self.before = ";"  # the operator in front of the command that is read
        self.tries = [0]  # shared with the parsers of inner texts

    def here(self, count: int = 1) -> str:
        return self.text[self.at : self.at + count]

    def starts(self, *prefixes: str) -> bool:
        return self.text.startswith(prefixes, self.at)

    def commands_within(self) -> None:
        """Read commands up to the `)` that closes them."""
        raise NotImplementedError

    def text_within(self, text: str) -> None:
        """Read `text` as commands of their own."""
        raise NotImplementedError

    def quoted_piece(self) -> list[Atom]:
        """Read one piece as it is read between double quotes."""
        raise NotImplementedError

    def blanks(self, *, lines: bool = False) -> None:
        """Move past blanks, joined lines and comments; `lines`: past newlines as well."""
        raise NotImplementedError

    def arithmetic(self) -> bool:
        """Read on behind `))`; false where this is no arithmetic but a subshell in another."""
        begin, depth = self.at, 0
        self.tries[0] += 1
        if self.tries[0] > TRIES_MAX:
            raise LostError
        while True:
            here = self.here()
            if not here or here in "'\\;":
                if here == ";":  # `for ((;;))`
                    self.at += 1
                    continue
                raise LostError
            if here in "$`":
                self.quoted_piece()
                continue
            if here == ")" and depth == 0:
                if not self.starts("))"):
                    return False
                break
            depth += {"(": 1, ")": -1}.get(here, 0)
            self.at += 1
        content = self.text[begin : self.at]
        self.at += 2
        names = [match[1] for match in _SETS.finditer(content)]
        names += [match[1] or match[2] for match in _STEPS.finditer(content)]
        if names:
            self.events.append(ArithmeticAssignment(tuple(names)))
        return True
