"""What the suite's own tests judge with: cases by their ids, and time enough for a busy machine."""

from collections.abc import Sequence
from typing import Final

from wcore.conformance.cases import folder, load
from wcore.conformance.engine.command import Command
from wcore.conformance.engine.invariants import Invariants
from wcore.conformance.engine.runner import CaseRunner
from wcore.conformance.host.runner import host_cases

SLACK: Final = 3.0  # CI machines are busy
CASES: Final = {case.id: case for case in load(folder())}
SCENARIOS: Final = {case.id: case for case in host_cases()}
_INVARIANTS: Final = Invariants.load(folder())


def runner_of(words: Sequence[str], slack: float = SLACK) -> CaseRunner:
    """Return the judge of an engine command; without words, of our own engine."""
    return CaseRunner(Command.of(words, slack), _INVARIANTS)
