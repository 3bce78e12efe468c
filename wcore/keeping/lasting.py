"""Lasting grants between the store, the journal and the decision. Pure."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from wcore.policy import shell
from wcore.policy.grants import Grant
from wcore.store import LastingGrant
from wcore.vocabulary import Always, AlwaysPath, AlwaysPrefix, Json, Persist


def parsed(kept: LastingGrant) -> Grant | None:
    """Return a stored grant as the decision takes it; `None` if it is none any more."""
    prefix = None
    if isinstance(kept.scope, AlwaysPrefix):
        prefix = shell.parse_grant(kept.scope.prefix)
        if isinstance(prefix, shell.GrantRefused):
            return None
    launch, schema = kept.launch_digest, kept.schema_digest
    return Grant(
        grant_id=kept.grant_id,
        tool=kept.tool,
        scope=kept.scope,
        created_at=kept.created_at,
        from_call_id=kept.from_call_id,
        prefix=prefix,
        persist=kept.persist,
        agent=kept.agent,
        uses=kept.uses,
        agent_digest=kept.agent_digest,
        pin=(launch, schema) if launch and schema else None,
    )


def as_facts(kept: LastingGrant) -> dict[str, Json]:
    """Return a grant as the journal keeps it."""
    facts: dict[str, Json] = {**asdict(kept), "persist": kept.persist.value}
    match kept.scope:
        case AlwaysPrefix(prefix):
            scope: list[Json] = ["prefix", prefix]
        case AlwaysPath(root, write):
            scope = ["path", root, write]
        case Always():
            scope = ["name"]
    return facts | {"scope": scope}


def from_facts(facts: Mapping[str, Json]) -> LastingGrant:
    """Return the grant that `as_facts` was made of.

    Raises:
        TypeError, ValueError: it is none of ours.
    """
    scope: Always | AlwaysPrefix | AlwaysPath
    match facts["scope"]:
        case ["prefix", str(prefix)]:
            scope = AlwaysPrefix(prefix)
        case ["path", str(root), bool(write)]:
            scope = AlwaysPath(root, write)
        case ["name"]:
            scope = Always()
        case _:
            raise ValueError("no scope of a grant")
    given: dict[str, Any] = {name: facts.get(name) for name in LastingGrant.__struct_fields__}
    given |= {"scope": scope, "persist": Persist(str(facts["persist"]))}
    return LastingGrant(**given)
