"""One tiny helper: a manager with a clock that only the test moves."""

from dataclasses import dataclass, field

from wcore.approval.manager import DEFAULT_APPROVAL_TTL, ApprovalManager, Pending
from wcore.approval.table import Ledger
from wcore.policy.grants import Grant, GrantBook
from wcore.vocabulary import Always, Category


@dataclass
class Clock:
    """Seconds, moved by hand. `broken` makes the next reading raise, once."""

    now: float = 1000.0
    broken: bool = False

    def __call__(self) -> float:
        if self.broken:
            self.broken = False
            raise OSError("no clock")
        return self.now


@dataclass
class Parking:
    """A manager and everything it was given."""

    ttl_s: float = DEFAULT_APPROVAL_TTL
    clock: Clock = field(default_factory=Clock)
    ledger: Ledger = field(default_factory=Ledger)
    grants: GrantBook = field(default_factory=GrantBook)

    def __post_init__(self) -> None:
        self.manager = ApprovalManager(self.ledger, self.grants, ttl_s=self.ttl_s, clock=self.clock)

    def park(
        self,
        call_id: str = "c1",
        tool: str = "Bash",
        category: Category = Category.EXEC,
        *,
        suspend: bool = False,
    ) -> Pending:
        self.ledger.propose(call_id)
        return self.manager.request_approval(call_id, category, tool, suspend=suspend)


def always(tool: str = "Bash", call_id: str = "c1") -> Grant:
    """Return a grant of the tool's name."""
    return Grant(f"g-{tool}-{call_id}", tool, Always(), "2026-01-01T00:00:00Z", call_id)
