"""What holds in every conversation, whatever the case: judged event by event.

Each rule has a name; `protocol-spec/cases/invariants.toml` says in words what it means and which
requirements it belongs to.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from wcore.conformance.cases import CaseError
from wcore.conformance.json_object import JsonObject

TOOL_EVENTS: Final = frozenset({"tool_running", "tool_chunk", "tool_result", "tool_cancelled"})
TERMINALS: Final = frozenset({"tool_result", "tool_cancelled"})
OF_A_TURN: Final = TOOL_EVENTS | {
    *("text_delta", "thinking", "tool_request", "call_announced", "call_settled"),
}
SUSPENDS: Final = frozenset({"approval_required", "suspend", "approval_resume"})
OWNED: Final = {  # events that need a flag
    **dict.fromkeys(SUSPENDS, "hitl_suspend"),
    "call_announced": "call_announced",
    "call_settled": "call_settled",
    "tool_chunk": "streaming_tools",
    "sub_agent_event": "sub_agent_traces",
    "session_cost": "cost_attribution",
    "command_result": "introspection",
}
BASE_FLAGS: Final = ("tool_approval", "thinking", "effort", "mcp")


class ViolationError(Exception):
    """An invariant does not hold."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


@dataclass(slots=True)
class TrackedCall:
    """One call, as far as the host has heard of it."""

    msg_id: str
    name: str
    asked: bool
    approved: bool = False
    settled: int = 0
    running: bool = False
    ended: str = ""


@dataclass(slots=True)
class InvariantChecker:
    """Follows one engine process. `hear` and `said` raise `ViolationError`."""

    secret: str
    shapes: Mapping[str, Mapping[str, str]]
    ready: JsonObject | None = None
    refused: bool = False
    turn: str | None = None
    turns: set[str] = field(default_factory=set[str])
    calls: dict[str, TrackedCall] = field(default_factory=dict[str, TrackedCall])
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    echoed: set[str] = field(default_factory=set[str])
    pings: int = 0
    granted: bool = False  # a yes was given that reaches further than its card
    usage: JsonObject = field(default_factory=dict[str, Any])

    def said(self, command: JsonObject) -> None:
        """Note a command that is about to be sent."""
        match command:
            case {"type": "ping"}:
                self.pings += 1
            case {"type": "tool_approve", "call_id": str(call_id)} if call_id in self.calls:
                self.calls[call_id].approved = True
                self.granted = self.granted or command.get("scope", "once") != "once"
            case {"type": "approval_resume", "approved": True, "resume_token": str(token)}:
                call = self.calls.get(self.tokens.get(token, ""))
                if call is not None:
                    call.approved = True
            case _:
                pass

    def hear(self, event: JsonObject, line: bytes) -> None:
        """Check one event."""
        if self.secret.encode() in line:
            raise ViolationError("no-key", "the provider's key is in an event")
        self._check_shape(event)
        kind = event["type"]
        if (flag := OWNED.get(kind)) and not self.flag(flag):
            raise ViolationError("flags", f"{kind} comes, and the flag {flag} was not announced")
        if self.ready is None:
            self._begin(event)
            return
        if kind == "ready":
            raise ViolationError("ready-first", "ready comes twice")
        if kind == "pong":
            self.pings -= 1
            if self.pings < 0:
                raise ViolationError("one-pong", "a pong that no ping asked for")
        elif kind in ("stream_start", "stream_end"):
            self._turn(event)
        elif kind in OF_A_TURN:
            self._of_a_turn(event)
        elif kind in SUSPENDS:
            self._suspend(event)

    def over(self) -> None:
        """Check the whole, after the engine has ended by itself."""
        if self.ready is None and not self.refused:
            raise ViolationError("ready-first", "stdout ends without ready and without error")
        if self.turn is not None:
            raise ViolationError("one-end", f"turn {self.turn!r} has no stream_end")

    def flag(self, name: str) -> bool:
        """Whether a capability was announced."""
        capabilities = (self.ready or {}).get("capabilities")
        return isinstance(capabilities, dict) and bool(cast("JsonObject", capabilities).get(name))

    def is_repeated(self, event: JsonObject) -> bool:
        """Whether this is a sign of life of a call that runs already."""
        call = self.calls.get(str(event.get("call_id")))
        return event["type"] == "tool_running" and call is not None and call.running

    def _begin(self, event: JsonObject) -> None:
        if event["type"] == "error" and not self.refused:
            self.refused = True
        elif event["type"] != "ready" or self.refused:
            raise ViolationError("ready-first", f"{event['type']} comes before ready")
        else:
            self.ready = event
            _check_flags(cast("JsonObject", event["capabilities"]))

    def _check_shape(self, event: JsonObject) -> None:
        if None in event.values():
            raise ViolationError("no-null", f"a null stands for an absent field in {event['type']}")
        for field_name, kind in self.shapes.get(event["type"], {}).items():
            name, optional, flag = field_name.partition("?")
            if name not in event:
                if not optional or (flag and self.flag(flag)):
                    raise ViolationError("shape", f"{event['type']} has no {name}")
            elif not _KINDS[kind](event[name]):
                raise ViolationError("shape", f"{name} of {event['type']} is no {kind}")
        if event["type"] == "error" and "msg_id" in event:
            raise ViolationError("error-shape", "an error carries msg_id")

    def _turn(self, event: JsonObject) -> None:
        msg_id = event["msg_id"]
        if event["type"] == "stream_start":
            if self.turn is not None:
                raise ViolationError("one-turn", f"{msg_id!r} starts while {self.turn!r} runs")
            if msg_id in self.turns:
                raise ViolationError("one-end", f"turn {msg_id!r} starts twice")
            self.turns.add(msg_id)
            self.turn = msg_id
            return
        if msg_id != self.turn:
            raise ViolationError("one-end", f"stream_end of {msg_id!r}, which does not run")
        for call_id, call in self.calls.items():
            if not call.ended:
                raise ViolationError("one-terminal", f"the turn ends, call {call_id!r} has no end")
            if call.asked and self.flag("call_settled") and call.settled != 1:
                raise ViolationError("one-settled", f"call {call_id!r} was asked and not settled")
        if missing := set(self.tokens) - self.echoed:
            raise ViolationError("one-echo", f"{len(missing)} suspended calls have no echo")
        self.turn = None
        self._count(cast("JsonObject", event.get("usage") or {}))

    def _count(self, usage: JsonObject) -> None:
        for name, amount in usage.items():
            if isinstance(amount, int) and amount < self.usage.get(name, 0):
                raise ViolationError("usage", f"usage.{name} decreases")
        self.usage = {**self.usage, **usage}

    def _of_a_turn(self, event: JsonObject) -> None:
        kind = event["type"]
        if event["msg_id"] != self.turn:
            said = f"{kind} has msg_id {event['msg_id']!r}, the turn is {self.turn!r}"
            raise ViolationError("one-turn", said)
        if kind in ("tool_request", "call_announced"):
            self._announce(event)
        elif "call_id" in event:
            self._call(kind, event)

    def _announce(self, event: JsonObject) -> None:
        call_id = event["call_id"]
        if call_id in self.calls:
            raise ViolationError("announced-once", f"call {call_id!r} is announced twice")
        tool = cast("JsonObject", event["tool"])
        for name in ("name", "category", "description"):
            if not isinstance(tool.get(name), str):
                raise ViolationError("shape", f"tool.{name} of {event['type']} is no string")
        if not isinstance(tool.get("args"), dict):
            raise ViolationError("shape", f"tool.args of {event['type']} is no object")
        asked = event["type"] == "tool_request"
        self.calls[call_id] = TrackedCall(event["msg_id"], tool["name"], asked=asked)

    def _call(self, kind: str, event: JsonObject) -> None:
        call_id = event["call_id"]
        call = self.calls.get(call_id)
        if call is None:
            if self.flag("call_announced") or kind == "call_settled":
                raise ViolationError("announced-first", f"{kind} of {call_id!r}, never announced")
            call = TrackedCall(event["msg_id"], event.get("tool_name", ""), asked=False)
            self.calls[call_id] = call
        if call.ended:
            said = f"{kind} of {call_id!r} after its {call.ended}"
            raise ViolationError("one-terminal", said)
        if "tool_name" in event and event["tool_name"] != call.name:
            raise ViolationError("announced-first", f"{kind} of {call_id!r} has another tool_name")
        if kind == "call_settled":
            self._settle(call_id, call)
            let_go = event.get("outcome") == "approved" and event.get("by") == "policy"
            call.approved = call.approved or (let_go and self.granted)
        if kind in ("tool_running", "tool_chunk", "tool_result") and call.asked:
            self._permitted(kind, call_id, call)
        call.running = call.running or kind == "tool_running"
        call.ended = kind if kind in TERMINALS else ""

    def _settle(self, call_id: str, call: TrackedCall) -> None:
        call.settled += 1
        if not call.asked or call.settled > 1:
            raise ViolationError("one-settled", f"call_settled of {call_id!r} is one too many")

    def _permitted(self, kind: str, call_id: str, call: TrackedCall) -> None:
        if not call.approved:
            raise ViolationError("asks-first", f"{kind} of {call_id!r}, which was not approved")
        if self.flag("call_settled") and not call.settled:
            raise ViolationError("order", f"{kind} of {call_id!r} before its call_settled")

    def _suspend(self, event: JsonObject) -> None:
        token = event["resume_token"]
        kind = event["type"]
        if kind == "approval_required":
            if token in self.tokens or token == event["call_id"] or not token:
                raise ViolationError("one-echo", "resume_token is empty, known or the call_id")
            self.tokens[token] = event["call_id"]
        elif token not in self.tokens:
            raise ViolationError("one-echo", f"{kind} of a token that was never given out")
        elif kind == "approval_resume":
            if token in self.echoed:
                raise ViolationError("one-echo", "approval_resume is echoed twice")
            self.echoed.add(token)


def _check_flags(capabilities: JsonObject) -> None:
    for name in BASE_FLAGS:
        if not isinstance(capabilities.get(name), bool):
            raise ViolationError("capabilities", f"capabilities.{name} is no bool")
    modes = capabilities.get("modes")
    if not isinstance(modes, list) or not isinstance(capabilities.get("effort_levels"), list):
        raise ViolationError("capabilities", "modes and effort_levels are no arrays")
    if capabilities.get("current_mode") not in modes:
        raise ViolationError("capabilities", "current_mode is none of modes")


CODES: Final = frozenset(
    "protocol_error busy refused not_supported init_failed config_error auth_required auth_invalid"
    " provider_error context_overflow internal_error".split()
)


def _is_problem(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    problem = cast("JsonObject", value)
    return (
        problem.get("code") in CODES
        and isinstance(problem.get("message"), str)
        and isinstance(problem.get("retryable"), bool)
    )


_KINDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "id": lambda value: isinstance(value, str) and 1 <= len(value) <= 128,
    "bool": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "count": lambda value: isinstance(value, int) and value >= 0,
    "status": lambda value: value in ("success", "error"),
    "finish": lambda value: value in ("stop", "length", "error", "max_turns"),
    "output": lambda value: value in ("text", "diff", "image"),
    "outcome": lambda value: value in ("approved", "denied", "expired", "cancelled"),
    "by": lambda value: value in ("user", "timeout", "host_gone", "stop", "signal", "policy"),
    "problem": _is_problem,
}


@dataclass(frozen=True, slots=True)
class Invariants:
    """The rules of every conversation: which requirements each belongs to, and event shapes."""

    requires: Mapping[str, tuple[str, ...]]
    shapes: Mapping[str, Mapping[str, str]]

    @classmethod
    def load(cls, place: Path) -> "Invariants":
        """Read `invariants.toml`.

        Raises:
            CaseError: it cannot be read.
        """
        try:
            table = tomllib.loads((place / "invariants.toml").read_text())
            rules = {rule["id"]: tuple(rule["requires"]) for rule in table["invariant"]}
            return cls(rules, table["shapes"])
        except (OSError, ValueError, KeyError) as error:
            raise CaseError(f"invariants.toml: {error}") from None
