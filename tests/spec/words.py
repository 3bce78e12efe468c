"""What every message and field means, from `messages.toml`: the words beside the code's types."""

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from spec.requirements import SPEC

SIDES: Final = ("commands", "events", "parts")


@dataclass(frozen=True, slots=True)
class Field:
    """A field in words; `values` are the strings it takes where the type says only string."""

    says: str
    default: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A message, an object inside one, or an enumeration with its values."""

    name: str
    says: str
    answer: str
    example: dict[str, Any] | None
    fields: dict[str, Field]
    values: dict[str, str]


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((SPEC / "messages.toml").read_text())


@cache
def entries(side: str) -> dict[str, Entry]:
    """Return all entries of one of `SIDES`, by name."""
    return {name: _entry(name, given) for name, given in _table()[side].items()}


def results() -> dict[str, tuple[str, ...]]:
    """Return what the result of each introspection command carries; `?` marks the optional."""
    return {name: tuple(fields) for name, fields in _table()["results"].items()}


def _entry(name: str, given: dict[str, Any]) -> Entry:
    fields = {key: _field(value) for key, value in given.get("fields", {}).items()}
    example = json.loads(given["example"]) if "example" in given else None
    values = given.get("values", {})
    return Entry(name, given["says"], given.get("answer", ""), example, fields, values)


def _field(value: str | dict[str, Any]) -> Field:
    if isinstance(value, str):
        return Field(value)
    return Field(value["says"], value.get("default", ""), tuple(value.get("values", ())))
