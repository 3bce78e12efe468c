"""`Store`, through which the engine calls this package from the event loop.

Opened when first used; all calls go to one worker thread at a time, in order, over one
connection. A call that has begun is finished even if its caller is cancelled, within the limits
of `worker`.
"""

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Final, Self, TypeVar
from uuid import UUID

import anyio
from anyio import to_thread

from wcore.store import grants, sessions, tiers
from wcore.store.audit_log import AuditLog
from wcore.store.database import Database
from wcore.store.errors import NoStoreError, StoreError, StoreLostError
from wcore.store.location import Location
from wcore.store.opening import load_client, open_database, opened
from wcore.store.sessions import Purged
from wcore.store.values import (
    AgentPermissionSnapshot,
    GrantKey,
    LastingGrant,
    LoadedGrants,
    SessionRow,
    ToolApprovalDecisionEvent,
    ToolPermission,
    Versions,
)
from wcore.store.worker import Worker

CLOSE_S_MAX: Final = 1.0  # an engine ended by a signal is gone within two seconds
SILENT_CLOSE_S_MAX: Final = 0.2  # of these; most likely the audit hangs like the rest

T = TypeVar("T")


class Store:
    """The memory of one engine. Making one does no I/O and imports no database."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.problem: StoreLostError | None = None  # why it is used no more
        self.on_loss: Callable[[], None] = lambda: None  # called once, before anybody goes on
        self._worker = Worker(location)
        self._audit = AuditLog(lambda: open_database(location))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    @property
    def is_kept(self) -> bool:
        """Whether there is a store, as far as is known. One that was lost is not used again."""
        return self.location.is_kept and self.problem is None

    def warm(self) -> None:
        """Do now, in any thread, what opening the store takes besides the store. Opens nothing."""
        load_client(self.location)

    async def open(self) -> None:
        """Open the store now, for instance after `ready`; any call below does it too.

        Raises:
            StoreLostError: it cannot be used, and is not tried again.
            StoreError: it cannot be used at this moment. The next call tries again.
        """
        await self.run(lambda _: None)

    async def aclose(self) -> None:
        """Write what is queued, waiting `CLOSE_S_MAX`, and close. Nothing is recorded later."""
        limit_s = SILENT_CLOSE_S_MAX if self._worker.is_silent else CLOSE_S_MAX
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(self._audit.close, limit_s)
        await self._worker.close()

    # --- tiers and overrides ------------------------------------------------------------------

    async def preload_for_agent(self, agent_id: UUID, user_id: UUID) -> AgentPermissionSnapshot:
        """Return what is stored about an agent's tools, in one query.

        Raises:
            StoreError: it cannot be read: the turn fails, nothing may be offered.
        """
        return await self.run(lambda db: tiers.preload_for_agent(db, agent_id, user_id))

    async def list_permissions(self, agent_id: UUID) -> tuple[ToolPermission, ...]:
        return await self.run(lambda db: tiers.list_permissions(db, agent_id))

    async def set_agent_tools(
        self, agent_id: UUID, tools: Iterable[ToolPermission] | None, *, only: bool = True
    ) -> None:
        """Replace the agent's whole set; `None` takes it back."""
        await self.run(lambda db: tiers.set_agent_tools(db, agent_id, tools, only=only))

    async def set_tool_override(
        self, user_id: UUID, agent_id: UUID, tool: str, *, approve_always: bool
    ) -> None:
        await self.run(
            lambda db: tiers.set_tool_override(
                db, user_id, agent_id, tool, approve_always=approve_always
            )
        )

    async def versions(self) -> Versions:
        """Return the counters that show what any engine has changed; ask before a decision.

        Raises:
            StoreError: they cannot be read: what is known may be out of date.
        """
        return await self.run(tiers.versions)

    # --- grants -------------------------------------------------------------------------------

    async def load_grants(self, key: GrantKey) -> LoadedGrants:
        """Return the lasting grants. Never fails: unreadable is none, and `problem` says why.

        That there is no store is no problem of the grants; `on_loss` has told it.
        """
        try:
            return await self.run(lambda db: grants.load(db, key))
        except StoreLostError:
            return LoadedGrants(())
        except StoreError as error:
            return LoadedGrants((), f"no lasting grants are used: {error}")

    async def add_grant(self, key: GrantKey, grant: LastingGrant) -> LastingGrant:
        """Keep a grant; an equal one that is there already is returned instead.

        Raises:
            StoreError: it is not kept.
        """
        return await self.run(lambda db: grants.add(db, key, grant))

    async def add_grants(self, key: GrantKey, kept: Sequence[LastingGrant]) -> None:
        """Keep several grants, all or none, as `add_grant` keeps one."""
        await self.run(lambda db: grants.add_all(db, key, kept))

    async def revoke_grant(self, key: GrantKey, grant_id: str) -> bool:
        return await self.run(lambda db: grants.revoke(db, key, grant_id))

    def record_use(self, grant_id: str) -> None:
        """Queue that a grant let a call run. Returns at once and never raises."""
        if self.is_kept:
            self._audit.record_use(grant_id)

    # --- audit --------------------------------------------------------------------------------

    def record_decision(self, event: ToolApprovalDecisionEvent) -> None:
        """Queue one row of the audit. Returns at once and never raises."""
        if self.is_kept:
            self._audit.record_decision(event)

    # --- sessions -----------------------------------------------------------------------------

    async def latest_session(self, user_id: UUID, workspace: str) -> str:
        """Return the id for `--resume latest`.

        Raises:
            SessionMissingError: the workspace has no session.
        """
        return await self.run(lambda db: sessions.latest(db, user_id, workspace))

    async def list_sessions(self, user_id: UUID) -> list[SessionRow]:
        return await self.run(lambda db: sessions.list_sessions(db, user_id))

    async def purge_older(self, user_id: UUID, days: float) -> Purged:
        """Delete what was not used for `days`, beside everything else that goes on.

        Cancelling does not wait for the session that is being deleted.

        Raises:
            StoreError: it could not be done, or not wholly.
        """
        if not self.is_kept:
            raise NoStoreError

        def purge() -> Purged:
            with opened(self.location) as database:  # its own: the journal must not wait for it
                return sessions.purge_older(database, user_id, days)

        return await to_thread.run_sync(purge, abandon_on_cancel=True)

    async def run(self, job: Callable[[Database], T]) -> T:
        """Carry out `job` in the worker; jobs run one at a time, in the order of asking.

        Raises:
            StoreLostError: there is no store; the first one who finds out is told why.
        """
        if not self.is_kept:
            raise NoStoreError
        try:
            return await self._worker.run(job)
        except StoreLostError as error:
            if self.problem is None:
                self.problem = error
                self.on_loss()
            raise

    def hurry(self, *, for_good: bool = False) -> None:
        """Let nobody wait long from now on: the turn is to end, or the engine, `for_good`."""
        self._worker.hurry(for_good=for_good)

    def calm(self) -> None:
        """The turn has ended: wait as long as ever."""
        self._worker.calm()

    def serve_commands(self) -> None:
        """Let the task that calls this, which obeys the host, never wait long."""
        self._worker.serve_commands()
