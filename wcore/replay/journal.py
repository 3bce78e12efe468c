"""The journal of a replay: what would be written is compared, what was recorded is handed out."""

import copy
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import anyio
from anyio.lowlevel import checkpoint

from wcore.approval.redaction import Secrets
from wcore.persistence.journal import DIGEST_CHARS, Journal
from wcore.persistence.records import as_list
from wcore.persistence.redact import redacted
from wcore.replay.stubs import NoStore
from wcore.replay.timeline import (
    EventItem,
    Item,
    RecordItem,
    SyncPoint,
    Timeline,
    is_beat,
    plain,
    what_of,
)
from wcore.store import Kind, Record, ToolApprovalDecisionEvent
from wcore.vocabulary import Json


class RecordedJournal(Journal):
    """Writes nothing. Chance and time are those of the recording."""

    def __init__(self, script: Timeline, user_id: UUID, workspace: str, session_id: str) -> None:
        super().__init__(NoStore(), user_id, workspace, session_id, Secrets())
        self.opened.set()
        self._script = script
        self._running: set[str] = set()

    def for_subagent(self, agent: str, call_id: str) -> "RecordedJournal":
        journal = copy.copy(self)
        journal._marks = {"agent": agent, "below": call_id}  # noqa: SLF001 - our own
        return journal

    def record(self, kind: Kind, **facts: Json) -> None:
        self._is_telling = self._is_telling or kind is Kind.TURN_STARTED
        self._script.take(self._entry(Record(kind, facts)))

    async def write(
        self,
        *records: Record,
        durable: bool | None = None,
        audited: ToolApprovalDecisionEvent | None = None,
    ) -> None:
        await checkpoint()
        made = [self._entry(record) for record in records]
        if made:
            await self._script.wait_for(lambda head: _is_alike(head, made[0]), made[0])
        for each in made:
            self._script.take(each)
        if self._is_telling:
            with anyio.CancelScope(shield=True):
                await self.record_sync_point(self.written(*records))

    async def record_sync_point(self, what: str, **facts: Json) -> None:
        if self._is_telling:
            made = (
                self._entry(Record(Kind.FOUND, {"what": what, **facts}))
                if facts
                else SyncPoint(what)
            )
            await self._script.wait_for(lambda head: what_of(head) == what, made)
            self._script.take(made)

    async def its_turn(self, kind: str, call_id: str, line: bytes) -> None:
        """Wait until an event is what comes next."""
        if self._is_telling and not (kind == "tool_running" and call_id in self._running):
            made = self._event(kind, call_id, line)
            await self._script.wait_for(lambda head: head == made, made)

    def record_event(self, kind: str, call_id: str, line: bytes) -> None:
        if self._is_telling and not is_beat(self._running, kind, call_id):
            self._script.take(self._event(kind, call_id, line))

    async def flush_if_full(self) -> None:
        """Nothing has to be written."""

    async def hold_lease(self) -> None:
        """Nobody can take the session away."""
        await anyio.sleep_forever()

    # --- what chance decided ------------------------------------------------------------------

    def new_id(self, prefix: str, chars: int) -> str:
        made = self._next(Kind.MINTED, "id")
        fitting = isinstance(made, str) and made.startswith(prefix)
        found = made if isinstance(made, str) and fitting else f"{prefix}{'0' * chars}"
        self.record(Kind.MINTED, id=found)
        return found

    def now(self) -> datetime:
        found = self._next(Kind.CLOCK, "now")
        moment = datetime.fromisoformat(found) if isinstance(found, str) else datetime.now(UTC)
        self.record(Kind.CLOCK, now=moment.isoformat())
        return moment

    def record_seconds_left(self, seconds: Sequence[int]) -> Sequence[int]:
        recorded = [each for each in as_list(self._next(Kind.CLOCK, "left_s")) if type(each) is int]
        found = recorded if len(recorded) == len(seconds) else seconds
        self.record(Kind.CLOCK, left_s=found)
        return found

    def realpath(self, path: str) -> str:
        found = self._next(Kind.FOUND, "real")
        real = found if isinstance(found, str) else path
        self.record(Kind.FOUND, what="real", path=path, real=real)
        return real

    def is_over(self, call_id: str) -> bool:
        """Whether what comes next is that nobody can answer this call any more."""
        return self._next(Kind.CLOCK, "expired") == call_id

    def _next(self, kind: Kind, name: str) -> Json:
        head = self._script.head
        return head.body.get(name) if isinstance(head, RecordItem) and head.kind is kind else None

    def _entry(self, record: Record) -> RecordItem:
        body = plain(redacted({**record.body, **self._marks}, self.secrets.redact))
        assert isinstance(body, dict)
        return RecordItem(record.kind, body)

    def _event(self, kind: str, call_id: str, line: bytes) -> EventItem:
        text = self.secrets.redact(line.decode())
        digest = hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARS]
        return EventItem(kind, call_id, digest, text)


def _is_alike(head: Item, made: RecordItem) -> bool:
    """Whether two records are about the same; then a difference between them is one."""
    if not isinstance(head, RecordItem) or head.kind is not made.kind:
        return False
    return head.body.get("call_id") == made.body.get("call_id")
