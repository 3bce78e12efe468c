"""Brace expansion: `{a,b}` and `{1..3}`, bounded."""

import re
from typing import Final

from wcore.policy.shell_paths.syntax import Atom, RuntimeValue, Text

WORDS_MAX: Final = 256  # of one word with braces; more is not understood
BRACES_MAX: Final = 64  # opening ones in a word: each is looked for its end

_CONTROL: Final = re.compile(r"([{},])")
_RANGE: Final = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?")
_LETTERS: Final = re.compile(r"([a-zA-Z])\.\.([a-zA-Z])(?:\.\.-?\d{1,9})?")
_COMPUTED: Final = re.compile(r"(?:-?\d+|.)\.\.(?:-?\d+|.)(?:\.\.-?\d+)?", re.DOTALL)


class TooManyError(Exception):
    """The braces stand for more words than are looked at."""


class _Control(str):
    """An unquoted brace or comma."""

    __slots__ = ()


_Item = Atom | _Control


def expanded(atoms: tuple[Atom, ...]) -> list[tuple[Atom, ...]]:
    """Return the words that braces make of one.

    Raises:
        TooManyError: they are more than `WORDS_MAX`.
    """
    if not any(isinstance(atom, Text) and not atom.quoted and "{" in atom.text for atom in atoms):
        return [atoms]
    items: list[_Item] = []
    for atom in atoms:
        if isinstance(atom, Text) and not atom.quoted:
            for part in _CONTROL.split(atom.text):
                if part in ("{", "}", ","):
                    items.append(_Control(part))
                elif part:
                    items.append(Text(part, quoted=False))
        else:
            items.append(atom)
    if sum(isinstance(item, _Control) and item == "{" for item in items) > BRACES_MAX:
        raise TooManyError
    return [_merged(each) for each in _expand(items)]


def _plain(item: _Item) -> Atom:
    return Text(str(item), quoted=False) if isinstance(item, _Control) else item


def _merged(items: list[_Item]) -> tuple[Atom, ...]:
    """Return the atoms of a word; bare texts beside each other are one: `~{a,b}` is `~a`."""
    found: list[Atom] = []
    for item in items:
        atom = _plain(item)
        last = found[-1] if found else None
        bare = isinstance(atom, Text) and not atom.quoted
        if isinstance(atom, Text) and bare and isinstance(last, Text) and not last.quoted:
            found[-1] = Text(last.text + atom.text, quoted=False)
        else:
            found.append(atom)
    return tuple(found)


def _expand(items: list[_Item]) -> list[list[_Item]]:
    for begin, item in enumerate(items):
        if item == _Control("{") and isinstance(item, _Control):
            found = _alternatives(items, begin)
            if found is not None:
                alternatives, end = found
                rest = _expand(items[end + 1 :])
                inner = [each for alternative in alternatives for each in _expand(alternative)]
                if len(inner) * len(rest) > WORDS_MAX:
                    raise TooManyError
                return [[*items[:begin], *each, *tail] for each in inner for tail in rest]
    return [items]


def _alternatives(items: list[_Item], begin: int) -> tuple[list[list[_Item]], int] | None:
    """Return what the brace at `begin` chooses from and where it ends, if it is one."""
    depth = 0
    found: list[list[_Item]] = [[]]
    for at in range(begin + 1, len(items)):
        item = items[at]
        control = str(item) if isinstance(item, _Control) else ""
        if control == "}" and depth == 0:
            if len(found) > 1:
                return found, at
            sequence = _sequence(found[0])
            return None if sequence is None else (sequence, at)
        depth += {"{": 1, "}": -1}.get(control, 0)
        if control == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(item)
    return None


def _sequence(items: list[_Item]) -> list[list[_Item]] | None:
    text = ""
    for item in items:
        atom = _plain(item)
        if not isinstance(atom, Text) or atom.quoted:
            return None
        text += atom.text
    if numbers := _RANGE.fullmatch(text):
        low, high, step = int(numbers[1]), int(numbers[2]), abs(int(numbers[3] or 1)) or 1
        if abs(high - low) // step >= WORDS_MAX:
            return [[RuntimeValue(quoted=True)]]
        wide = any(re.match(r"-?0\d", end) for end in numbers.groups()[:2])
        width = max(len(numbers[1]), len(numbers[2])) if wide else 0
        chosen = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
        return [[Text(f"{number:0{width}d}", quoted=True)] for number in chosen]
    letters = _LETTERS.fullmatch(text)
    if letters and letters[1].islower() == letters[2].islower() and text.count("..") == 1:
        low, high = ord(letters[1]), ord(letters[2])
        chosen = range(low, high + 1) if low <= high else range(low, high - 1, -1)
        return [[Text(chr(each), quoted=True)] for each in chosen]
    return [[RuntimeValue(quoted=False)]] if _COMPUTED.fullmatch(text) else None
