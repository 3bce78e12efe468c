"""Bytes of a terminal to keys. Pure: what to do after a lone Esc is the reader's to time."""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import groupby
from typing import Final, TypeAlias

PASTE_BEGIN: Final = "\x1b[200~"
PASTE_END: Final = "\x1b[201~"
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\[O\x1b])", re.DOTALL)
_UNFINISHED: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?", re.DOTALL)


class Key(Enum):
    """A key that is not a character."""

    ENTER = auto()
    BACKSPACE = auto()
    DELETE = auto()
    LEFT = auto()
    RIGHT = auto()
    UP = auto()
    DOWN = auto()
    HOME = auto()
    END = auto()
    ESCAPE = auto()
    INTERRUPT = auto()
    EOF = auto()
    KILL_LINE = auto()
    KILL_REST = auto()
    KILL_WORD = auto()
    REDRAW = auto()
    SUSPEND = auto()
    OTHER = auto()


@dataclass(frozen=True)
class Typed:
    """One character that a person typed."""

    char: str


@dataclass(frozen=True)
class Pasted:
    """Text that was pasted as a whole; newlines in it are text, not Enter.

    So is text that comes with an Enter in one read: not every terminal says that it pastes. The
    Enters at its end stay keys.
    """

    text: str


Press: TypeAlias = Key | Typed | Pasted

_CONTROLS: Final = {
    "\r": Key.ENTER,
    "\n": Key.ENTER,
    "\x7f": Key.BACKSPACE,
    "\x08": Key.BACKSPACE,
    "\x01": Key.HOME,
    "\x05": Key.END,
    "\x02": Key.LEFT,
    "\x06": Key.RIGHT,
    "\x10": Key.UP,
    "\x0e": Key.DOWN,
    "\x03": Key.INTERRUPT,
    "\x04": Key.EOF,
    "\x15": Key.KILL_LINE,
    "\x0b": Key.KILL_REST,
    "\x17": Key.KILL_WORD,
    "\x0c": Key.REDRAW,
    "\x1a": Key.SUSPEND,
}
_SEQUENCES: Final = {
    **dict.fromkeys(("\x1b[A", "\x1bOA"), Key.UP),
    **dict.fromkeys(("\x1b[B", "\x1bOB"), Key.DOWN),
    **dict.fromkeys(("\x1b[C", "\x1bOC"), Key.RIGHT),
    **dict.fromkeys(("\x1b[D", "\x1bOD"), Key.LEFT),
    **dict.fromkeys(("\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~"), Key.HOME),
    **dict.fromkeys(("\x1b[F", "\x1bOF", "\x1b[4~", "\x1b[8~"), Key.END),
    "\x1b[3~": Key.DELETE,
}


class KeyDecoder:
    """Turns what a terminal sends into keys; keeps what is not finished yet."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._pasting = False

    @property
    def is_waiting(self) -> bool:
        """Whether a lone Esc is kept that may be the beginning of another key."""
        return bool(self._rest) and not self._pasting

    def feed(self, data: bytes) -> list[Press]:
        """Return the keys that are complete after `data`."""
        self._rest += self._utf8.decode(data)
        return list(_joined(self._presses()))

    def flush(self) -> list[Press]:
        """Nothing followed the kept Esc: it was the Esc key."""
        self._rest = ""
        return [Key.ESCAPE]

    def reset(self) -> None:
        """Forget what is unfinished, except that a paste is going on."""
        if not self._pasting:
            self._rest = ""

    def _presses(self) -> Iterator[Press]:
        while self._rest:
            if self._pasting:
                text, end, rest = self._rest.partition(PASTE_END)
                if not end:
                    return
                self._rest, self._pasting = rest, False
                yield Pasted(text.replace("\r\n", "\n").replace("\r", "\n"))
            elif self._rest[0] != "\x1b":
                char, self._rest = self._rest[0], self._rest[1:]
                yield _char(char)
            elif found := _SEQUENCE.match(self._rest):
                self._rest = self._rest[found.end() :]
                self._pasting = found[0] == PASTE_BEGIN
                if not self._pasting:
                    yield _SEQUENCES.get(found[0], Key.OTHER)
            elif _UNFINISHED.fullmatch(self._rest):
                return
            else:  # Esc Esc, or Esc before something that continues no sequence
                self._rest = self._rest[1:]
                yield Key.ESCAPE


def _joined(presses: Iterable[Press]) -> Iterator[Press]:
    """Make a paste of what came at once, if it is text and Enter."""
    for is_text, run in groupby(presses, lambda each: each is Key.ENTER or isinstance(each, Typed)):
        keys = list(run)
        text = "".join(each.char if isinstance(each, Typed) else "\n" for each in keys)
        lines = text.rstrip("\n")
        if is_text and lines and "\n" in text:
            keys = [Pasted(lines), *keys[len(lines) :]]
        yield from keys


def _char(char: str) -> Press:
    if char in _CONTROLS:
        return _CONTROLS[char]
    return Typed(char) if char.isprintable() or char == "\t" else Key.OTHER
