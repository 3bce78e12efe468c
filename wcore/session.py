"""What lives as long as the conversation: mode, grants, parked calls, history, and its voice.

Everything the engine says goes through here, so that live secrets never leave and nothing is
said in two ways. The turn asks the session what may happen; it never decides itself.
"""

import posixpath
import secrets as random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from wcore.approval import manager
from wcore.approval.locks import PathLocks
from wcore.approval.manager import ApprovalManager
from wcore.approval.redaction import Secrets
from wcore.approval.table import Ledger
from wcore.errors import Code, WcoreError
from wcore.keeping import Keeper
from wcore.models import Model, Tuning
from wcore.policies.ruling import Ruling
from wcore.policy import shell
from wcore.policy.decide import decide
from wcore.policy.facts import Facts, gather
from wcore.policy.grants import Grant, GrantBook, ScopeRefused, weigh
from wcore.policy.protected import Places
from wcore.protocol import codec, events
from wcore.tools import Tool
from wcore.vocabulary import (
    ID_CHARS_MAX,
    AlwaysPath,
    AlwaysPrefix,
    Decision,
    Message,
    Mode,
    Once,
    Prepared,
    Scope,
    Usage,
)

ROUNDS_MAX: Final = 500  # model replies a turn; a runaway loop ends, a long refactoring does not
LINE_RESERVE_BYTES: Final = 4096  # a request must also fit into `list_pending`'s answer


class ShellReader(Protocol):
    """Reads shell text off the loop, within a deadline; see `wcore.analyst.Analyst`."""

    async def analyse(self, text: str) -> shell.Analysis: ...
    async def warm(self) -> None: ...


class Voice(Protocol):
    """The way out to the host; see `wcore.stdio.Wire`."""

    def put(self, line: bytes) -> None: ...
    async def send(self, line: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Settings:
    """How this engine was told to run. Times are in seconds."""

    session_id: str
    places: Places
    mode: Mode = Mode.DEFAULT
    max_mode: Mode = Mode.FORCE
    prompts: bool = True
    hitl_suspend: bool = True
    approval_ttl_s: float = manager.DEFAULT_APPROVAL_TTL
    reap_interval_s: float = manager.DEFAULT_REAP_INTERVAL
    max_rounds: int = ROUNDS_MAX
    max_tokens: int | None = None
    max_writes: int | None = None
    system_prompt: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A parked call as the host was shown it."""

    request: events.ToolRequest
    prepared: Prepared
    facts: Facts


@dataclass(frozen=True, slots=True)
class Remembered:
    """One entry of the history; `seq` grows by one."""

    seq: int
    msg_id: str
    message: Message


class Session:
    """One conversation with one host."""

    def __init__(
        self,
        settings: Settings,
        voice: Voice,
        tools: Mapping[str, Tool],
        model: Model,
        reader: ShellReader,
        keeper: Keeper,
    ) -> None:
        self.settings = settings
        self.tools = tools
        self.model = model
        self.tuning = Tuning()
        self.ledger = Ledger()
        self.grants = GrantBook()
        self.approvals = ApprovalManager(self.ledger, self.grants, ttl_s=settings.approval_ttl_s)
        self.approvals.set_mode(settings.mode)
        self.secrets = Secrets()
        self.locks = PathLocks()
        self.cards: dict[str, Card] = {}
        self.history: list[Remembered] = []
        self.usage = Usage()
        self.host_gone = False
        self._voice = voice
        self.reader = reader
        self.keeper = keeper
        self.ruling = Ruling()
        self.notices: tuple[str, ...] = ()  # for the host, right after `ready`
        self.ceiling_dropped = False  # the mode fell with it; the host is told after the turn

    # --- what the host is told ----------------------------------------------------------------

    async def emit(self, event: events.Event) -> None:
        """Send one event; waits while the host does not read.

        Raises:
            EventTooLargeError: the line would pass the cap; nothing was sent.
            HostGoneError: the host has closed our stdout.
        """
        await self._voice.send(codec.encode(event))

    def put(self, event: events.Event) -> None:
        """Queue one event of a group that must not be torn apart."""
        self._voice.put(codec.encode(event))

    async def info(self, message: str, msg_id: str = "") -> None:
        await self.emit(events.Info(msg_id=msg_id, message=self.secrets.strip(message)))

    async def report(self, error: WcoreError) -> None:
        """Tell the host of an error; the one place where an error becomes an event."""
        await self.complain(error.code, str(error), retryable=error.retryable)

    async def complain(self, code: Code, message: str, *, retryable: bool = False) -> None:
        text = self.secrets.strip(message)
        problem = events.Problem(code=code, message=text, retryable=retryable)
        await self.emit(events.Error(error=problem))

    def fits(self, event: events.Event) -> bool:
        """Whether `event` fits into a line, with room to be quoted by `list_pending`."""
        try:
            return len(codec.encode(event)) <= codec.LINE_BYTES_MAX - LINE_RESERVE_BYTES
        except codec.EventTooLargeError:
            return False

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes up to the ceiling."""
        return tuple(mode for mode in Mode if mode.rank <= self.settings.max_mode.rank)

    @property
    def offered(self) -> dict[str, Tool]:
        """The tools that the model may be shown, in order."""
        return {name: tool for name, tool in self.tools.items() if self.ruling.offers(name)}

    @property
    def can_ask(self) -> bool:
        """Whether a card can still be answered."""
        return self.settings.prompts and not self.host_gone

    def capabilities(self) -> events.Capabilities:
        """Return what `ready` and `config_changed` announce."""
        return events.Capabilities(
            thinking=self.model.thinks,
            effort=bool(self.model.effort_levels),
            effort_levels=self.model.effort_levels,
            modes=self.modes,
            current_mode=self.approvals.mode,
            mcp=False,
            hitl_suspend=self.settings.hitl_suspend or None,
            streaming_tools=True,
            call_announced=True,
            call_settled=True,
            edit_args=True,
            persist=True,
            introspection=True,
            prompts=self.settings.prompts or None,
            current_model=self.model.name,
        )

    # --- what may happen ----------------------------------------------------------------------

    async def study(self, prepared: Prepared) -> shell.Analysis | None:
        """Return what the shell text of a call says, read off the loop and within a deadline.

        Also brings the lasting grants up to date; both wait, and `judge` must not.
        """
        await self.refresh_grants()
        return None if prepared.command is None else await self.reader.analyse(prepared.command)

    async def refresh_grants(self) -> None:
        """Bring the lasting grants up to date; says once why they cannot be read."""
        problem = await self.keeper.refresh(self.grants)
        if problem:
            await self.info(problem)

    def judge(self, prepared: Prepared, analysis: shell.Analysis | None) -> tuple[Facts, Decision]:
        """Return the facts of a call and today's decision on it; `analysis` is from `study`."""
        facts = gather(prepared, analysis, self.settings.places)
        offered = frozenset(self.tools)
        standing = self.ruling.standing(self.approvals.mode, self.grants, offered)
        return facts, decide(facts, standing)

    def weigh_scope(
        self, scope: Scope, card: Card, facts: Facts | None = None
    ) -> Grant | ScopeRefused | None:
        """Return the grant that `scope` makes after a yes to `card`; `None` for once.

        `facts` are those of the edited call, where the host changed the arguments.
        """
        if isinstance(scope, Once):
            return None
        if isinstance(scope, AlwaysPath):
            scope = AlwaysPath(self._resolved(scope.root), scope.write)
        refused = self.ruling.refuses_grants(self.grants)
        if refused:
            return ScopeRefused(refused)
        verdict = weigh(scope, facts or card.facts, self.settings.places, self.grants)
        if isinstance(verdict, ScopeRefused):
            return verdict
        return Grant(
            grant_id=f"g-{random.token_hex(8)}",
            tool=card.prepared.tool,
            scope=AlwaysPrefix(verdict.text) if verdict else scope,
            created_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            from_call_id=card.request.call_id,
            prefix=verdict,
        )

    def suggestions(self, facts: Facts) -> list[Scope]:
        """Return narrow scopes that would cover this very call, each one grantable."""
        found: list[Scope] = []
        if self.ruling.refuses_grants(self.grants):
            return found
        if facts.analysis is not None:
            found += [AlwaysPrefix(text) for text in shell.suggest(facts.analysis)]
        outside = {path.path for path in facts.paths if not path.inside}
        if len(outside) == 1:
            found.append(AlwaysPath(posixpath.dirname(outside.pop())))
        places = self.settings.places
        kept = (
            s for s in found if not isinstance(weigh(s, facts, places, self.grants), ScopeRefused)
        )
        return list(kept)[: shell.SUGGESTIONS_MAX]

    def new_call_id(self, model_id: str) -> str:
        """Return the model's own id if it can serve, else a fresh one; unique in the session."""
        usable = 0 < len(model_id) <= ID_CHARS_MAX and model_id.isascii() and model_id.isprintable()
        call_id = model_id
        while not usable or " " in call_id or self.ledger.is_used(call_id):
            call_id, usable = f"call-{random.token_hex(6)}", True
        self.ledger.propose(call_id)
        return call_id

    def remember(self, msg_id: str, message: Message) -> None:
        """Append to the history."""
        self.history.append(Remembered(len(self.history), msg_id, message))

    def _resolved(self, root: str) -> str:
        home = self.settings.places.home
        root = home + root[1:] if root == "~" or root.startswith("~/") else root
        return posixpath.realpath(posixpath.join(self.settings.places.workspace, root))
