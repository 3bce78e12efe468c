"""A session set up as it was opened, with recorded input."""

from collections.abc import Mapping
from uuid import UUID

from anyio.lowlevel import checkpoint
from msgspec import Struct

from wcore.approval.manager import ApprovalManager, Pending
from wcore.persistence.records import as_list
from wcore.persistence.restore import DOUBTED, Restored
from wcore.policy.protected import Places
from wcore.protocol import events
from wcore.replay.host import NoWriter
from wcore.replay.journal import RecordedJournal
from wcore.replay.model import RecordedModels
from wcore.replay.persistence import RecordedPersistence, RecordedSessionPolicy
from wcore.replay.runtime import RecordedAnalyser, RecordedRuntime
from wcore.replay.timeline import Item, RecordItem, Timeline
from wcore.session.session import Session
from wcore.session.settings import Settings
from wcore.store import Kind, SessionRow
from wcore.vocabulary import MODE_ALIASES, Json, Mode, Usage

Body = Mapping[str, Json]


class ReplaySetup(Struct, frozen=True):
    """All that a replay needs. The reader is to be closed."""

    session: Session
    reader: RecordedAnalyser


class RecordedSession(Session):
    """A session whose events wait for their turn."""

    script: Timeline
    recorded: RecordedJournal

    def add_usage(self, usage: Usage) -> None:
        """Count what a server's prompt has cost."""
        self.usage += usage

    async def emit(self, event: events.Event) -> None:
        line = self.encoded(event)
        kind, call_id = getattr(event, "type", ""), getattr(event, "call_id", "")
        await self.recorded.its_turn(kind, call_id or "", line)
        await super().emit(event)


class RecordedApprovals(ApprovalManager):
    """Parked calls whose time is over when it was then."""

    script: Timeline
    recorded: RecordedJournal

    def check_expired(self, entry: Pending) -> bool:
        over = self.recorded.is_over(entry.call_id)
        if over:
            self.recorded.expired(entry.call_id)
        return over

    async def run_reaper(self, interval_s: float = 0.0) -> None:
        while True:
            await self.script.wait_for(_is_expiry)
            if not self.reap_now():
                await checkpoint()


def set_up(row: SessionRow, opened: Body, script: Timeline, restored: Restored) -> ReplaySetup:
    """Return the session as an engine opened it.

    Raises:
        TypeError, ValueError: the record of that makes no sense.
    """
    settings = _settings(row.session_id, opened)
    user_id, workspace = UUID(row.user_id), settings.places.workspace
    journal = RecordedJournal(script, user_id, workspace, row.session_id)
    persistence = RecordedPersistence(script, journal, workspace, user_id)
    models, shell_analyser = RecordedModels(script), RecordedAnalyser(script)
    session = RecordedSession(
        settings, NoWriter(), {}, models.opened(opened), shell_analyser, persistence
    )
    session.script, session.recorded, session.models = script, journal, models
    session.policy = policy = RecordedSessionPolicy(
        tiers=persistence.tiers, script=script, places=settings.places
    )
    session.runtime = RecordedRuntime(script, shell_analyser, policy.known, session.add_usage)
    session.approvals = approvals = RecordedApprovals(
        session.ledger, session.grants, ttl_s=settings.approval_ttl_s
    )
    approvals.script, approvals.recorded = script, journal
    approvals.set_mode(settings.mode)
    if restored.interrupted is not None:
        restored.interrupted.forget(map(str, as_list(opened.get(DOUBTED))))
    session.restore(restored)
    return ReplaySetup(session, shell_analyser)


def _settings(session_id: str, opened: Body) -> Settings:
    own, on_path = (tuple(map(str, as_list(opened.get(name)))) for name in ("own", "on_path"))
    mode_name = str(opened["mode"])
    places = Places(str(opened["workspace"]), str(opened["home"]), own, on_path)
    return Settings(
        session_id=session_id,
        places=places,
        mode=Mode(MODE_ALIASES.get(mode_name, mode_name)),
        mode_name=mode_name,
        max_mode=Mode(str(opened["max_mode"])),
        prompts=opened["prompts"] is True,
        hitl_suspend=opened["hitl_suspend"] is True,
        approval_ttl_s=float(str(opened["approval_ttl_s"])),
        max_rounds=int(str(opened["max_rounds"])),
        max_tokens=_number(opened["max_tokens"]),
        max_writes=_number(opened["max_writes"]),
        system_prompt=str(opened["system_prompt"]),
        has_mcp=opened["has_mcp"] is True,
    )


def _number(value: Json) -> int | None:
    return None if value is None else int(str(value))


def _is_expiry(item: Item) -> bool:
    return isinstance(item, RecordItem) and item.kind is Kind.CLOCK and "expired" in item.body
