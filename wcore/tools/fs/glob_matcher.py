"""Glob patterns on relative paths: `*`, `?`, `[…]`, `{a,b}`, and `**` for any folders.

Brackets and braces stand for themselves as well: routes are folders with names such as `[slug]`.
Matching is done component by component, in time proportional to pattern times path, so that
no pattern a model writes can hold the engine.
"""

import fnmatch
import re
from collections.abc import Callable
from typing import Final

from wcore.errors import ToolError

PATTERN_CHARS_MAX: Final = 1000  # a pattern is a line; longer ones only cost time
ALTERNATIVES_MAX: Final = 64  # braces multiply
_SPECIAL: Final = frozenset("*?[{")

_ANY_FOLDERS: Final = None
_Part = re.Pattern[str] | None


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test for relative paths. A pattern without `/` is about the name alone.

    Raises:
        ToolError: the pattern is too long, has too many alternatives, or contains `..`.
    """
    if len(pattern) > PATTERN_CHARS_MAX:
        raise ToolError(f"the glob pattern is longer than {PATTERN_CHARS_MAX} characters")
    plans = [_parts(alternative) for alternative in {pattern, *_alternatives(pattern)}]

    def matches(path: str) -> bool:
        components = path.split("/")
        return any(_match(parts, components) for parts in plans)

    return matches


def split_root(pattern: str) -> tuple[str, str]:
    """Split off the plain folders that a pattern starts with."""
    parts = pattern.split("/")
    plain = next((i for i, part in enumerate(parts) if _SPECIAL & set(part)), len(parts) - 1)
    start = "/".join(parts[:plain])
    return start or "/" * pattern.startswith("/"), "/".join(parts[plain:])


def _parts(pattern: str) -> tuple[_Part, ...]:
    components = [part for part in pattern.split("/") if part not in ("", ".")]
    if ".." in components:
        raise ToolError("the glob pattern may contain `..` only before the first wildcard")
    if len(components) == 1 and "/" not in pattern:
        components.insert(0, "**")
    return tuple(_ANY_FOLDERS if part == "**" else _component(part) for part in components)


def _component(part: str) -> re.Pattern[str]:
    literal = fnmatch.translate(part.replace("[", "[[]"))
    return re.compile(f"{fnmatch.translate(part)}|{literal}" if "[" in part else literal)


def _match(parts: tuple[_Part, ...], components: list[str]) -> bool:
    """Walk the path once, keeping every place in the pattern that it can have led to."""
    at = _closure({0}, parts)
    for component in components:
        after: set[int] = set()
        for index in at:
            if index == len(parts):
                continue
            part = parts[index]
            if part is None:
                after.add(index)
            elif part.match(component):
                after.add(index + 1)
        at = _closure(after, parts)
        if not at:
            return False
    return len(parts) in at


def _closure(at: set[int], parts: tuple[_Part, ...]) -> set[int]:
    """`**` may stand for no folder at all."""
    for index in sorted(at):
        step = index
        while step < len(parts) and parts[step] is None:
            step += 1
            at.add(step)
    return at


def _alternatives(pattern: str) -> list[str]:
    """Expand braces, innermost first; a brace without its partner stands for itself."""
    pending, done = [pattern], list[str]()
    while pending:
        text = pending.pop()
        group = re.search(r"\{([^{}]*,[^{}]*)\}", text)
        if group is None:
            done.append(text)
        else:
            pending.extend(
                text[: group.start()] + choice + text[group.end() :]
                for choice in group[1].split(",")
            )
        if len(pending) + len(done) > ALTERNATIVES_MAX:
            raise ToolError(f"the glob pattern has more than {ALTERNATIVES_MAX} alternatives")
    return done
