"""The start of a turn: rules and tiers as they are now, or no turn at all."""

from typing import Final

from msgspec.structs import replace

from wcore.errors import WcoreError
from wcore.session import Session

POLICIES: Final = "policies"


async def open_turn(session: Session) -> None:
    """Bring rules and tiers up to date. The ceiling of the mode may fall, never rise.

    Raises:
        WcoreError: they cannot be had: the turn must fail.
    """
    if session.parent is not None:  # its parent has just read the rules
        await session.ruling.preload()
        return
    try:
        notices = await session.ruling.refresh()
    except WcoreError as error:
        await session.journal.reached(POLICIES, problem=str(error))
        raise
    await session.journal.reached(POLICIES, **session.ruling.news(notices))
    await session.ruling.preload()
    for notice in notices:
        await session.info(notice)
    limits, settings = session.ruling.policies.limits, session.settings
    ceiling = min(limits.max_mode, settings.max_mode, key=lambda mode: mode.rank)
    ttl_s = min(limits.ttl_s or settings.approval_ttl_s, settings.approval_ttl_s)
    if ttl_s != settings.approval_ttl_s:
        session.settings = replace(session.settings, approval_ttl_s=ttl_s)
        session.approvals.limit_ttl(ttl_s)
    if ceiling is settings.max_mode:
        return
    session.settings = replace(session.settings, max_mode=ceiling)
    session.ceiling_dropped = True
    if session.approvals.mode.rank > ceiling.rank:
        session.approvals.set_mode(ceiling)
        await session.info(f"mode updated: {ceiling}; the policy allows no more")
