"""What a session keeps in the store: its journal, its lasting grants, an audit row a decision.

A `Session` has one. The first turn opens it, never `ready`. Grants are read again whenever any
engine changed them, so a revoked one counts no longer from the next decision on; one that somebody
else gives counts once this session's host accepts it. A grant that cannot be kept is an error, and
one that cannot be read allows nothing.

A person's yes and its audit row are one transaction, all other rows are written later. A row that
cannot be written is only logged; a yes without its row is none when the session is resumed.
"""

import copy
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from wcore.approval.redaction import Secrets
from wcore.errors import Code, WcoreError
from wcore.persistence import grant_codec, records
from wcore.persistence.decision_events import DecisionEvents
from wcore.persistence.held_grants import HeldGrants
from wcore.persistence.journal import Journal
from wcore.persistence.pending_changes import AnnouncedChanges, PendingChanges, what_waits
from wcore.persistence.tiers import StoredTiers
from wcore.policy.grants import MAIN_AGENT, Grant, GrantBook
from wcore.policy_files.snapshot import Rules
from wcore.store import (
    AuditDecision,
    AuditSource,
    GrantKey,
    LoadedGrants,
    NoStoreError,
    Record,
    Store,
    StoreError,
    StoreLostError,
    ToolApprovalDecisionEvent,
    identity,
)
from wcore.vocabulary import Json, Persist

Told: TypeAlias = tuple[str, str | None]  # for a person, and the digest of what waits

IN_MEMORY: Final = (
    "The conversation goes on in memory: nothing of it is kept from here on, no audit is written, "
    "and lasting grants do not count"
)
UNREAD: Final = "below mode force, what no rule or grant allows asks until the mode is set again"
NO_STORE: Final = "no_store: there is nowhere to keep it"

log = logging.getLogger("wcore.persistence")


class UnreadableGrantsError(WcoreError):
    """The lasting grants cannot be read."""

    code = Code.CONFIG


class SessionPersistence:
    """One session's way to the store."""

    def __init__(
        self, store: Store, workspace: str, session_id: str, user: str | None, secrets: Secrets
    ) -> None:
        self._store = store
        self._workspace = workspace
        self._user_id = identity.user_id(user)
        self._key = GrantKey(self._user_id, workspace)
        self.journal = Journal(store, self._user_id, workspace, session_id, secrets)
        self.tiers = StoredTiers(store, workspace, self._user_id)
        self.decision_events = self._decisions_of(MAIN_AGENT)
        self.lasting = HeldGrants()
        self._seen_version: int | None = None
        self._seen_tiers: int | None = None
        self._told: str | None = None
        self._told_waiting = AnnouncedChanges()

    def for_subagent(self, agent: str, call_id: str) -> "SessionPersistence":
        """Return the persistence of a sub-agent, which works for the call `call_id`."""
        persistence = copy.copy(self)
        persistence.journal = self.journal.for_subagent(agent, call_id)
        persistence.decision_events = self._decisions_of(agent)
        return persistence

    def _decisions_of(self, agent: str) -> DecisionEvents:
        return DecisionEvents(
            self._user_id,
            identity.agent_id(self._workspace, agent),
            identity.chat_id(self.journal.session_id),
            partial(self.tiers.has_override, agent),
        )

    @property
    def is_kept(self) -> bool:
        """Whether there is a store; without one the session is in memory."""
        return self._store.is_kept

    @property
    def loss(self) -> str | None:
        """What happened to a store that was lost, and what to do; `None` if it was not."""
        return None if self._store.problem is None else str(self._store.problem)

    @property
    def consequences(self) -> str | None:
        """The same with what follows from it, for people."""
        if self.loss is None:
            return None
        text = f"{self.loss}. {IN_MEMORY}"
        return f"{text}; {UNREAD}" if self.tiers.now(MAIN_AGENT, "").unread else text

    def watch(self, lost: Callable[[], None]) -> None:
        """Have `lost` called when the store is lost, before anything else is done."""
        self._store.on_loss = lost

    async def open(self) -> None:
        """Open the store and be in a session; the first turn enters it.

        Raises:
            StoreError: it cannot be used at this moment; says which file and what to do.
            LeaseLostError: another engine has the session.
        """
        await self.journal.write()

    def warm(self) -> None:
        """Make the first turn's way to the store short, in any thread; the store is not touched."""
        self._store.warm()

    def hurry(self, *, for_good: bool = False) -> None:
        """A store that hangs must not hold up the end of the turn or, `for_good`, of the engine."""
        self._store.hurry(for_good=for_good)

    def calm(self) -> None:
        """The turn has ended."""
        self._store.calm()

    def serve_commands(self) -> None:
        """Nor must it hold up the task that calls this, which obeys the host."""
        self._store.serve_commands()

    async def close(self) -> None:
        """Give the session free, write what is queued, for a second at most, and close."""
        await self.journal.release()
        await self._store.aclose()

    async def purge_older(self, days: float) -> None:
        """Delete this user's sessions that were not used for `days`; failing is no harm."""
        try:
            await self._store.purge_older(self._user_id, days)
        except NoStoreError:
            return
        except StoreError:
            log.warning("sessions.not_purged", exc_info=True)

    async def refresh(self, book: GrantBook, rules: Rules | None = None) -> list[Told]:
        """Bring the lasting grants of `book`, and the tiers, up to date.

        Returns what a person should be told, once each: that grants cannot be read, and, where
        `rules` are given, what others have loosened.
        """
        loaded = await self._load_changed_grants()
        told: list[Told] = []
        if loaded is not None:
            problem = self._once(loaded.problem)
            told += [(problem, None)] if problem else []
            counting = self.lasting.read(loaded)
            book.replace_lasting([g for each in counting if (g := grant_codec.parsed(each))])
        waiting = rules and self.waiting(rules)
        if waiting and self._told_waiting.is_news(waiting):
            told.append((waiting.text, waiting.digest))
        return told

    async def _load_changed_grants(self) -> LoadedGrants | None:
        """Return the lasting grants, if any engine changed them since they were read."""
        try:
            versions = await self._store.versions()
            if versions.tiers != self._seen_tiers:
                self.tiers.changed(versions.tiers)
                await self.tiers.reload()
                self._seen_tiers = versions.tiers
        except StoreLostError:
            return LoadedGrants(())
        except StoreError as error:
            self._seen_version = None
            self.tiers.current.clear()
            return LoadedGrants((), f"no lasting grants are used: {error}")
        if versions.grants == self._seen_version:
            return None
        loaded = await self._store.load_grants(self._key)
        self._seen_version = versions.grants
        return loaded

    def waiting(self, rules: Rules) -> PendingChanges | None:
        """Return what others have loosened since the start, as it was read last."""
        return what_waits(rules, self.tiers.known(), self.lasting.waiting)

    async def look(self) -> None:
        """Read tiers and lasting grants again, for somebody who asks what has changed.

        Raises:
            StoreError: they cannot be read.
        """
        await self.tiers.look()
        loaded = await self._store.load_grants(self._key)
        if loaded.problem:
            raise UnreadableGrantsError(loaded.problem)
        self.lasting.read(loaded)
        self._seen_version = None  # so that the next decision sees what it may use of them

    def accept(self) -> None:
        """Hold what was read last: the session's own host has agreed."""
        self.tiers.accept()
        self.lasting.accept()

    async def store_grant(self, *grants: Grant) -> str | None:
        """Store the grants of one answer, all or none; returns why not, for people."""
        try:
            kept = [grant_codec.kept(grant) for grant in grants]
            await self._store.add_grants(self._key, kept)
            for each in kept:
                self.lasting.hold(each)
        except StoreLostError:
            return NO_STORE
        except (StoreError, ValueError) as error:
            return str(error)
        return None

    async def revoke(self, grant_id: str) -> bool:
        """Take a lasting grant back, for every engine.

        Raises:
            StoreError: it could not be done.
        """
        revoked = await self._store.revoke_grant(self._key, grant_id)
        self.lasting.drop(grant_id)
        return revoked

    async def publish(
        self,
        event: ToolApprovalDecisionEvent,
        facts: Mapping[str, Json],
        *more: Record,
        acted_upon: bool = False,
    ) -> None:
        """Make a decision known: to the journal, with `more` records, and to the audit.

        This is the one place that all who want to know of decisions hang on. A yes that will be
        `acted_upon` reaches the disk itself with the `started` of its call; until then a power
        cut takes it back, and the call asks again or is decided again. A no is there at once.

        Raises:
            StoreError: it could not be written down: the decision must not be acted upon.
            LeaseLostError: another engine has the session.
        """
        durable = False if acted_upon else None
        record = records.decided(event, facts)
        if event.decision is AuditDecision.APPROVED and event.source is AuditSource.USER:
            # Together: when the session is resumed, a yes without its row is none.
            await self.journal.write(record, *more, durable=durable, audited=event)
            return
        await self.journal.write(record, *more, durable=durable)
        self._store.record_decision(event)

    async def publish_end(
        self, event: ToolApprovalDecisionEvent | None, ended: Record
    ) -> Exception | None:
        """Make the end of a call known, with the decision that ended it.

        What cannot be written is written with the next record; the reason is returned.
        """
        decided = [records.decided(event, {})] if event else []
        problem = await self.journal.try_write(*decided, ended)
        if event:
            self._store.record_decision(event)
        return problem

    def count_use(self, grant: Grant) -> None:
        """Count that a lasting grant let a call run; nobody waits for it."""
        if grant.persist is not Persist.SESSION:
            self._store.record_use(grant.grant_id)

    def _once(self, problem: str | None) -> str | None:
        new = problem if problem != self._told else None
        self._told = problem
        return new
