"""What the journal of a session comes to: its waits, its questions, its time. Pure.

Records that this version does not know are passed over, and a record without what it should
hold counts as absent: a journal is read here for a picture, nothing depends on it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Final

from wcore_host.events import Json

ASKED_SHOWN_MAX: Final = 8  # each costs one question to the policy
STRETCHES_MAX: Final = 5_000  # more than any picture shows
WHAT_CHARS_MAX: Final = 400  # of a command in a table
BUCKETS: Final = (  # seconds until an answer
    (2.0, "up to 2 s"),
    (5.0, "2 to 5 s"),
    (15.0, "5 to 15 s"),
    (60.0, "15 to 60 s"),
    (300.0, "1 to 5 min"),
    (float("inf"), "longer"),
)

Row = Mapping[str, Json]


@dataclass
class _Call:
    """When what happened to a call; in seconds, waits between turns left out."""

    tool: str = ""
    what: str = ""
    asked: float | None = None
    decided: float | None = None
    by: str = ""
    decision: str = ""
    started: float | None = None
    ended: float | None = None


class _Clock:
    """Time inside turns: what passes between them is left out."""

    def __init__(self) -> None:
        self._zero: float | None = None
        self._left_at: float | None = None

    def at(self, stamp: Json, *, begins: bool, ends: bool) -> float | None:
        try:
            now = datetime.fromisoformat(str(stamp)).timestamp()
        except ValueError:
            return None
        if self._zero is None:
            self._zero = now
        if begins and self._left_at is not None:
            self._zero += now - self._left_at
        self._left_at = now if ends else None if begins else self._left_at
        return now - self._zero


class _Reading:
    """One pass over the records."""

    def __init__(self) -> None:
        self.calls: dict[str, _Call] = {}
        self.turns: list[tuple[float, float]] = []
        self._clock = _Clock()
        self._turn: float | None = None

    def take(self, record: Row) -> None:
        kind, body = record.get("kind"), record.get("body")
        begins, ends = kind == "turn_started", kind == "turn_ended"
        now = self._clock.at(record.get("at"), begins=begins, ends=ends)
        if now is None or not isinstance(body, dict):
            return
        match kind:
            case "turn_started":
                self._turn = now
            case "turn_ended":
                self.turns.append((now if self._turn is None else self._turn, now))
                self._turn = None
            case "replied":
                self._replied(body)
            case _ if isinstance(call_id := body.get("call_id"), str):
                self._happened(str(kind), self.calls.setdefault(call_id, _Call()), body, now)
            case _:
                pass

    def _replied(self, body: Row) -> None:
        calls = body.get("calls")
        for each in calls if isinstance(calls, list) else []:
            if isinstance(each, dict):
                call = self.calls.setdefault(str(each.get("call_id")), _Call())
                call.tool = str(each.get("name"))
                call.what = _what(each.get("args"))

    def _happened(self, kind: str, call: _Call, body: Row, now: float) -> None:
        match kind:
            case "prepared":
                call.what = str(body.get("command") or call.what or body.get("description"))
            case "asked":
                call.asked = now
            case "decided":
                call.decided, call.by = now, str(body.get("source"))
                call.decision = str(body.get("decision"))
                call.tool = str(body.get("tool") or call.tool)
            case "started":
                call.started = now
            case "ended":
                call.ended = now
            case _:
                pass


def session(rows: Sequence[Row], *, more: bool) -> dict[str, Json]:
    """Return the picture of one exported session; the first row is the session itself."""
    reading = _Reading()
    for record in rows[1:]:
        reading.take(record)
    waits = [
        call.decided - call.asked
        for call in reading.calls.values()
        if call.asked is not None and call.decided is not None and call.by == "user"
    ]
    asked = Counter(
        (call.tool, call.what[:WHAT_CHARS_MAX])
        for call in reading.calls.values()
        if call.asked is not None
    )
    return {
        "session_id": str(rows[0].get("session_id")) if rows else "",
        "more": more,
        "median_s": median(waits) if waits else None,
        "answers": _histogram(waits),
        "asked": [
            {"tool": tool, "what": what, "count": count}
            for (tool, what), count in asked.most_common(ASKED_SHOWN_MAX)
        ],
        "stretches": _stretches(reading),
    }


def _histogram(waits: Sequence[float]) -> list[Json]:
    counts: dict[str, Json] = {label: 0 for _, label in BUCKETS}
    found = Counter(next(label for end, label in BUCKETS if wait <= end) for wait in waits)
    return [{"label": label, "count": found[label]} for label in counts]


def _stretches(reading: _Reading) -> list[Json]:
    found: list[tuple[float, float, str, str, str]] = [
        (start, end, "turn", f"turn {number}", f"turn {number}, {end - start:.1f} s")
        for number, (start, end) in enumerate(reading.turns, 1)
    ]
    for call in reading.calls.values():
        name = f"{call.tool} {call.what}".strip()
        if call.asked is not None and call.decided is not None:
            took = call.decided - call.asked
            told = f"{name} waited {took:.1f} s, {call.decision} by {call.by}"
            found.append((call.asked, call.decided, "wait", call.tool, told))
        if call.started is not None and call.ended is not None:
            took = call.ended - call.started
            found.append((call.started, call.ended, "run", call.tool, f"{name} ran {took:.1f} s"))
    return [
        {"start": start, "end": end, "kind": kind, "label": label, "told": told}
        for start, end, kind, label, told in sorted(found)[:STRETCHES_MAX]
    ]


def _what(args: Json) -> str:
    """Return the argument that says what a call is about."""
    if not isinstance(args, dict):
        return ""
    known = ("command", "file_path", "pattern", "path", "question")
    return next((str(args[name]) for name in known if name in args), "")
