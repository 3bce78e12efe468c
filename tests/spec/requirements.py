"""The numbered requirements: read from `requirements.toml`, printed into the documents."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

SPEC: Final = Path(__file__).parents[2] / "protocol-spec"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line of `requirements.toml`."""

    id: str
    level: str
    side: str
    text: str
    capability: str | None = None
    part: str | None = None
    inside: str | None = None

    @property
    def area(self) -> str:
        return self.id.split("-")[1]


@cache
def requirements() -> tuple[Requirement, ...]:
    """Return all requirements in the order of the file."""
    table = tomllib.loads((SPEC / "requirements.toml").read_text())
    return tuple(Requirement(id=name, **fields) for name, fields in table.items())
