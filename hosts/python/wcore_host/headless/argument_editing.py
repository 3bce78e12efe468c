"""The arguments of a call as a person changes them: text that hides nothing, and back. Pure.

One argument is edited as it is if all of it can be seen. Whatever cannot (control and direction
marks, blank letters) is edited as JSON, where an escape stands for it: what was read is what was
written, and nothing that was not touched changes.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from functools import lru_cache
from typing import Final, NoReturn, cast

from wcore_host.events import Json, JsonObject
from wcore_host.visible import visible

# What a person wants to change first: the command, or what will be written.
FIRST: Final = ("command", "content", "new_string")
COMPARED_CHARS_MAX: Final = 256 * 1024  # finding the differences of longer texts takes seconds


class DraftError(ValueError):
    """What was written is no arguments; the message says where."""


@dataclass(frozen=True)
class Draft:
    """What is edited: the argument `name`, or all of them as JSON if it is empty."""

    name: str
    text: str


def draft(args: JsonObject, *, whole: bool = False) -> Draft:
    """Return the text to edit: the first argument of `FIRST` that can be seen, else all."""
    for name in () if whole else FIRST:
        value = args.get(name)
        if isinstance(value, str):
            return Draft(name, value) if visible(value) == value else draft(args, whole=True)
    return Draft("", "".join(map(_escaped, json.dumps(args, indent=2, ensure_ascii=False))))


def read(args: JsonObject, name: str, text: str) -> JsonObject:
    """Return `args` as `text` changes them; `name` is that of the draft.

    Raises:
        DraftError: the text is no JSON object, or holds what no UTF-8 can.
    """
    if name:
        return {**args, name: text}
    try:
        value = cast("Json", json.loads(text, parse_constant=_refuse))
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise DraftError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DraftError(f"this is no JSON that can be sent: {error}") from error
    if not isinstance(value, dict):
        raise DraftError("the arguments are a JSON object: { … }")
    return value


def differences(before: JsonObject, after: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the name of each argument that differs, and how, as lines of a unified diff."""
    for name in dict.fromkeys((*before, *after)):
        old, new = _lines(before, name), _lines(after, name)
        if old != new:
            yield name, _diff(old, new)


def _lines(args: JsonObject, name: str) -> str:
    if name not in args:
        return ""
    value = args[name]
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return text + "\n"


@lru_cache(maxsize=16)
def _diff(old: str, new: str) -> str:
    if len(old) + len(new) > COMPARED_CHARS_MAX:
        return f"@@ {len(old):,} characters before, {len(new):,} now: too long to compare @@"
    if old.count("\n") == new.count("\n") == 1:
        return f"-{old}+{new}".rstrip("\n")
    lines = unified_diff(old.split("\n")[:-1], new.split("\n")[:-1], lineterm="")
    return "\n".join(list(lines)[2:])


def _escaped(char: str) -> str:
    return char if visible(char) == char else json.dumps(char)[1:-1]


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
