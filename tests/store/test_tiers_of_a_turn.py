"""When the tiers of a turn are read: where their counter has moved, or could not be looked at."""

import pytest
from store.samples import AGENT

from wcore.approval.redaction import Secrets
from wcore.persistence.persistence import SessionPersistence
from wcore.policy.grants import MAIN_AGENT, GrantBook
from wcore.store import Location, PermissionStatus, Store, StoreError, ToolPermission
from wcore.store.opening import opened

pytestmark = pytest.mark.anyio

ROW = """
    INSERT INTO agent_tool_permissions
        (agent_id, tool_name, provider_key, permission_status, status_source, created_at)
    VALUES (:agent, 'Read', 'operations', 'blocked', 'explicit', '2026-01-01T00:00:00.000000Z')
"""


async def blocked(persistence: SessionPersistence) -> frozenset[str]:
    """Return what is blocked for the main agent in a turn that begins now."""
    await persistence.refresh(GrantBook())
    return (await persistence.tiers.for_turn(MAIN_AGENT, "")).blocked


def persistence_of(store: Store) -> SessionPersistence:
    return SessionPersistence(store, "/w", "s1", None, Secrets())


async def test_a_turn_has_what_another_engine_set_before_it(location: Location) -> None:
    async with Store(location) as store, Store(location) as other:
        persistence = persistence_of(store)
        assert await blocked(persistence) == frozenset()
        await other.set_agent_tools(AGENT, [ToolPermission("Bash", PermissionStatus.BLOCKED)])
        assert await blocked(persistence) == {"Bash"}


async def test_what_no_counter_tells_of_is_not_looked_for(location: Location) -> None:
    async with Store(location) as store:
        persistence = persistence_of(store)
        await blocked(persistence)
        with opened(location) as database, database.writing():
            database.change(ROW, agent=str(AGENT))
        assert await blocked(persistence) == frozenset()


async def test_where_the_counter_cannot_be_read_the_tiers_are(location: Location) -> None:
    async with Store(location) as store:
        persistence = persistence_of(store)
        await blocked(persistence)
        with opened(location) as database, database.writing():
            database.change(ROW, agent=str(AGENT))
            database.change("DROP TABLE store_versions")
        assert await blocked(persistence) == {"Read"}
        with opened(location) as database, database.writing():
            database.change("DROP TABLE agent_tool_sets")
        with pytest.raises(StoreError):
            await blocked(persistence)
