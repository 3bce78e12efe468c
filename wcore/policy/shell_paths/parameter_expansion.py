"""What `${NAME%…}`, `${NAME#…}`, `${NAME/…}` and their kind make of a value."""

import re
from fnmatch import fnmatchcase
from typing import Final

from wcore.policy.shell_paths.values import A_NAME, ANYTHING, Hole, Value, joined, split, text

STARS_MAX: Final = 2  # of a pattern that is tried at every place of a value

_SPECIAL: Final = frozenset("*?[\\")
_SLICE: Final = re.compile(r" ?(-?[0-9]{1,9})(?::(-?[0-9]{1,9}))?")


def trimmed(value: Value, operator: str, argument: Value) -> Value:
    """Return the value that an operator makes of one; a hole where nobody knows."""
    pattern, known = argument.literal, value.literal
    found: str | Value | None = None
    if pattern is None:
        found = None
    elif operator == "##" and pattern == "*/":
        found = _last_part(value)
    elif known is not None:
        found = _of_text(known, operator, pattern)
    elif operator in ("%", "%%", "#", "##") and not _SPECIAL & set(pattern):
        found = _cut(value, pattern, at_end=operator[0] == "%")
    if found is None:
        shorter = operator[0] in "%#:^,"
        whole = not value.is_anything and not any("/" in part for part in _texts(value))
        return A_NAME if shorter and whole else ANYTHING
    return text(found, private=value.private) if isinstance(found, str) else found


def _texts(value: Value) -> list[str]:
    return [piece for piece in value.pieces if isinstance(piece, str)]


def _last_part(value: Value) -> Value:
    last = split(value, "/")[-1]
    return A_NAME if last.is_anything else last


def _cut(value: Value, literal: str, *, at_end: bool) -> Value | None:
    end = value.pieces[-1] if at_end else value.pieces[0]
    if isinstance(end, Hole):
        return None
    if at_end and end.endswith(literal):
        return joined((*value.pieces[:-1], end.removesuffix(literal)), private=value.private)
    if not at_end and end.startswith(literal):
        return joined((end.removeprefix(literal), *value.pieces[1:]), private=value.private)
    return value if len(end) >= len(literal) else None


def _of_text(known: str, operator: str, pattern: str) -> str | None:
    match operator:
        case "%" | "%%" | "#" | "##":
            return _stripped(known, operator, pattern)
        case "^^" if not pattern:
            return known.upper()
        case ",," if not pattern:
            return known.lower()
        case "/" | "//":
            old, _, new = pattern.partition("/")
            if not old or _SPECIAL & set(pattern) or "&" in new:
                return None
            return known.replace(old, new, -1 if operator == "//" else 1)
        case ":":
            return _sliced(known, pattern)
        case _:
            return None


def _stripped(known: str, operator: str, pattern: str) -> str | None:
    if "\\" in pattern or "[" in pattern or pattern.count("*") > STARS_MAX:
        return None
    ends = range(len(known) + 1)
    if operator[0] == "#":
        fits = [end for end in ends if fnmatchcase(known[:end], pattern)]
        return known[(max(fits) if operator == "##" else min(fits)) :] if fits else known
    fits = [end for end in ends if fnmatchcase(known[end:], pattern)]
    return known[: (min(fits) if operator == "%%" else max(fits))] if fits else known


def _sliced(known: str, pattern: str) -> str | None:
    numbers = _SLICE.fullmatch(pattern)
    if numbers is None:
        return None
    begin = int(numbers[1])
    begin = begin + len(known) if begin < 0 else begin
    if begin < 0:
        return ""
    if numbers[2] is None:
        return known[begin:]
    length = int(numbers[2])
    return known[begin : length + len(known) if length < 0 else begin + length]
