"""The state of a conversation: mode, grants, calls that wait, history, and events to the host.

The engine's handlers and the turn share one `Session`; a sub-agent has one of its own that shares
grants, calls that wait and secrets with its parent's. `decide` tells what may happen to a prepared
call, for example `Decision(Verdict.ASK, Why(Row.DEFAULT, …))`; `emit(events.Pong())` queues a line.
"""

import os
import posixpath
import secrets as random
from typing import TYPE_CHECKING, Final, Protocol

from anyio import to_thread
from anyio.lowlevel import checkpoint
from msgspec import Struct
from msgspec.structs import replace

from wcore import times
from wcore.approval.locks import PathLocks
from wcore.approval.manager import ApprovalManager
from wcore.approval.table import Ledger
from wcore.errors import Code, WcoreError
from wcore.models.model import Model, ThinkingSettings
from wcore.persistence.persistence import SessionPersistence
from wcore.persistence.restore import OpenTurn, Restored
from wcore.policy import shell
from wcore.policy.decide import DecisionContext
from wcore.policy.exact_grants import EXACT_CHARS_MAX, UNTIED
from wcore.policy.facts import Facts, Studied, gather
from wcore.policy.grants import Grant, GrantBook, ScopeRefused, grants_of, validate_scope
from wcore.policy.inheritance import Situation, decide_strictest, situations
from wcore.policy.rules.rule import SHELL_TOOL
from wcore.policy.suggestions import offered_by_all, suggest
from wcore.policy_files.session_policy import SessionPolicy
from wcore.policy_files.snapshot import PolicySnapshot
from wcore.protocol import codec, events
from wcore.protocol.nesting import nested
from wcore.session.history import History
from wcore.session.known_files import KnownFiles
from wcore.session.settings import Settings
from wcore.tools import ties
from wcore.tools.tool import Tool
from wcore.vocabulary import (
    ID_CHARS_MAX,
    MODE_ALIASES,
    AlwaysHost,
    AlwaysPath,
    Args,
    Decision,
    Message,
    Mode,
    Offer,
    Once,
    Prepared,
    Row,
    Scope,
    ToolMessage,
    Usage,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LINE_RESERVE_BYTES: Final = 4096  # a request must also fit into `list_pending`'s answer


class SecondAnalysis(Protocol):
    """Confirms shell text off the loop, in a deadline; see `wcore.shell_worker.ShellWorker`."""

    async def confirm(self, analysis: shell.Analysis) -> shell.Analysis: ...


class EventWriter(Protocol):
    """The way out to the host; see `wcore.stdio.StdoutWriter`."""

    def put_nowait(self, line: bytes) -> None: ...
    async def send(self, line: bytes) -> None: ...
    async def run(self) -> None: ...
    async def flush(self) -> None: ...


class Card(Struct, frozen=True):
    """A parked call as the host was shown it."""

    request: events.ToolRequest
    prepared: Prepared
    facts: Facts
    owner: "Session"  # of the agent that made the call
    tool: Tool


class Session:
    """One conversation with one host."""

    def __init__(
        self,
        settings: Settings,
        writer: EventWriter,
        model: Model,
        second_analysis: SecondAnalysis,
        persistence: SessionPersistence,
        policy: SessionPolicy,
    ) -> None:
        self.settings = settings
        self.tools = dict[str, Tool]()  # agents share it: the engine and MCP servers fill it
        self.model = model
        self.thinking_settings = ThinkingSettings()
        self.ledger = Ledger()
        self.grants = GrantBook()
        self.journal = persistence.journal
        self.approvals = ApprovalManager(self.ledger, self.grants, ttl_s=settings.approval_ttl_s)
        self.approvals.set_mode(settings.mode)
        self._mode_name = settings.mode_name
        self.secrets = persistence.journal.secrets
        self.locks = PathLocks()
        self.cards: dict[str, Card] = {}
        self.history = History()
        self.known_files = KnownFiles()
        self.usage = Usage()
        self.context_tokens = 0  # of the model's window, after the last reply of this agent
        self.interrupted: OpenTurn | None = None  # a turn that an earlier engine did not end
        self._host_gone = False
        self.parent: Session | None = None
        self.agent: tuple[str, ...] = ()  # the names from the main agent down to this one
        self.agent_digest: str | None = None
        self.tool_allowlist: frozenset[str] | None = None  # of the tools that there are; all
        self.parent_call_id = ""  # the call that this agent works for
        self.task = ""  # how what it works on begins, on one line
        self.last_error = ""
        self._writer = writer
        self._second_analysis = second_analysis
        self.persistence = persistence
        self.policy = policy
        self.told_of_tools: set[str] = set()  # what people were told about tools of servers
        self.before_turn: Callable[[], Awaitable[None]] = checkpoint
        self.notices: tuple[str, ...] = ()  # for the host, right after `ready`
        self.ceiling_lowered = False  # the mode fell with it; the host is told after the turn

    # --- what the host is told ----------------------------------------------------------------

    async def emit(self, event: events.Event | bytes) -> None:
        """Send one event, or the line that `fits` made of it; waits while the host does not read.

        Raises:
            EventTooLargeError: the line would pass the cap; nothing was sent.
            HostGoneError: the host has closed our stdout.
        """
        await self._writer.send(event if isinstance(event, bytes) else self._line_of(event))

    def emit_nowait(self, event: events.Event | bytes) -> None:
        """Queue one event of a group that must not be torn apart."""
        self._writer.put_nowait(event if isinstance(event, bytes) else self._line_of(event))

    def fits(self, event: events.Event) -> bytes | None:
        """Return the line of `event`, with room to be quoted by `list_pending`, or `None`."""
        try:
            line = self._line_of(event)
        except codec.EventTooLargeError:
            return None
        return line if len(line) <= codec.LINE_BYTES_MAX - LINE_RESERVE_BYTES else None

    def _line_of(self, event: events.Event) -> bytes:
        if self.agent:
            event = nested(event, self.agent, self.parent_call_id)
        return codec.encode(event)

    async def emit_info(self, message: str, msg_id: str = "", digest: str | None = None) -> None:
        text = self.secrets.redact(message)
        await self.emit(events.Info(msg_id=msg_id, message=text, digest=digest))

    async def emit_exception(self, error: WcoreError) -> None:
        """Tell the host of an error; the one place where an error becomes an event."""
        await self.emit_error(error.code, str(error), retryable=error.retryable)

    async def emit_error(
        self, code: Code, message: str, *, retryable: bool = False, mcp_server: str | None = None
    ) -> None:
        self.last_error = text = self.secrets.redact(message)
        problem = events.Problem(
            code=code, message=text, retryable=retryable, mcp_server=mcp_server
        )
        await self.emit(events.Error(error=problem))

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes up to the ceiling; two of them are of use in a sandbox only."""
        ceiling, current = self.settings.max_mode.rank, self.approvals.mode
        idle = set[Mode]() if self.settings.is_sandboxed else {Mode.PLAN, Mode.AUTO_RUN} - {current}
        return tuple(mode for mode in Mode if mode.rank <= ceiling and mode not in idle)

    @property
    def mode_name(self) -> str:
        """The mode by the name that the host gave it, as long as that is the mode."""
        mode = self.approvals.mode
        return self._mode_name if MODE_ALIASES.get(self._mode_name) is mode else mode.value

    @mode_name.setter
    def mode_name(self, name: str) -> None:
        self._mode_name = name

    @property
    def mode_names(self) -> tuple[str, ...]:
        """The names of `modes`, and behind its own the one that the host gave the mode."""
        names = [mode.value for mode in self.modes]
        if self.mode_name not in names:
            names.insert(names.index(self.approvals.mode) + 1, self.mode_name)
        return tuple(names)

    @property
    def offered_tools(self) -> dict[str, Tool]:
        """The tools that the model may be shown, in order."""
        names = self.available_tools
        if self.parent is not None:
            names &= self.parent.offered_tools.keys()
        return {n: self.tools[n] for n in self.policy.offered(n for n in self.tools if n in names)}

    @property
    def available_tools(self) -> frozenset[str]:
        """The tools that may be offered at all, before rules and tiers."""
        known = frozenset(self.tools)
        return known if self.tool_allowlist is None else known & self.tool_allowlist

    @property
    def host_gone(self) -> bool:
        """Whether the host has closed our stdin: from then on nobody can be asked."""
        return self._host_gone if self.parent is None else self.parent.host_gone

    @host_gone.setter
    def host_gone(self, gone: bool) -> None:
        self._host_gone = gone

    @property
    def can_ask(self) -> bool:
        """Whether a card can still be answered."""
        return self.settings.prompts and not self.host_gone

    # --- what may happen ----------------------------------------------------------------------

    async def prepare(self, tool: Tool, args: Args) -> Studied:
        """Return the prepared call, by the rules as they are now.

        Raises:
            ToolError: it cannot be made, or would replace what this agent has not seen.
            BrokenRulesError: the rules cannot be had.
        """
        if tool.spec.name != SHELL_TOOL:  # which looks at nothing before `look`
            await self.policy.reread()
        prepared = await tool.prepare(args)
        self.known_files.require(prepared)
        return await self.look(prepared)

    async def look(self, prepared: Prepared) -> Studied:
        """Return a call with what its shell text says and leads to; that reads the rules again."""
        if prepared.command is None:
            return Studied(prepared, gather(prepared, None, self.settings.places))
        rules, studied = await to_thread.run_sync(self._looked, prepared, prepared.command)
        self.policy.take(rules)
        return studied

    async def decide(self, looked: Studied) -> tuple[Studied, Decision]:
        """Return today's decision on a call; its shell text is confirmed if it may run unasked.

        Also brings the lasting grants up to date. Nothing is to be awaited behind this.
        """
        await self.refresh_grants()
        decision = self._decided(looked.facts)
        if looked.analysis is None or decision.verdict is not Verdict.ALLOW:
            return looked, decision
        analysis = await self._second_analysis.confirm(looked.analysis)
        studied = looked
        if analysis is not looked.analysis:
            studied = await to_thread.run_sync(self._studied, looked.prepared, analysis)
        return studied, self._decided(studied.facts)

    def _looked(self, prepared: Prepared, text: str) -> tuple[PolicySnapshot, Studied]:
        """Look at the disk and read the text: one way to a thread for all that may take long."""
        return self.policy.look(), self._studied(prepared.looked_up(), shell.lex(text))

    def _studied(self, prepared: Prepared, analysis: shell.Analysis) -> Studied:
        facts = gather(prepared, analysis, self.settings.places, self._ties(analysis))
        _ = facts.seen  # read here, for whoever decides on the loop
        return Studied(prepared, facts, analysis)

    def _ties(self, analysis: shell.Analysis) -> str | None:
        """Return what a yes to a text would be tied to, as it is on the disk now."""
        mentions = None
        if len(analysis.text) <= EXACT_CHARS_MAX:
            mentions = shell.mentions_of(analysis)
        if not mentions:
            return UNTIED if mentions is None else None
        places = self.settings.places
        return ties.look(places.workspace, places.home, mentions.run, mentions.named)

    async def refresh_grants(self) -> None:
        """Bring the lasting grants up to date; tell why they cannot be read, or what waits."""
        rules = self.policy.rules if self.parent is None else None  # only the main agent tells
        for text, digest in await self.persistence.refresh(self.grants, rules):
            await self.emit_info(text, digest=digest)

    def denial(self, studied: Studied, found: Prepared) -> str | None:
        """Return why the rules, not the mode, deny a call now, as the tool has `found` it."""
        facts = gather(found, studied.analysis, self.settings.places, studied.facts.ties)
        decision = self._decided(facts)
        is_denied = decision.verdict is Verdict.DENY and decision.why.row is not Row.MODE
        return decision.why.detail if is_denied else None

    def _decided(self, facts: Facts) -> Decision:
        return decide_strictest(facts, self._situations())

    def _decision_contexts(self) -> tuple[DecisionContext, ...]:
        grants = self.grants.of_agent(self.policy.agent, self.agent_digest)
        return self.policy.decision_contexts(self.approvals.mode, grants, self.available_tools)

    def _situations(self) -> list[Situation]:
        chain = [self._decision_contexts()]
        above = self.parent
        while above is not None:
            mode, offered = above.approvals.mode, above.available_tools
            chain.append(above.policy.ancestor_contexts(mode, offered))
            above = above.parent
        return situations(chain)

    def grant_for(
        self, scope: Scope, card: Card, edited: Studied | None = None
    ) -> tuple[Grant, ...] | ScopeRefused:
        """Return the grants that `scope` makes after a yes to `card`; none for once.

        `edited` is the call as the host changed it.
        """
        if isinstance(scope, Once):
            return ()
        if isinstance(scope, AlwaysPath):
            scope = AlwaysPath(self.resolved(scope.root), scope.write)
        facts = edited.facts if edited else card.facts
        verdict = validate_scope(scope, facts, self.settings.places, self.grants)
        if isinstance(verdict, ScopeRefused):
            return verdict
        grants = grants_of(scope, verdict, facts)
        if refused := self.policy.refuses_grants(self.grants, len(grants)):
            return ScopeRefused(refused)
        created_at = times.now()
        return tuple(
            replace(
                grant,
                grant_id=new_id("g-", 16),
                created_at=created_at,
                from_call_id=card.request.call_id,
                agent=self.policy.agent,
                agent_digest=self.agent_digest,
            )
            for grant in grants
        )

    @property
    def agreed_hosts(self) -> list[str]:
        """The hosts that a person has agreed to for every command of the session."""
        return [grant.scope.host for grant in self.grants if isinstance(grant.scope, AlwaysHost)]

    def suggestions(self, facts: Facts) -> list[Offer]:
        """Return narrow scopes that would have spared this very question, each one grantable."""
        if self.policy.refuses_grants(self.grants):
            return []
        places = self.settings.places
        found = [suggest(facts, each.own, places, each.above) for each in self._situations()]
        return offered_by_all(found, facts)

    def new_call_id(self, model_id: str) -> str:
        """Return the model's own id if it can serve, else a fresh one; unique in the session."""
        usable = 0 < len(model_id) <= ID_CHARS_MAX and model_id.isascii() and model_id.isprintable()
        call_id = model_id
        while not usable or " " in call_id or self.ledger.is_used(call_id):
            call_id, usable = new_id("call-", 12), True
        self.ledger.propose(call_id)
        return call_id

    def append_history(self, msg_id: str, message: Message) -> None:
        """Append to the history; what it tells of files is known from now on."""
        self.history.add(msg_id, message)
        if isinstance(message, ToolMessage):
            self.known_files.learn(message.output.content)

    def restore(self, restored: Restored) -> None:
        """Be the conversation that an earlier engine left; mode and session grants are not."""
        for msg_id, message in restored.history:
            self.append_history(msg_id, message)
        self.usage, self.context_tokens = restored.usage, restored.context_tokens
        self.ledger.retire(restored.call_ids)
        self.interrupted = restored.interrupted

    def resolved(self, root: str) -> str:
        """Return where the root of a folder grant really is."""
        home = self.settings.places.home
        root = home + root[1:] if root == "~" or root.startswith("~/") else root
        return os.path.realpath(posixpath.join(self.settings.places.workspace, root))


def new_id(prefix: str, digits: int) -> str:
    """Return a fresh id: `prefix` and random hexadecimal digits."""
    return prefix + random.token_hex(digits // 2)
