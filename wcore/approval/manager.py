"""Parked calls: one entry a call, answered exactly once, never later than its deadline.

An entry is registered before the host is told about it, so an answer can never come too early.
Every ending goes through `_settle`: the host's answer, expiry, stop, a signal, a host that went
away. Expiry is judged by the clock when an answer arrives, not only when the reaper sweeps.
"""

import logging
import math
import secrets
import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import anyio
from msgspec import Struct, field

from wcore.approval.table import Ledger, Move, UnknownCallError
from wcore.policy import shell
from wcore.policy.facts import Studied
from wcore.policy.grants import Grant, GrantBook
from wcore.vocabulary import Always, By, Category, Decision, Mode

DEFAULT_APPROVAL_TTL: Final = 300.0  # seconds; the protocol family's own five minutes
DEFAULT_REAP_INTERVAL: Final = 30.0  # seconds between sweeps when no deadline is nearer
PENDING_MAX: Final = 1024  # more cards than a host can show; further calls are refused
TOKEN_BYTES: Final = 16  # 128 random bits cannot be guessed

REASON_TIMEOUT: Final = "approval timed out (no host response)"
REASON_BUG: Final = "internal error"

log = logging.getLogger("wcore.approval")


#: Seconds that only grow, also while the machine sleeps (where the system counts so): an answer
#: after a night with the lid closed is as late as any other.
seconds_with_sleep: Final = partial(
    time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)


class Approved(Struct, frozen=True):
    """Yes. `answer` is a person's answer to a question; `edited` is the call as changed.

    `always`: the yes was for every call of the tool's name. `decision` is there where nobody was
    needed any more.
    """

    answer: str | None = None
    edited: Studied | None = None
    always: bool = False
    by: By = By.USER
    decision: Decision | None = None


class Denied(Struct, frozen=True):
    """No, with the reason that host and model are told."""

    reason: str
    by: By = By.USER


ApprovalResult: TypeAlias = Approved | Denied

_DENIALS: Final = {By.TIMEOUT: Move.EXPIRE, By.USER: Move.DENY, By.POLICY: Move.DENY}


class Pending(Struct):
    """One parked call. Await it for its result; leaving early marks it for the reaper."""

    call_id: str
    category: Category
    tool_name: str
    deadline: float
    resume_token: str | None
    result: ApprovalResult | None = None
    editing: bool = False  # new arguments are being prepared; a second approve must wait
    abandoned: bool = False
    done: anyio.Event = field(default_factory=anyio.Event)  # set by the manager alone

    def __await__(self) -> Generator[Any, Any, ApprovalResult]:
        return self.wait().__await__()

    async def wait(self) -> ApprovalResult:
        """Park until the call is resolved. Cancelling abandons the call; the reaper denies it."""
        try:
            await self.done.wait()
        except BaseException:
            self.abandoned = self.result is None
            raise
        assert self.result is not None
        return self.result


class ApprovalManager:
    """Holds the parked calls, the session mode and the grants that spare questions.

    `clock` returns seconds that only grow; tests hand in their own.
    """

    def __init__(
        self,
        ledger: Ledger,
        grants: GrantBook,
        *,
        ttl_s: float = DEFAULT_APPROVAL_TTL,
        clock: Callable[[], float] = seconds_with_sleep,
    ) -> None:
        self.mode = Mode.DEFAULT
        self.grants = grants
        self._ledger = ledger
        self.ttl_s = ttl_s  # of questions to come
        self._clock = clock
        self._pending: dict[str, Pending] = {}
        self._by_token: dict[str, str] = {}
        self.grants_grew = anyio.Event()  # until it is told once more
        self._deadline_moved = anyio.Event()
        self._sweeps_at = math.inf

    def limit_ttl(self, ttl_s: float) -> None:
        """Let later questions expire after `ttl_s` seconds, if that is sooner."""
        self.ttl_s = min(self.ttl_s, ttl_s)

    def request_approval(
        self, call_id: str, category: Category, tool_name: str, *, suspend: bool = False
    ) -> Pending:
        """Park a proposed call and return what to await. Register first, then tell the host.

        With `suspend` the entry also has a public resume token, unrelated to anything else.

        Raises:
            UnknownCallError: the call is not in a state that can be asked.
        """
        self._ledger.move(call_id, Move.ASK)
        token = f"rt-{secrets.token_hex(TOKEN_BYTES)}" if suspend else None
        entry = Pending(call_id, category, tool_name, self._clock() + self.ttl_s, token)
        self._pending[call_id] = entry
        if token:
            self._by_token[token] = call_id
        if entry.deadline < self._sweeps_at:
            self._deadline_moved.set()
        return entry

    def approve(
        self,
        call_id: str,
        grants: Sequence[Grant] = (),
        answer: str | None = None,
        edited: Studied | None = None,
    ) -> None:
        """Resolve with yes and keep `grants`, which were weighed for this very call.

        `edited` is the call with the arguments the host changed.

        Raises:
            UnknownCallError: nothing waits under `call_id`; nothing was granted.
        """
        always = any(isinstance(grant.scope, Always) for grant in grants)
        self.resolve(call_id, Approved(answer, edited, always))
        for grant in grants:
            self.grants.add(grant)

    def tell_of_grants(self) -> None:
        """Let every parked call look whether a grant covers it now."""
        grew, self.grants_grew = self.grants_grew, anyio.Event()
        grew.set()

    def resolve(self, call_id: str, result: ApprovalResult) -> None:
        """Make the one transition out of waiting.

        Raises:
            UnknownCallError: never asked, answered already, or expired (then it is expired now).
        """
        entry = self.pending(call_id)
        if entry is None:
            raise UnknownCallError(call_id)
        self._settle(entry, result)

    def try_resolve(self, call_id: str, result: ApprovalResult) -> bool:
        """Resolve for a host: false for an unknown, answered or expired call, never an error."""
        try:
            self.resolve(call_id, result)
        except UnknownCallError:
            return False
        return True

    def resolve_all(self, reason: str, by: By) -> int:
        """Deny everything that waits, oldest first; return how many."""
        entries = list(self._pending.values())
        for entry in entries:
            self._settle(entry, Denied(reason, by))
        return len(entries)

    def reap_now(self) -> int:
        """Deny what has expired or was abandoned; return how many."""
        gone = [
            entry
            for entry in self._pending.values()
            if entry.abandoned or self.check_expired(entry)
        ]
        for entry in gone:
            try:
                self._settle(entry, Denied(REASON_TIMEOUT, By.TIMEOUT))
            except UnknownCallError:
                log.exception("entry.unknown")
        return len(gone)

    async def run_reaper(self, interval_s: float = DEFAULT_REAP_INTERVAL) -> None:
        """Sweep for ever: at every deadline, and at least every `interval_s` seconds.

        A failing sweep is logged and the next one comes. Run it in a task group.
        """
        sleep_s = 0.0
        while True:
            self._deadline_moved = anyio.Event()
            with anyio.move_on_after(sleep_s):
                await self._deadline_moved.wait()
            try:
                self.reap_now()
                sleep_s = self._sleep_s(interval_s)
                self._sweeps_at = self._clock() + sleep_s
            except Exception:
                log.exception("sweep.failed")
                sleep_s = interval_s

    def is_auto_approved_cmd(self, tool_name: str, analysis: shell.Analysis) -> bool:
        """Whether prefix grants of this very tool cover the analysed command."""
        parsed = [grant.prefix for grant in self.grants.prefixes(tool_name) if grant.prefix]
        return bool(parsed) and shell.matches(analysis, parsed).covered

    def is_tool_name_auto_approved(self, tool_name: str) -> bool:
        """Whether the tool's name was granted with `always`."""
        return self.grants.by_name(tool_name) is not None

    def set_mode(self, mode: Mode) -> None:
        """Change the mode for later calls; parked calls stay parked."""
        self.mode = mode

    def pending(self, call_id: str) -> Pending | None:
        """Return a waiting call; one past its deadline is expired here and now."""
        entry = self._pending.get(call_id)
        if entry is not None and self.check_expired(entry):
            self._settle(entry, Denied(REASON_TIMEOUT, By.TIMEOUT))
            return None
        return entry

    def call_of_token(self, token: str) -> str | None:
        """Return the call that a live resume token stands for."""
        return self._by_token.get(token)

    def check_expired(self, entry: Pending) -> bool:
        """Whether the time of a call is over."""
        return self._clock() >= entry.deadline

    def expires_in_s(self, entry: Pending) -> int:
        """Return the whole seconds left, for the wire."""
        return max(0, round(entry.deadline - self._clock()))

    def __len__(self) -> int:
        return len(self._pending)

    def _settle(self, entry: Pending, result: ApprovalResult) -> None:
        del self._pending[entry.call_id]
        if entry.resume_token:
            del self._by_token[entry.resume_token]
        try:
            self._ledger.move(entry.call_id, move_of(result))
        except UnknownCallError:  # a bug of ours: whoever waits must not run, nor wait for ever
            result = Denied(REASON_BUG, By.POLICY)
            raise
        finally:
            entry.result = result
            entry.done.set()

    def _sleep_s(self, interval_s: float) -> float:
        live = (e.deadline for e in self._pending.values())
        nearest = min(live, default=self._clock() + interval_s)
        return min(interval_s, max(0.0, nearest - self._clock()))


def move_of(result: ApprovalResult) -> Move:
    """Return the move out of waiting that a result stands for; stop and the like cancel."""
    match result:
        case Approved():
            return Move.APPROVE
        case Denied(by=by):
            return _DENIALS.get(by, Move.CANCEL)
