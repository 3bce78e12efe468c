"""Globs over tool names and over paths, as regular expressions that cannot run away.

Every `*` takes the shortest stretch that lets the next piece match and never comes back to it
(an atomic group). For globs that loses no match, and time stays linear in pattern times text:
a pattern may come from a folder that nobody trusts.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from msgspec import Struct

PATTERN_CHARS_MAX: Final = 1024  # a pattern is read by people
CACHE_MAX: Final = 4096  # as many as the rules of a file

_NAME: Final = "."  # what one `?` takes in a name
_PART: Final = "[^/]"  # and in a component of a path
WILD: Final = frozenset("*?[")  # what makes a text a glob
_IN_BRACKETS: Final = re.compile("(.)-(.)|.", re.DOTALL)  # a range, or a character


class PatternError(ValueError):
    """The text is not a pattern; the message says why, for people."""


@lru_cache(CACHE_MAX)
def name_glob(pattern: str) -> re.Pattern[str]:
    """Return the expression of a glob over whole names: `*`, `?`, `[abc]`, `[a-z]`, `[!abc]`.

    Raises:
        PatternError: it is not a pattern.
    """
    _check_length(pattern)
    if "**" in pattern and pattern != "**":
        raise PatternError("`**` means nothing in a name")
    return re.compile(_translated(pattern, _NAME, r"\Z"), re.DOTALL)


@lru_cache(CACHE_MAX)
def path_glob(pattern: str, *, stops: bool = False) -> re.Pattern[str]:
    """Return the expression of a glob over absolute paths; `**` is any number of folders.

    `folder/**` and `folder/` are the folder and everything in it. What `stops` ignores case, and
    its brackets stand for themselves as well: `[slug]` is a folder of that name, too.

    Raises:
        PatternError: it is not a pattern.
    """
    _check_length(pattern)
    if not pattern.startswith("/"):
        raise PatternError("it is not absolute")
    if pattern.endswith("/"):
        pattern += "**"
    read = _read_both_ways if stops else _read
    expression = "".join(_segments(pattern[1:].split("/"), read))
    return re.compile(expression, re.DOTALL | (re.IGNORECASE if stops else 0))


def literal_folder(pattern: str) -> str:
    """Return the leading folders of an absolute path glob that hold no wildcard."""
    parts = pattern.rstrip("/").split("/")
    count = next((i for i, part in enumerate(parts) if WILD & set(part)), len(parts))
    return "/".join(parts[:count]) or "/"


def literal_tail(pattern: str) -> str:
    """Return the end of a path glob behind its last wildcard; every match ends with it."""
    return "" if pattern.endswith("/") else re.split(r"[*?\]]", pattern)[-1]


class NamePattern(Struct, frozen=True):
    """A glob over names; one that is not valid matches only itself, letter by letter."""

    text: str

    def matches(self, name: str) -> bool:
        try:
            return name_glob(self.text).match(name) is not None
        except PatternError:
            return self.text == name


def _check_length(pattern: str) -> None:
    if not pattern:
        raise PatternError("it is empty")
    if len(pattern) > PATTERN_CHARS_MAX:
        raise PatternError(f"it is longer than {PATTERN_CHARS_MAX} characters")
    if not pattern.isprintable():
        raise PatternError("it has characters that cannot be seen")


def _segments(parts: list[str], read: Callable[[str], str]) -> list[str]:
    """Translate the components of a path; `**` components split it into segments."""
    found: list[str] = []
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part in ("", ".", ".."):
            raise PatternError("it has an empty, `.` or `..` component")
        if part == "**":
            if last:
                found.append(r"(?:/.*)?\Z")
            elif "**" in parts[index + 1 :]:  # the first place where the next segment fits
                end = parts.index("**", index + 1)
                segment = _components(parts[index + 1 : end], read)
                found.append(f"(?>(?:/[^/]*)*?{segment}(?=/|\\Z))" if segment else "")
            else:
                found.append(r"(?:/[^/]*)*")
        elif "**" in part:
            raise PatternError("`**` must stand alone between slashes")
        elif not _is_taken(parts, index):
            found.append(_components([part], read))
            found.append(r"\Z" if last else "")
    return found


def _is_taken(parts: list[str], index: int) -> bool:
    """Whether the component belongs to a segment between two `**`, translated with the first."""
    return "**" in parts[:index] and "**" in parts[index:]


def _components(parts: list[str], read: Callable[[str], str]) -> str:
    return "".join("/" + read(part) for part in parts)


def _read(part: str) -> str:
    return _translated(part, _PART, r"(?=/|\Z)")


def _read_both_ways(part: str) -> str:
    """Either way it takes a whole component, so the first that fits is as good as the other."""
    if "[" not in part:
        return _read(part)
    return f"(?>{_read(part)}|{_read(part.replace('[', '[[]'))})"


def _translated(pattern: str, one: str, end: str) -> str:
    """Translate one name; `end` is what must follow the last piece."""
    pieces = [""]
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            pieces += [""] if pieces[-1] or len(pieces) == 1 else []
        elif char == "?":
            pieces[-1] += one
        elif char == "[":
            chosen, at = _char_class(pattern, at, one)
            pieces[-1] += chosen
        else:
            pieces[-1] += re.escape(char)
        at += 1
    first, *rest = pieces
    if not rest:
        return first + end
    middle = "".join(f"(?>{one}*?{piece})" for piece in rest[:-1] if piece)
    return f"{first}{middle}{one}*{rest[-1]}{end}"


def _char_class(pattern: str, start: int, one: str) -> tuple[str, int]:
    """Translate `[…]` at `start`; return it with the position of its `]`."""
    at = start + 1
    negated = pattern[at : at + 1] == "!"
    at += negated
    end = pattern.find("]", at + 1)  # `[]]` and `[!]]` hold a bracket
    if end < 0:
        raise PatternError("a `[` is not closed")
    chosen = _IN_BRACKETS.sub(_chosen, pattern[at:end])
    slash = "(?!/)" if one == _PART else ""
    return f"{slash}[{'^' if negated else ''}{chosen}]", end


def _chosen(match: re.Match[str]) -> str:
    low, high = match.groups()
    if low is None:
        return re.escape(match[0])
    if low > high:
        raise PatternError(f"the range `{low}-{high}` is empty")
    return f"{re.escape(low)}-{re.escape(high)}"
