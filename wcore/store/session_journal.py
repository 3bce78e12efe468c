"""The journal of the session that an engine holds: written, read, synchronised, kept."""

import logging
from typing import Final, Self
from uuid import UUID

import anyio

from wcore.store import audit, identity, journal, sessions
from wcore.store.audit import Entry
from wcore.store.database import Database
from wcore.store.errors import StoreError
from wcore.store.leases import RENEW_S
from wcore.store.sessions import Lease
from wcore.store.store import Store
from wcore.store.values import (
    DURABLE_KINDS,
    SOON_KINDS,
    SYNC_S,
    JournalPage,
    JournalRecord,
    Kind,
    RawRecord,
    Record,
    SessionRow,
    ToolApprovalDecisionEvent,
)

log: Final = logging.getLogger("wcore.audit")


class SessionJournal:
    """The journal of the session that this engine holds. `resumed` is its row as it was found."""

    def __init__(
        self, store: Store, user_id: UUID, lease: Lease, resumed: SessionRow | None = None
    ) -> None:
        self.session_id = lease.session_id
        self.resumed = resumed
        self._store = store
        self._user_id = user_id
        self._lease = lease
        self._sync_due = anyio.Event()  # something is to be synchronised soon

    @classmethod
    async def begin(cls, store: Store, user_id: UUID, session_id: str, workspace: str) -> Self:
        """Enter a new session.

        Raises:
            SessionExistsError: the id is taken.
        """
        lease = await store.run(lambda db: sessions.begin(db, user_id, session_id, workspace))
        return cls(store, user_id, lease)

    @classmethod
    async def resume(cls, store: Store, user_id: UUID, session_id: str) -> Self:
        """Take over a stored session; nothing is run by that.

        Raises:
            SessionMissingError: there is none of that id.
            SessionBusyError: another engine has it.
        """

        def take(db: Database) -> Self:
            lease, row = sessions.resume(db, user_id, session_id)
            journal.drop_torn(db, lease)
            return cls(store, user_id, lease, row)

        return await store.run(take)

    async def append(
        self,
        *records: Record,
        durable: bool | None = None,
        audited: ToolApprovalDecisionEvent | None = None,
    ) -> int:
        """Write records, all or none; return the number of the last one.

        `durable`: on the disk itself when this returns; without it the kinds decide. What is not
        then, though its kind says so, follows soon while `hold_lease` runs. `audited` gets its row
        in the same transaction; where only that fails it is logged, as for every row.

        Raises:
            StoreError: nothing was written; what was to follow must not happen.
            LeaseLostError: another engine has the session; nothing was written.
        """
        kinds = {record.kind for record in records}
        wanted = bool(kinds & DURABLE_KINDS) if durable is None else durable
        rows = (Entry.of(audited),) if audited else ()

        def write(database: Database) -> int:
            try:
                return journal.append(database, self._lease, records, durable=wanted, audited=rows)
            except journal.AuditUnwritableError:
                log.exception("audit.write_failed", extra={"rows": 1})
            return journal.append(database, self._lease, records, durable=wanted)

        last = await self._store.run(write)
        if wanted:
            self._settled()  # a database synchronises with a transaction all that came before it
        elif kinds & (DURABLE_KINDS | SOON_KINDS):
            self._sync_due.set()
        return last

    async def read(self, after: int = 0, limit: int = journal.PAGE_RECORDS) -> JournalPage:
        """Return the records that follow number `after`.

        Raises:
            JournalDamagedError: a record before the last is unreadable.
        """
        return await self._store.run(
            lambda db: journal.read(db, self._user_id, self.session_id, after, limit)
        )

    async def read_chosen(
        self, always: frozenset[Kind], in_open_turn: frozenset[Kind]
    ) -> list[RawRecord]:
        """Return the records of some kinds; `in_open_turn` only behind the last turn's end.

        Raises:
            JournalDamagedError: a record is missing, or one of these is not as it was written.
        """
        return await self._store.run(
            lambda db: journal.read_chosen(db, self._lease, always, in_open_turn)
        )

    async def has_approval(self, call_id: str) -> bool:
        """Whether the audit has a person's yes to a call of this session."""
        chat_id = identity.chat_id(self.session_id)
        return await self._store.run(
            lambda db: audit.has_approval(db, self._user_id, chat_id, call_id)
        )

    def decoded(self, record: RawRecord) -> JournalRecord:
        """Return one of these with its body.

        Raises:
            JournalDamagedError: it has none.
        """
        return journal.decoded(self.session_id, record)

    async def hold_lease(self) -> None:
        """Renew the lease, and synchronise what is owed, while there is a store.

        Run it in a task group.

        Raises:
            LeaseLostError: another engine has the session: this one must end.
        """
        renew_at = anyio.current_time() + RENEW_S
        while self._store.is_kept:
            with anyio.move_on_after(renew_at - anyio.current_time()):
                await self._sync_due.wait()
            if self._sync_due.is_set():
                await anyio.sleep(SYNC_S)
                await self.settle()
            if anyio.current_time() >= renew_at:
                await self.renew()
                renew_at = anyio.current_time() + RENEW_S

    async def settle(self) -> None:
        """Synchronise what is owed; a store that fails for a moment goes on owing it."""
        if not self._sync_due.is_set():
            return
        try:
            await self._store.run(lambda database: database.sync())
        except StoreError:
            return
        self._settled()

    def _settled(self) -> None:
        if self._sync_due.is_set():
            self._sync_due = anyio.Event()

    async def renew(self) -> None:
        """Renew the lease once; a store that fails for a moment does not lose it.

        With it the history moves into the database itself: a log that is damaged, or a copy made
        without it, loses what was said since the last renewal, not the whole session.
        """
        try:
            await self._store.run(lambda db: sessions.renew(db, self._lease))
            await self._store.run(lambda db: db.checkpoint())
        except StoreError:
            return

    async def release(self) -> None:
        """Give the session free. A store that fails then is no harm: the engine is about to end."""
        with anyio.CancelScope(shield=True):
            await self.settle()
            try:
                await self._store.run(lambda db: sessions.release(db, self._lease))
            except StoreError:
                return
