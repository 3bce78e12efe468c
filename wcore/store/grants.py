"""Lasting grants: what a person said yes to for longer than one process. In the store's thread."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from wcore.store.database import Database, Lock, Row
from wcore.store.encoding import from_key, normal_time, now, storable, storable_key
from wcore.store.errors import StoreError
from wcore.store.tiers import count_change
from wcore.store.values import (
    GRANTS_MAX,
    NAME_CHARS_MAX,
    GrantKey,
    LastingGrant,
    LastingScope,
    LoadedGrants,
)
from wcore.vocabulary import Always, AlwaysExact, AlwaysPath, AlwaysPrefix, Persist

EVERYWHERE: Final = ""  # the workspace of grants that hold in all workspaces of the user

_COLUMNS: Final = (
    "grant_id, workspace, agent, tool, kind, value, from_call_id, created_at, expires_at, uses, "
    "agent_digest, launch_digest, schema_digest, ties_digest"
)
_LOAD: Final = f"""
    SELECT {_COLUMNS} FROM grants
    WHERE user_id = :user AND (workspace = '' OR workspace = :workspace)
        AND (expires_at IS NULL OR expires_at > :now)
    ORDER BY created_at, grant_id LIMIT {GRANTS_MAX + 1}
"""
_INSERT: Final = """
    INSERT INTO grants (grant_id, same, user_id, workspace, agent, tool, kind, value,
        from_call_id, created_at, expires_at, uses, agent_digest, launch_digest, schema_digest,
        ties_digest)
    VALUES (:grant_id, :same, :user, :workspace, :agent, :tool, :kind, :value,
        :from_call_id, :created_at, :expires_at, 0, :agent_digest, :launch_digest, :schema_digest,
        :ties_digest)
"""
_COUNT: Final = "SELECT count(*) FROM grants WHERE user_id = :user"


def load(database: Database, key: GrantKey) -> LoadedGrants:
    """Return the grants that hold for `key` now, oldest first, without unreadable rows.

    Raises:
        StoreError: nothing could be read; see `Store.load_grants`, which says so instead.
    """
    rows = database.query(
        _LOAD, user=str(key.user_id), workspace=storable_key(key.workspace), now=now()
    )
    grants: list[LastingGrant] = []
    unreadable = 0
    for row in rows[:GRANTS_MAX]:
        try:
            grants.append(_grant(row))
        except (ValueError, TypeError):
            unreadable += 1
    problems: list[str] = []
    if unreadable:
        problems.append(f"{unreadable} of them cannot be read and are not used")
    if len(rows) > GRANTS_MAX:
        problems.append(f"only the first {GRANTS_MAX} are used")
    problem = f"lasting grants in {database.name}: " + "; ".join(problems) if problems else None
    return LoadedGrants(tuple(grants), problem)


def add(database: Database, key: GrantKey, grant: LastingGrant) -> LastingGrant:
    """Keep a grant; an equal one that lasts as long or longer is given anew and returned instead.

    Raises:
        StoreError: there are too many, or it cannot be written; nothing was granted.
        ValueError: the grant's times are no times, or it is for the session only.
    """
    values = _values(key, grant)
    with database.writing(Lock.GRANTS):
        return _put(database, key, grant, values)


def add_all(database: Database, key: GrantKey, grants: Sequence[LastingGrant]) -> None:
    """Keep several grants, all or none; see `add`.

    Raises:
        StoreError, ValueError: as `add`; nothing was granted.
    """
    laid_out = [(grant, _values(key, grant)) for grant in grants]
    with database.writing(Lock.GRANTS):
        for grant, values in laid_out:
            _put(database, key, grant, values)


def _put(
    database: Database, key: GrantKey, grant: LastingGrant, values: dict[str, str | None]
) -> LastingGrant:
    known = database.query(f"SELECT {_COLUMNS} FROM grants WHERE same = :same", same=values["same"])
    if known and _lasts(known[0][8], values["expires_at"]):
        database.change(
            "UPDATE grants SET created_at = :at WHERE same = :same",
            at=values["created_at"],
            same=values["same"],
        )
        count_change(database, "grants")
        return replace(_grant(known[0]), created_at=str(values["created_at"]))
    database.change("DELETE FROM grants WHERE same = :same", same=values["same"])
    if int(database.query(_COUNT, user=str(key.user_id))[0][0] or 0) >= GRANTS_MAX:
        raise StoreError(database.name, f"holds {GRANTS_MAX} lasting grants already", "revoke some")
    database.change(_INSERT, **values)
    count_change(database, "grants")
    return grant


def revoke(database: Database, key: GrantKey, grant_id: str) -> bool:
    """Take a grant of this user back, whatever workspace it is for; false: there is none."""
    with database.writing(Lock.GRANTS):
        gone = database.change(
            "DELETE FROM grants WHERE grant_id = :grant_id AND user_id = :user",
            grant_id=storable(grant_id, NAME_CHARS_MAX),
            user=str(key.user_id),
        )
        if gone:
            count_change(database, "grants")
    return gone > 0


def count_use(database: Database, grant_id: str, uses: int = 1) -> None:
    """Note that a grant let calls run. Not worth waiting for the disk."""
    with database.writing(durable=False):
        database.change(
            "UPDATE grants SET uses = uses + :uses WHERE grant_id = :grant_id",
            uses=uses,
            grant_id=storable(grant_id, NAME_CHARS_MAX),
        )


def _values(key: GrantKey, grant: LastingGrant) -> dict[str, str | None]:
    if grant.persist is Persist.SESSION:
        raise ValueError("a grant for the session is not kept")
    everywhere = grant.persist is Persist.USER
    workspace = EVERYWHERE if everywhere else storable_key(key.workspace)
    kind, value = _kind_and_value(grant.scope)
    what = {
        "user": str(key.user_id),
        "workspace": workspace,
        "agent": storable_key(grant.agent),
        "tool": storable_key(grant.tool),
        "kind": kind,
        "value": storable_key(value),
        "agent_digest": grant.agent_digest,
        "launch_digest": grant.launch_digest,
        "schema_digest": grant.schema_digest,
        "ties_digest": grant.ties_digest,
    }
    parts = [*what.values()]
    if grant.ties_digest is None:  # as it was before there was this one
        parts.pop()
    joined = "\0".join("-" if part is None else f"+{part}" for part in parts)
    return {
        **what,
        "same": sha256(joined.encode()).hexdigest(),
        "grant_id": storable(grant.grant_id, NAME_CHARS_MAX),
        "from_call_id": storable(grant.from_call_id, NAME_CHARS_MAX),
        "created_at": normal_time(grant.created_at),
        "expires_at": normal_time(grant.expires_at) if grant.expires_at else None,
    }


def _lasts(known: object, wanted: str | None) -> bool:
    """Whether an expiry that is stored is at least as late as the wanted one."""
    return known is None or (wanted is not None and str(known) >= wanted)


def _kind_and_value(scope: LastingScope) -> tuple[str, str]:
    match scope:
        case Always():
            return "name", ""
        case AlwaysPrefix(prefix):
            return "prefix", prefix
        case AlwaysPath(root):
            return "path", root
        case AlwaysExact(command):
            return "exact", command


def _scope(kind: str, value: str) -> LastingScope:
    match kind:
        case "name":
            return Always()
        case "prefix" if value:
            return AlwaysPrefix(value)
        case "exact" if value:
            return AlwaysExact(value)
        case "path" if value.startswith("/"):
            return AlwaysPath(value)
        case _:
            raise ValueError(f"a grant of the kind {kind!r} cannot be read")


def _grant(row: Row) -> LastingGrant:
    (grant_id, workspace, agent, tool, kind, value, call_id, created_at, expires_at, uses) = row[
        :10
    ]
    digests = (None if digest is None else str(digest) for digest in row[10:])
    agent_digest, launch_digest, schema_digest, ties_digest = digests
    return LastingGrant(
        grant_id=str(grant_id),
        tool=from_key(str(tool)),
        scope=_scope(str(kind), from_key(str(value))),
        persist=Persist.USER if workspace == EVERYWHERE else Persist.PROJECT,
        from_call_id=str(call_id),
        created_at=normal_time(str(created_at)),
        agent=from_key(str(agent)),
        expires_at=None if expires_at is None else normal_time(str(expires_at)),
        uses=int(uses or 0),
        agent_digest=agent_digest,
        launch_digest=launch_digest,
        schema_digest=schema_digest,
        ties_digest=ties_digest,
    )
