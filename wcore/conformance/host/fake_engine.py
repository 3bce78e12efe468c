"""An engine that is allowed everything the protocol allows: what a host must live with.

It writes what it saw to a report, a JSON line each. Only the standard library: it must start fast.
"""

import json
import os
import select
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias, cast

JsonObject: TypeAlias = dict[str, Any]

ANSWER_S: Final = 30.0  # for a host to answer a card; a program needs milliseconds
LATE_S: Final = 1.0  # an answer so long after the end of its card was no race
MODES: Final = ("default", "auto_edit", "force")
OURS: Final = ("call_announced", "call_settled", "edit_args", "persist", "introspection", "prompts")


class Engine:
    """The engine's side of the wire, and the report about the host."""

    def __init__(self, report: Path, slack: float) -> None:
        self._slack = slack  # multiplies every time limit
        self._report = report.open("a", encoding="utf-8")
        self._rest = b""
        self._lines: list[bytes] = []
        self.msg_id = ""
        self._msg_ids: set[str] = set()
        self._open: dict[str, JsonObject] = {}  # cards by call_id
        self._closed: dict[str, float] = {}
        self.input_ended = False

    def note(self, kind: str, text: str = "") -> None:
        """Report something: `wrong` is what the host must not do."""
        self._report.write(json.dumps({"kind": kind, "text": text}) + "\n")
        self._report.flush()

    # --- out ----------------------------------------------------------------------------------

    def say(self, **event: object) -> None:
        """Send one event."""
        self.say_bytes(json.dumps(event, ensure_ascii=False).encode() + b"\n")

    def say_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            self.note("wrong", "the host closed the engine's stdout before the turn was over")
            os._exit(1)

    def ready(self, flags: tuple[str, ...] = OURS, **more: object) -> None:
        """Be ready, with these flags."""
        base: JsonObject = {"tool_approval": True, "thinking": True, "effort": False, "mcp": False}
        lists: JsonObject = {"effort_levels": [], "modes": MODES, "current_mode": "default"}
        capabilities = {**base, **lists, **dict.fromkeys(flags, True), **more}
        self.say(type="ready", version="9", session_id="s", capabilities=capabilities)

    def ask(self, call_id: str, **more: object) -> None:
        """Send a card for a command."""
        args = {"command": f"echo {call_id}"}
        tool = {"name": "Bash", "category": "exec", "args": args, "description": "Execute: echo"}
        base: JsonObject = {"type": "tool_request", "msg_id": self.msg_id, "call_id": call_id}
        card = {**base, "tool": tool, **more}
        self._open[call_id] = card
        self.say(**card)

    def command(self, call_id: str, text: str) -> None:
        """Send a card for this command, as engines of today do."""
        shown = f"Execute: {text}"
        tool = {"name": "Bash", "category": "exec", "args": {"command": text}, "description": shown}
        preview = {"kind": "command", "text": text, "truncated": False}
        self.ask(call_id, tool=tool, preview=preview, expires_in_s=300, digest=f"d-{call_id}")

    def end_card(self, call_id: str, *, by_host: bool = False) -> None:
        """Remember that a card is over; answers that come much later are wrong."""
        del self._open[call_id]
        self._closed[call_id] = 0.0 if by_host else time.monotonic()

    def cancel(self, call_id: str, reason: str) -> None:
        """End a card without the host."""
        self.end_card(call_id)
        self.say(type="tool_cancelled", msg_id=self.msg_id, call_id=call_id, reason=reason)

    # --- in -----------------------------------------------------------------------------------

    def hear(self) -> JsonObject | None:
        """Return the next command, `None` at the end of input or of patience."""
        end = time.monotonic() + ANSWER_S * self._slack
        while not self._lines:
            left_s = end - time.monotonic()
            if left_s <= 0 or not select.select([0], [], [], left_s)[0]:
                return None
            data = os.read(0, 1024 * 1024)
            if not data:
                self.input_ended = True
                return None
            *self._lines, self._rest = (self._rest + data).split(b"\n")
        return self._command(self._lines.pop(0))

    def _command(self, line: bytes) -> JsonObject:
        try:
            command = json.loads(line.decode())
            kind = command["type"]
            assert isinstance(kind, str)
        except (ValueError, TypeError, KeyError, AssertionError, RecursionError):
            self.note("wrong", f"the host sent a line that is no command: {line[:200]!r}")
            return {"type": ""}
        self.note("heard", json.dumps(command)[:400])
        if kind == "ping":
            self.say(type="pong")
        return command

    def begin(self, flags: tuple[str, ...] = OURS, **more: object) -> None:
        """Be ready, with these flags, and start the turn of the first message."""
        self.ready(flags, **more)
        self.start_turn()

    def start_turn(self) -> None:
        """Wait for a message and start its turn."""
        while True:
            said = self.hear()
            if said is None:
                self.note("wrong", "the host sent no message")
                os._exit(1)
            if said["type"] == "set_mode":
                self.say(type="info", msg_id="", message=f"mode is {said['mode']}")
            if said["type"] == "message":
                break
        self._take(said)

    def _take(self, said: JsonObject) -> None:
        self.msg_id = said["msg_id"]
        if self.msg_id in self._msg_ids:
            self.note("wrong", f"msg_id {self.msg_id!r} was used before")
        self._msg_ids.add(self.msg_id)
        self.say(type="stream_start", msg_id=self.msg_id)

    def answers(self, *call_ids: str) -> None:
        """Wait until the host has answered all of these cards, and carry the answers out."""
        waiting = set(call_ids)
        while waiting:
            said = self.hear()
            if said is None:
                self.note("wrong", f"the host did not answer {sorted(waiting)}")
                os._exit(1)
            if said["type"] in ("tool_approve", "tool_deny"):
                waiting.discard(self._answered(said))

    def _answered(self, said: JsonObject) -> str:
        call_id = said.get("call_id", "")
        if call_id not in self._open:
            since = time.monotonic() - self._closed.get(call_id, 0.0)
            if call_id not in self._closed or since > LATE_S * self._slack:
                self.note("wrong", f"the host answered {call_id!r}, which does not wait")
            self.say(type="info", msg_id="", message="no call is waiting under that id")
            return ""
        self.note("answered", said["type"])
        self._check(said, self._open[call_id])
        self.end_card(call_id, by_host=True)
        ids: JsonObject = {"msg_id": self.msg_id, "call_id": call_id}
        if said["type"] == "tool_deny":
            self.say(type="call_settled", **ids, outcome="denied", by="user")
            self.say(type="tool_cancelled", **ids, reason=said.get("reason") or "denied")
        else:
            self.say(type="call_settled", **ids, outcome="approved", by="user")
            self.say(type="tool_running", **ids, tool_name="Bash")
            end: JsonObject = {"status": "success", "output": "ok\n", "output_type": "text"}
            self.say(type="tool_result", **ids, tool_name="Bash", **end)
        return call_id

    def _check(self, said: JsonObject, card: JsonObject) -> None:
        """Report what is wrong with an answer."""
        if "args" in said and said.get("digest") != card.get("digest"):
            self.note("wrong", "the host edited arguments without the digest of what it showed")
        several = card["tool"]["args"].get("multiSelect", False)
        if several and "answer" in said and not _is_list_of_labels(said["answer"]):
            given = f"{said['answer']!r:.200}"
            self.note("wrong", f"the answer is no JSON array of labels as text: {given}")

    def no_yes(self, call_id: str) -> None:
        """Wait until a card is denied or the host has nothing more to say; a yes is wrong."""
        while (said := self.hear()) is not None:
            if said["type"] == "tool_approve" and said.get("call_id") == call_id:
                self.note("wrong", "the host approved, and nobody has said yes")
            if said["type"] in ("tool_approve", "tool_deny") and self._answered(said) == call_id:
                return
        self.cancel(call_id, "nobody can answer: the host closed its command stream")

    def finish(self, reason: str = "stop") -> NoReturn:
        """End the turn, wait for the end of input, and end."""
        self.end_turn(reason)
        os._exit(0)

    def end_turn(self, reason: str = "stop") -> None:
        """End the turn, then wait for the end of input."""
        usage = {"input_tokens": 1, "output_tokens": 1}
        self.note("done")  # first: a host may end us as soon as it has heard
        self.say(type="stream_end", msg_id=self.msg_id, finish_reason=reason, usage=usage)
        while (said := self.hear()) is not None:
            if said["type"] in ("tool_approve", "tool_deny"):
                self._answered(said)
            elif said["type"] == "message":  # what was left of the input; a turn without words
                self._take(said)
                self.say(type="stream_end", msg_id=self.msg_id, finish_reason="stop", usage=usage)
        self.note("closed")

    def card_then_finish(self) -> NoReturn:
        """Ask once more: only a host that is still well answers."""
        self.ask("last", expires_in_s=300, digest="d-last")
        self.answers("last")
        self.finish()


class When(StrEnum):
    """Which hosts a scenario is for."""

    ANY = "any"
    ASKS = "asks"  # a host that asks a person
    APPROVES = "approves"  # one that approves by itself


def _is_list_of_labels(answer: object) -> bool:
    """Whether this is a JSON array of strings, as text."""
    try:
        labels = json.loads(str(answer))
    except (ValueError, RecursionError):
        return False
    return isinstance(labels, list) and all(isinstance(x, str) for x in cast("list[Any]", labels))


@dataclass(frozen=True, slots=True)
class Scenario:
    """What the engine does, and what the host must do about it."""

    title: str
    requires: tuple[str, ...]
    play: Callable[[Engine], None]
    crashes: bool = False  # the engine ends badly, so the turn has no end
    advisory: bool = False
    shows: str = ""  # what the host must show
    hides: str = ""  # what the host must not show as it is
    approves_only: tuple[str, ...] = ()  # of these it must have shown one if it approved
    told: bool = False  # the host must end the engine by SIGTERM
    when: When = When.ANY
    answers: str | None = None  # what is typed after the first line, instead of `--input`
