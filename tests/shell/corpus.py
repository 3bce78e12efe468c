"""The cases of `protocol-spec/cases/shell`, as values."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parents[2] / "protocol-spec" / "cases" / "shell"
GIVEN_UP: Final = FOLDER / "given_up.jsonl"  # of rules that stop, not of grants
HARD: Final = ("unsound", "spec", "latent", "argument")  # covered although it must ask: a failure
SEVERITIES: Final = (*HARD, "policy", "advisory")


@dataclass(frozen=True, slots=True)
class Case:
    """One text under some grants, and what a gate owes it."""

    id: str
    group: str  # the `class` field
    grants: tuple[str, ...]
    text: str
    covered: bool
    severity: str  # empty when it is covered
    why: str


def read_cases(paths: Iterable[Path] = ()) -> list[Case]:
    """Return every case of the files, by default of the whole corpus."""
    found: list[Case] = []
    for path in list(paths) or sorted(set(FOLDER.glob("*.jsonl")) - {GIVEN_UP}):
        with path.open(encoding="utf-8") as lines:
            found += [_case(json.loads(line)) for line in lines if line.strip()]
    return found


def _case(fields: dict[str, Any]) -> Case:
    repeated = "".join(piece * times for piece, times in fields.get("repeat", ()))
    return Case(
        fields["id"],
        fields["class"],
        tuple(fields["grants"]),
        fields.get("text", repeated),
        fields["expect"] == "covered",
        fields["severity"],
        fields["why"],
    )
