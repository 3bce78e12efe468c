"""Executes approved texts in the oracle, several at a time, and keeps the figures."""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from .grammar import Made
from .oracle import Finding, Oracle

FOREVER_S: Final = float("inf")


@dataclass(slots=True)
class Figures:
    """What a run of fuzzing or mutation did."""

    decided: int = 0
    approved: int = 0
    executed: int = 0
    incomplete: int = 0  # ended by the clock, or by a signal the text sent to itself
    failures: list[tuple[Made, Finding]] = field(default_factory=list[tuple[Made, Finding]])
    seconds: float = 0.0

    def line(self) -> str:
        """Say it in one line."""
        return (
            f"{self.decided} texts decided, {self.approved} approved, {self.executed} executed, "
            f"{len(self.failures)} unsound, {self.incomplete} incomplete, {self.seconds:.0f} s"
        )


def try_out(
    oracle: Oracle,
    approved: Iterable[Made],
    figures: Figures,
    *,
    jobs: int,
    seconds_max: float = FOREVER_S,
) -> None:
    """Execute approved texts until they or the time run out. A finding is told at once."""
    begun = time.monotonic()
    waiting: list[tuple[Made, Future[Finding]]] = []
    with ThreadPoolExecutor(jobs) as pool:
        for made in _until(approved, begun + seconds_max):
            waiting.append((made, pool.submit(oracle.judge, made.text, made.grants)))
            if len(waiting) >= 4 * jobs:
                _take(*waiting.pop(0), figures)
        for entry in waiting:
            _take(*entry, figures)
    figures.seconds += time.monotonic() - begun


def _until(approved: Iterable[Made], end: float) -> Iterator[Made]:
    for made in approved:
        if time.monotonic() > end:
            return
        yield made


def _take(made: Made, future: Future[Finding], figures: Figures) -> None:
    finding = future.result()
    figures.executed += 1
    figures.incomplete += not finding.complete
    if finding.verdict not in ("sound", "advisory"):
        figures.failures.append((made, finding))
        shown = {"text": made.text, "grants": made.grants, "verdict": finding.verdict}
        shown |= {"evidence": finding.evidence, "notes": finding.notes}
        sys.stdout.write(json.dumps(shown) + "\n")
        sys.stdout.flush()
