"""What the turns of this process cost, told after each where there are prices."""

from typing import Final

from wcore.models import factory
from wcore.protocol import events, parts
from wcore.session.session import Session

TURNS_TOLD_MAX: Final = 100  # the newest; a host that wants more keeps them


class Costs:
    """The costs of one session since its engine started."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turns: list[parts.TurnCost] = []
        self._total_usd = 0.0
        self._count = 0

    def tell(self, cost_usd: float, *, is_priced: bool) -> None:
        """Count a turn and tell the host, before the turn's end."""
        model = self._session.model
        self._count += 1
        if not factory.has_prices(model):
            return
        self._total_usd += cost_usd
        cost = parts.TurnCost(
            turn=self._count,
            model=model.name,
            provider=model.price_provider,
            cost_usd=cost_usd,
            priced=is_priced,
        )
        self._turns = [*self._turns, cost][-TURNS_TOLD_MAX:]
        told = events.SessionCost(
            session_id=self._session.settings.session_id,
            total_cost_usd=self._total_usd,
            per_turn=tuple(self._turns),
        )
        self._session.emit_nowait(told)
