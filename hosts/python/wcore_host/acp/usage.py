"""How full the model's window is, and what the session has cost, as ACP tells it. Pure."""

from acp.schema import Cost, UsageUpdate

from wcore_host import events
from wcore_host.decode import Fields
from wcore_host.events import Event


class UsageTracker:
    """Reads the counts of one session; what earlier engines of a session cost is not known."""

    def __init__(self) -> None:
        self._spent_usd: float | None = None
        self._window = 0
        self.knows_cost = True

    def begin(self, window: int) -> None:
        """Another engine tells from now on; `window` is what its model reads, in tokens."""
        self.knows_cost = self.knows_cost and self._spent_usd is None
        self._window = window

    def take(self, event: Event) -> UsageUpdate | None:
        """Return what to tell the editor after `event`, if anything."""
        match event:
            case events.ConfigChanged(capabilities=capabilities):
                self._window = capabilities.context_limit
            case events.UnknownEvent(type="session_cost", raw=raw):
                spent = raw.get("total_cost_usd")
                self._spent_usd = float(spent) if isinstance(spent, int | float) else None
            case events.StreamEnd():
                used = Fields(event.raw).part("usage").number("context_tokens")
                return self._update(used) if used and self._window else None
            case _:
                pass
        return None

    def _update(self, used: int) -> UsageUpdate:
        spent = self._spent_usd if self.knows_cost else None
        cost = None if spent is None else Cost(amount=spent, currency="USD")
        return UsageUpdate(
            session_update="usage_update",
            used=min(used, self._window),
            size=self._window,
            cost=cost,
        )
