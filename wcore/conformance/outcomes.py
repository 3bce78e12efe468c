"""What became of a case, or of a scenario of hosts."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import anyio

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


async def outcomes_of(
    cases: Sequence[Case],
    run: Callable[[Case], Awaitable[Outcome]],
    jobs: int,
    tell: Callable[[Outcome], None],
) -> list[Outcome]:
    """Run `cases`, at most `jobs` at a time; `tell` hears of each when it is done."""
    limiter = anyio.CapacityLimiter(jobs)
    done: dict[str, Outcome] = {}

    async def one(case: Case) -> None:
        async with limiter:
            done[case.id] = await run(case)
        tell(done[case.id])

    async with anyio.create_task_group() as tasks:
        for case in cases:
            tasks.start_soon(one, case)
    return [done[case.id] for case in cases]
