"""Scores a gate on the corpus: ours, or any that writes its decisions as JSON lines.

    python -m tests.shell.score                            ours
    python -m tests.shell.score --decisions FILE [CASES…]  another's; - is standard input

A decision is one line, `{"id": "…", "decision": "covered"}` or `"asks"`. Printed is one line for
each class with a deviation, and the totals. Exit 1 when a text was covered that must ask
(unsound, spec, latent), when a covered one asked (needless), or when a decision is missing.
Only this module and `corpus` are needed for the decisions of another gate.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO

from .corpus import HARD, Case, read_cases

COLUMNS: Final = (*HARD, "needless", "undecided", "policy", "advisory")
FAILURES: Final = (*HARD, "needless", "undecided")
WORDS: Final = {"covered": True, "approve": True, "asks": False, "prompt": False}


@dataclass(frozen=True, slots=True)
class Score:
    """How many cases each class has, its deviations by kind, and the cases that are failures."""

    cases: Counter[str] = field(default_factory=Counter[str])
    deviations: defaultdict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict[str, Counter[str]](Counter[str])
    )
    failures: list[tuple[str, Case]] = field(default_factory=list[tuple[str, Case]])

    @property
    def totals(self) -> Counter[str]:
        """The deviations of all classes together."""
        return sum(self.deviations.values(), Counter[str]())


def score(cases: Sequence[Case], decisions: Mapping[str, bool | None]) -> Score:
    """Compare decisions (True: covered) with what the cases ask for."""
    result = Score()
    for case in cases:
        result.cases[case.group] += 1
        decided = decisions.get(case.id)
        if decided is None:
            deviation = "undecided"
        elif decided == case.covered:
            continue
        else:
            deviation = "needless" if case.covered else case.severity
        result.deviations[case.group][deviation] += 1
        if deviation in FAILURES:
            result.failures.append((deviation, case))
    return result


def our_decisions(cases: Sequence[Case]) -> dict[str, bool | None]:
    """Decide every case with the gate of this project."""
    from .gate import decide

    return {case.id: decide(case.text, case.grants) for case in cases}


def read_decisions(lines: TextIO) -> dict[str, bool | None]:
    """Read decisions; what is not a known word counts as none."""
    found = (json.loads(line) for line in lines if line.strip())
    return {entry["id"]: WORDS.get(entry.get("decision")) for entry in found}


def table(result: Score) -> str:
    """Lay the score out: classes with deviations, then the totals."""
    rows: list[tuple[str, ...]] = [("class", "cases", *COLUMNS)]
    for group in sorted(result.deviations):
        counts = result.deviations[group]
        rows.append((group, str(result.cases[group]), *(str(counts[name]) for name in COLUMNS)))
    totals = result.totals
    rows.append(
        (
            f"total of {len(result.cases)} classes",
            str(result.cases.total()),
            *(str(totals[name]) for name in COLUMNS),
        )
    )
    return "\n".join(f"{row[0]:26}" + "".join(f"{cell:>10}" for cell in row[1:]) for row in rows)


def main() -> int:
    """Score decisions; exit 1 on failures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--decisions", metavar="FILE", help="JSON lines of another gate")
    parser.add_argument("cases", nargs="*", type=Path, help="case files; default: the corpus")
    options = parser.parse_args()
    cases = read_cases(options.cases)
    if options.decisions is None:
        decisions = our_decisions(cases)
    elif options.decisions == "-":
        decisions = read_decisions(sys.stdin)
    else:
        with open(options.decisions, encoding="utf-8") as lines:
            decisions = read_decisions(lines)
    result = score(cases, decisions)
    for deviation, case in result.failures:
        shown = json.dumps(case.text)[:100]
        sys.stdout.write(f"{deviation:10}{case.id}  {list(case.grants)}  {shown}  {case.why}\n")
    sys.stdout.write(table(result) + "\n")
    return 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main())
