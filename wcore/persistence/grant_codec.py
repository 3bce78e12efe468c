"""Lasting grants between the store, the journal and the decision. Pure."""

from wcore.policy import shell
from wcore.policy.grants import Grant
from wcore.store import LastingGrant
from wcore.vocabulary import (
    AlwaysHost,
    AlwaysPrefix,
    AlwaysPrefixes,
    AlwaysServer,
    Once,
)


def kept(grant: Grant) -> LastingGrant:
    """Return a grant as the store takes it.

    Raises:
        ValueError: it is none that can be kept.
    """
    if isinstance(grant.scope, Once | AlwaysPrefixes | AlwaysServer | AlwaysHost):
        raise ValueError("this yes is not kept as it is")  # noqa: TRY004 - no type is wrong
    return LastingGrant(
        grant_id=grant.grant_id,
        tool=grant.tool,
        scope=grant.scope,
        persist=grant.persist,
        from_call_id=grant.from_call_id,
        created_at=grant.created_at,
        agent=grant.agent,
        agent_digest=grant.agent_digest,
        launch_digest=grant.pin[0] if grant.pin else None,
        schema_digest=grant.pin[1] if grant.pin else None,
        ties_digest=grant.ties,
    )


def parsed(stored: LastingGrant) -> Grant | None:
    """Return a stored grant as the decision takes it; `None` if it is none any more."""
    prefix = None
    if isinstance(stored.scope, AlwaysPrefix):
        prefix = shell.parse_grant(stored.scope.prefix)
        if isinstance(prefix, shell.PrefixGrantRefused):
            return None
    launch, schema = stored.launch_digest, stored.schema_digest
    return Grant(
        grant_id=stored.grant_id,
        tool=stored.tool,
        scope=stored.scope,
        created_at=stored.created_at,
        from_call_id=stored.from_call_id,
        prefix=prefix,
        persist=stored.persist,
        agent=stored.agent,
        uses=stored.uses,
        agent_digest=stored.agent_digest,
        pin=(launch, schema) if launch and schema else None,
        ties=stored.ties_digest,
    )
