"""What a session writes down, in the order in which it happens: journal, then event, then effect.

`note` remembers something for the next write; `write` puts it on the disk with all notes before
it, in one transaction. What cannot be written must not happen: `write` raises, and whoever was
about to act does not. Secrets are taken out at once, so that none ever waits here.
"""

import copy
import hashlib
import math
import secrets as random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import anyio

from wcore.approval.redaction import Secrets
from wcore.keeping.restoring import Restored, restore
from wcore.store import (
    JournalRecord,
    Kind,
    LeaseLostError,
    Record,
    SessionJournal,
    Store,
)
from wcore.vocabulary import Json

NOTES_MAX: Final = 256  # then they are written at the next command, also between turns
DIGEST_CHARS: Final = 16  # of an event: tells events apart, and proves nothing to anybody
EARLY: Final = frozenset({"init_history", "set_mode", "set_config", "resume_turn"})


class Journal:
    """The journal of this engine's session; nothing touches the store before it is opened."""

    def __init__(self, store: Store, user_id: UUID, workspace: str, session_id: str) -> None:
        self.session_id = session_id
        self.secrets = Secrets()
        self.opened = anyio.Event()  # the session is ours
        self.lost = anyio.Event()  # another engine has the session: this one must end
        self._store = store
        self._user_id = user_id
        self._workspace = workspace
        self._held: SessionJournal | None = None
        self._notes: list[Record] = []
        self._said: list[Json] = []
        self._is_telling = False
        self._heavy = NOTES_MAX
        self._marks: Mapping[str, Json] = {}  # on every record that a sub-agent writes

    # --- writing ------------------------------------------------------------------------------

    def note(self, kind: Kind, **facts: Json) -> None:
        """Remember a record for the next write."""
        self._is_telling = self._is_telling or kind is Kind.TURN_STARTED
        self._note_said()
        self._notes.append(self._cleaned(Record(kind, facts)))

    async def write(self, *records: Record, durable: bool | None = None) -> None:
        """Write the notes and `records`, all or none; durable where one of the kinds is.

        With `durable` false even those are on the disk itself only a moment later, or with the
        next write that is durable. The first write enters the session, unless it was begun or
        resumed before.

        Raises:
            StoreError: nothing was written. The notes stay; `records` are forgotten.
            LeaseLostError: another engine has the session.
        """
        self._note_said()
        notes = self._notes.copy()
        self._notes.clear()
        try:
            if self._held is None:
                self._take(await self._begin())
            assert self._held is not None
            if notes or records:
                await self._held.append(*notes, *map(self._cleaned, records), durable=durable)
        except BaseException as error:
            self._notes[:0] = notes
            if isinstance(error, LeaseLostError):
                self.lost.set()
            raise

    def below(self, agent: str, call_id: str) -> "Journal":
        """Return the journal as a sub-agent writes it: its records name it and its call."""
        assert self._held is not None, "sub-agents work within a turn, and a turn has the session"
        journal = copy.copy(self)  # which shares the notes
        journal._marks = {"agent": agent, "below": call_id}  # noqa: SLF001 - our own
        return journal

    async def write_down(self, *records: Record) -> Exception | None:
        """Write what has happened already; if that fails it is noted, and the reason returned."""
        try:
            await self.write(*records)
        except Exception as error:  # noqa: BLE001 - what happened must still be told
            self._notes += map(self._cleaned, records)
            return error
        return None

    def said(self, kind: str, call_id: str, line: bytes) -> None:
        """Note an event, by its digest; from the first turn on."""
        if self._is_telling:
            text = self.secrets.strip(line.decode()).encode()
            digest = hashlib.sha256(text).hexdigest()[:DIGEST_CHARS]
            self._said.append([kind, call_id, digest])

    def heard(self, **command: Json) -> None:
        """Note a command; before the first turn only what the conversation depends on."""
        if self._is_telling or command["type"] in EARLY:
            self.note(Kind.COMMANDED, **command)

    async def relieve(self) -> None:
        """Write notes that have become many although nothing happens; a failure is no harm yet."""
        if self._held is None or len(self._notes) + len(self._said) < self._heavy:
            return
        error = await self.write_down()
        self._heavy = NOTES_MAX if error is None else 2 * (len(self._notes) + len(self._said))

    # --- what chance decides ------------------------------------------------------------------

    def mint(self, prefix: str, chars: int) -> str:
        """Return a fresh id: `prefix` and random hexadecimal digits."""
        made = prefix + random.token_hex(chars // 2)
        self.note(Kind.MINTED, id=made)
        return made

    def now(self) -> datetime:
        """Return the time of day, UTC."""
        moment = datetime.now(UTC)
        self.note(Kind.CLOCK, now=moment.isoformat())
        return moment

    # --- the session --------------------------------------------------------------------------

    async def begin(self) -> None:
        """Enter a new session now, under the id that was asked for.

        Raises:
            SessionExistsError: there is one of that id.
            StoreError: the store cannot be used.
        """
        self._take(await self._begin())

    async def resume(self) -> Restored:
        """Take over a stored session and return what its journal holds.

        Raises:
            SessionError: there is none, another engine has it, or it cannot be read.
            StoreError: the store cannot be used.
        """
        held = await self._store.resume_session(self._user_id, self.session_id)
        try:
            records: list[JournalRecord] = []
            more = True
            while more:
                page = await held.read(len(records))
                records += page.records
                more = page.more
            restored = restore(records)
        except BaseException:
            await held.release()
            raise
        self._take(held)
        return restored

    async def keep(self) -> None:
        """Renew the lease until the session is lost; run it in a task group."""
        await self.opened.wait()
        assert self._held is not None
        try:
            await self._held.keep()
        except LeaseLostError:
            self.lost.set()

    async def release(self) -> None:
        """Write the last notes and give the session free; without a turn nothing is kept."""
        if self._held is None:
            return
        with anyio.CancelScope(shield=True):
            try:
                if self._is_telling:
                    await self.write()
            except Exception:  # noqa: BLE001 - the engine is about to end; nothing depends on it
                return
            finally:
                await self._held.release()

    async def _begin(self) -> SessionJournal:
        return await self._store.begin_session(self._user_id, self.session_id, self._workspace)

    def _take(self, held: SessionJournal) -> None:
        self._held = held
        self.opened.set()

    def age_s(self, at: str) -> float:
        """Return how long ago a record of this journal was written, by the time of day."""
        return (self.now() - datetime.fromisoformat(at)).total_seconds()

    def _note_said(self) -> None:
        if self._said:
            self._notes.append(Record(Kind.SAID, {"events": self._said.copy()}))
            self._said.clear()

    # --- secrets ------------------------------------------------------------------------------

    def _cleaned(self, record: Record) -> Record:
        body = {**record.body, **self._marks}
        return Record(record.kind, _cleaned(body, self.secrets.strip))


def _cleaned(body: Mapping[str, Json], strip: Callable[[str], str]) -> dict[str, Json]:
    return {strip(name): _clean(value, strip) for name, value in body.items()}


def _clean(value: Json, strip: Callable[[str], str]) -> Json:
    match value:
        case str():
            return strip(value)
        case float():
            return value if math.isfinite(value) else str(value)  # JSON has no other numbers
        case Mapping():
            return _cleaned(value, strip)
        case Sequence():
            return [_clean(each, strip) for each in value]
        case _:
            return value
