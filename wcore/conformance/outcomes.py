"""What became of a case, or of a scenario of hosts."""

from dataclasses import dataclass
from enum import StrEnum

from wcore.conformance.cases import Case, Tier


class Status(StrEnum):
    """What became of a case."""

    PASS = "PASS"
    FAIL = "FAIL"
    SKIP = "SKIP"
    NOT_TESTED = "NOT_TESTED"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A judged case. `transcript` are (direction, line) around the first difference."""

    case: Case
    status: Status
    reason: str = ""
    rule: str = ""
    requires: tuple[str, ...] = ()
    transcript: tuple[tuple[str, str], ...] = ()
    log: str = ""
    seconds: float = 0.0

    @property
    def counts(self) -> bool:
        """Whether this failure makes the engine one that does not conform."""
        return self.status is Status.FAIL and self.case.tier is not Tier.ADVISORY
