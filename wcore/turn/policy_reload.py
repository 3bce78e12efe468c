"""Rules, tiers and limits as they are now: for each turn, and again before each call."""

from typing import Final

from msgspec.structs import replace

from wcore.errors import Code, WcoreError
from wcore.first_few import first_few
from wcore.policy.tiers import MCP_PREFIX
from wcore.session.session import Session
from wcore.visible import visible_line

NAME_CHARS_MAX: Final = 128  # of a tool, in an info: as long as names of tools get
TOLD_MAX: Final = 8  # infos about single tools at once; the list is in `list_permissions`


class StoreRequiredError(WcoreError):
    """The administrator wants no conversation in memory, and there is no store."""

    code = Code.CONFIG


def require_store(session: Session) -> None:
    """Refuse to act in memory where the administrator's policy forbids that.

    Raises:
        StoreRequiredError: it does, and the store was lost, or the engine started without one.
    """
    if session.persistence.is_kept or not session.policy.rules.limits.store_required:
        return
    loss = session.persistence.loss or "the engine was started with --store none"
    raise StoreRequiredError(f"the policy requires a store: {loss}; then start the engine again")


async def reload_policy(session: Session) -> None:
    """Bring rules and tiers up to date. The ceiling of the mode may fall, never rise.

    Raises:
        WcoreError: they cannot be had: the turn must fail.
    """
    if session.parent is not None:  # its parent has just read the rules
        require_store(session)
        await session.refresh_grants()
        await session.policy.preload()
        return
    notices = await session.policy.refresh()
    require_store(session)
    told = await session.persistence.refresh(session.grants, session.policy.rules)
    await session.policy.preload()
    for notice in (*notices, *_of_servers_tools(session)):
        await session.emit_info(notice)
    for text, digest in told:
        await session.emit_info(text, digest=digest)
    await obey_limits(session)


async def obey_limits(session: Session) -> None:
    """Let ceilings fall that the rules have lowered; they never rise."""
    while session.parent is not None:
        session = session.parent
    limits, settings = session.policy.rules.limits, session.settings
    ceiling = min(limits.max_mode, settings.max_mode, key=lambda mode: mode.rank)
    if limits.ttl_s is not None:
        session.approvals.limit_ttl(limits.ttl_s)
    if ceiling is settings.max_mode:
        return
    session.settings = replace(session.settings, max_mode=ceiling)
    session.ceiling_lowered = True
    if session.approvals.mode.rank > ceiling.rank:
        session.approvals.set_mode(ceiling)
        await session.emit_info(f"mode updated: {ceiling}; the policy allows no more")


def _of_servers_tools(session: Session) -> list[str]:
    """Return what the tiers do to tools of connected servers; each thing once a session."""
    tiers = session.policy.snapshot
    connected = [tool for tool in session.tools if tool.startswith(MCP_PREFIX)]
    found = [
        f"{visible_line(tool, NAME_CHARS_MAX)} is connected, but blocked for {session.policy.agent}"
        for tool in connected
        if not tiers.offers(tool)
    ]
    if tiers.is_assigned and any(tiers.tier_of(tool) is None for tool in connected):
        found.append("tools of MCP servers that have no tier of their own follow rules and mode")
    fresh = [told for told in found if told not in session.told_of_tools]
    session.told_of_tools.update(fresh)
    return first_few(fresh, TOLD_MAX, "and {} more such tools")
