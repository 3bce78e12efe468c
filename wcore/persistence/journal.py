"""What a session writes down, in the order in which it happens: record, then event, then effect.

`record(Kind.REPLIED, …)` keeps a record for the next write; `write` puts one on the disk with all
that were kept before it, in one transaction. If that fails, `write` raises, and what was about to
happen does not. Secrets are taken out at once, so that none ever waits here.

Without a store nothing is written, and nothing waits here; one that is lost fails no write after
that. But what it may know of a call stays true: a call of a reply that was written, or may have
been, and that has not begun, does not begin any more, since whoever resumes the session would be
offered it again.
"""

import copy
from typing import Final
from uuid import UUID

import anyio

from wcore.approval.redaction import Secrets, redacted
from wcore.persistence.restore import (
    OF_CONVERSATION,
    OF_OPEN_TURN,
    Left,
    OpenTurn,
    Restored,
    restore,
)
from wcore.store import (
    Kind,
    LeaseLostError,
    RawRecord,
    Record,
    SessionJournal,
    Store,
    StoreLostError,
    ToolApprovalDecisionEvent,
)
from wcore.vocabulary import Json

NOTES_MAX: Final = 256  # then they are written at the next command, also between turns
ACTING: Final = frozenset({Kind.ASKED, Kind.STARTED})  # a resumed session goes on from there


class Journal:
    """The journal of this engine's session; nothing touches the store before it is opened."""

    def __init__(
        self, store: Store, user_id: UUID, workspace: str, session_id: str, secrets: Secrets
    ) -> None:
        self.session_id = session_id
        self.secrets = secrets
        self.opened = anyio.Event()  # the session is ours
        self.lost = anyio.Event()  # another engine has the session: this one must end
        self._store = store
        self._user_id = user_id
        self._workspace = workspace
        self._held: SessionJournal | None = None
        self._notes: list[Record] = []
        self._unread: list[RawRecord] = []  # the conversation, until `recall`
        self._doubted: tuple[str, ...] = ()  # calls whose recorded yes is in no audit
        self._had_turn = False
        self._heavy = NOTES_MAX
        self._may_know_reply = False  # the store, of the last reply of the main agent
        self._marks: dict[str, Json] = {}  # on every record that a sub-agent writes

    # --- writing ------------------------------------------------------------------------------

    def record(self, kind: Kind, **facts: Json) -> None:
        """Remember a record for the next write."""
        if kind is Kind.REPLIED and not self._marks:
            self._may_know_reply = False
        if not self._store.is_kept:
            return
        self._had_turn = self._had_turn or kind is Kind.TURN_STARTED
        self._notes.append(self._cleaned(Record(kind, facts)))

    async def write(
        self,
        *records: Record,
        durable: bool | None = None,
        audited: ToolApprovalDecisionEvent | None = None,
    ) -> None:
        """Write the notes and `records`, all or none; durable where one of the kinds is.

        `audited` gets its row in the audit together with them.

        With `durable` false even those are on the disk itself only a moment later, or with the
        next write that is durable. The first write enters the session, unless it was begun or
        resumed before.

        Raises:
            StoreError: nothing was written. The notes stay; `records` are forgotten.
            StoreLostError: there is no store any more, and the store may know this call.
            LeaseLostError: another engine has the session.
        """
        try:
            await self._append(*records, durable=durable, audited=audited)
        except StoreLostError:
            self._notes.clear()
            is_known = self._may_know_reply and not self._marks  # those of sub-agents never go on
            if is_known and not ACTING.isdisjoint(record.kind for record in records):
                raise

    async def _append(
        self,
        *records: Record,
        durable: bool | None = None,
        audited: ToolApprovalDecisionEvent | None = None,
    ) -> None:
        notes = self._notes.copy()
        self._notes.clear()
        if any(note.kind is Kind.REPLIED and "below" not in note.body for note in notes):
            self._may_know_reply = True
        try:
            if self._held is None:
                await self.begin()
            assert self._held is not None
            if notes or records:
                every = (*notes, *map(self._cleaned, records))
                await self._held.append(*every, durable=durable, audited=audited)
        except BaseException as error:
            self._notes[:0] = notes
            if isinstance(error, LeaseLostError):
                self.lost.set()
            raise

    def for_subagent(self, agent: str, call_id: str) -> "Journal":
        """Return the journal as a sub-agent writes it: its records name it and its call."""
        is_entered = self._held is not None or not self._store.is_kept
        assert is_entered, "sub-agents work within a turn, and a turn has the session"
        journal = copy.copy(self)  # which shares the notes
        journal._marks = {"agent": agent, "below": call_id}  # noqa: SLF001 - our own
        return journal

    async def try_write(self, *records: Record) -> Exception | None:
        """Write what has happened already; if that fails it is noted, and the reason returned."""
        try:
            await self.write(*records)
        except Exception as error:  # noqa: BLE001 - what happened must still be told
            if self._store.is_kept:
                self._notes += map(self._cleaned, records)
            return error
        return None

    async def flush_if_full(self) -> None:
        """Write notes that have become many although nothing happens; a failure is no harm yet."""
        if self._held is None or len(self._notes) < self._heavy:
            return
        try:
            await self._append()
        except Exception:  # noqa: BLE001 - it is tried again when there is twice as much
            self._heavy = 2 * len(self._notes)
        else:
            self._heavy = NOTES_MAX

    # --- the session --------------------------------------------------------------------------

    async def begin(self) -> None:
        """Enter a new session now, under the id that was asked for.

        Raises:
            SessionExistsError: there is one of that id.
            StoreError: the store cannot be used.
        """
        ids = (self._user_id, self.session_id)
        self._attach(await SessionJournal.begin(self._store, *ids, self._workspace))

    async def resume(self) -> Left:
        """Take over a stored session and say where it was left; `recall` has the conversation.

        Raises:
            SessionError: there is none, another engine has it, or it is damaged.
            StoreError: the store cannot be used.
        """
        held = await SessionJournal.resume(self._store, self._user_id, self.session_id)
        try:
            records = await held.read_chosen(OF_CONVERSATION | {Kind.OPENED}, OF_OPEN_TURN)
            opened = [held.decoded(each) for each in records if each.kind is Kind.OPENED][-1:]
            ends = (at for at, r in enumerate(records, 1) if r.kind is Kind.TURN_ENDED)
            open_turn = records[max(ends, default=0) :]
            left = restore(held.decoded(each) for each in open_turn).interrupted
            self._doubted = await _doubted(held, left)
        except BaseException:
            await held.release()
            raise
        self._attach(held)
        self._unread, self._may_know_reply = records, True
        if left is not None:
            left.forget(self._doubted)
        workspace = str(opened[0].body.get("workspace")) if opened else None
        return Left(left, workspace, self._doubted)

    def recall(self) -> Restored | None:
        """Return the whole conversation of a resumed session; `None` if there is nothing more.

        Blocks, for as long as there is much to be read: in a thread, after `ready`.

        Raises:
            WcoreError: a record makes no sense.
        """
        records, self._unread = self._unread, []
        if self._held is None or not records:
            return None
        restored = restore(map(self._held.decoded, records))
        if restored.interrupted is not None:
            restored.interrupted.forget(self._doubted)
        return restored

    async def hold_lease(self) -> None:
        """Renew the lease until the session is lost; run it in a task group."""
        await self.opened.wait()
        assert self._held is not None
        try:
            await self._held.hold_lease()
        except LeaseLostError:
            self.lost.set()

    async def release(self) -> None:
        """Write the last notes and give the session free; without a turn nothing is kept."""
        if self._held is None or not self._store.is_kept:
            return
        with anyio.CancelScope(shield=True):
            try:
                if self._had_turn:
                    await self.write()
            except Exception:  # noqa: BLE001 - the engine is about to end; nothing depends on it
                return
            finally:
                await self._held.release()

    def _attach(self, held: SessionJournal) -> None:
        self._held = held
        self.opened.set()

    # --- secrets ------------------------------------------------------------------------------

    def _cleaned(self, record: Record) -> Record:
        body = {**record.body, **self._marks}
        return Record(record.kind, redacted(body, self.secrets.redact))


async def _doubted(held: SessionJournal, left: OpenTurn | None) -> tuple[str, ...]:
    """Return the open calls whose recorded yes is in no audit: nobody is known to have given it."""
    answered = [call.call_id for call in left.calls.values() if call.answer] if left else []
    return tuple([each for each in answered if not await held.has_approval(each)])
