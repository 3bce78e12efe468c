"""`give_grant`: a host that keeps grants itself gives one without a call that waits."""

from msgspec.structs import replace

from wcore import times
from wcore.agents import GENERAL
from wcore.engine.commands.approvals import how_long
from wcore.engine.commands.introspection import grant_info
from wcore.errors import RefusedError
from wcore.policy.facts import Facts
from wcore.policy.grants import MAIN_AGENT, Grant, ScopeRefused, grants_of
from wcore.policy.host_grants import validate_host_grant
from wcore.protocol import commands, scopes
from wcore.session.session import Session, new_id
from wcore.tools.tool import Tool
from wcore.vocabulary import AlwaysPath, Once, Persist, Pin


async def give(session: Session, command: commands.GiveGrant) -> dict[str, object]:
    """Keep the grant; return it as it is kept.

    Raises:
        RefusedError: it would not be given with a call either; nothing was granted.
    """
    await session.refresh_grants()
    tool = session.tools.get(command.tool)
    if tool is None:
        raise RefusedError(f"there is no tool {command.tool!r} here")
    grant = _weighed(session, command, tool)
    wanted = command.persist or Persist.SESSION
    persist, short = how_long((grant,), tool.spec.category, wanted)
    grant = replace(grant, persist=persist)
    if persist is not Persist.SESSION:
        problem = await session.persistence.store_grant(grant)
        if problem is not None:
            grant, short = replace(grant, persist=Persist.SESSION), problem
    kept = session.grants.add(grant)
    session.approvals.tell_of_grants()
    if short is not None:
        how = f"for this {grant.persist} only"
        await session.emit_info(f"{command.tool}: the grant is kept {how}: {short}")
    return {"grants": (grant_info(kept),)}


def _weighed(session: Session, command: commands.GiveGrant, tool: Tool) -> Grant:
    scope = scopes.from_wire(command.scope)
    if isinstance(scope, Once):
        raise RefusedError("once is an answer to a call, and no grant")
    if isinstance(scope, AlwaysPath):
        scope = AlwaysPath(session.resolved(scope.root), scope.write)
    refused = session.policy.refuses_grants(session.grants)
    if refused:
        raise RefusedError(refused)
    agent = command.agent or MAIN_AGENT
    digest = _digest_of(session, agent)
    category, places = tool.spec.category, session.settings.places
    found = validate_host_grant(scope, command.tool, category, places, session.grants)
    if isinstance(found, ScopeRefused):
        raise RefusedError(found.reason)
    pin: Pin | None = getattr(tool, "pin", None)
    facts = Facts(command.tool, category, pin=pin)
    (grant,) = grants_of(scope, found, facts)  # sets are refused without a call
    return replace(
        grant,
        grant_id=new_id("g-", 16),
        created_at=times.now(),
        agent=agent,
        agent_digest=digest,
    )


def _digest_of(session: Session, agent: str) -> str | None:
    """Return the digest of the definition of an agent, which its grants are bound to."""
    if agent == MAIN_AGENT:
        return None
    names = agent.split("/")
    known = {GENERAL.name: GENERAL, **session.policy.known()}
    if any(name not in known for name in names):
        raise RefusedError(f"there is no agent {agent!r}")
    return known[names[-1]].digest
