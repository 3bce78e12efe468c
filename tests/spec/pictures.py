"""The pictures of the specification: from the table of a call's life and real conversations."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from spec.drawing import Point, bar, box, label, path, picture, words
from spec.requirements import SPEC
from spec.staging import FOLDER
from wcore.approval.table import MOVES, Move, State

PICTURES: Final = SPEC / "pictures"
BOX: Final = (96.0, 34.0)

# --- the life of a call ---------------------------------------------------------------------------

PLACES: Final[dict[State, Point]] = {
    State.PROPOSED: (80, 216),
    State.WAITING: (256, 140),
    State.CLEARED: (440, 216),
    State.RUNNING: (600, 216),
    State.ENDED: (760, 216),
    State.EXPIRED: (440, 128),
    State.DENIED: (200, 326),
    State.CANCELLED: (480, 326),
}
#: Where an edge leaves and arrives, as shares of half a box, and how far it bows (pixels).
BOWS: Final[dict[tuple[State, State], tuple[Point, Point, Point]]] = {
    (State.PROPOSED, State.WAITING): ((0.5, -1), (-1, 0), (-20, -20)),
    (State.PROPOSED, State.CLEARED): ((1, 0), (-1, 0), (0, 0)),
    (State.PROPOSED, State.DENIED): ((0.2, 1), (-1, -0.2), (-14, 18)),
    (State.PROPOSED, State.CANCELLED): ((0.7, 1), (-1, -0.5), (0, 30)),
    (State.PROPOSED, State.ENDED): ((-0.4, -1), (0.3, -1), (-100, -290)),
    (State.WAITING, State.DENIED): ((-0.3, 1), (0, -1), (0, 0)),
    (State.WAITING, State.CLEARED): ((1, 0.6), (-0.5, -1), (10, -14)),
    (State.WAITING, State.EXPIRED): ((1, -0.4), (-1, 0.2), (0, 0)),
    (State.WAITING, State.CANCELLED): ((0.3, 1), (-0.5, -1), (-30, 20)),
    (State.CLEARED, State.RUNNING): ((1, 0), (-1, 0), (0, 0)),
    (State.CLEARED, State.CANCELLED): ((0.2, 1), (0, -1), (0, 0)),
    (State.CLEARED, State.ENDED): ((0.6, -1), (-0.4, -1), (0, -56)),
    (State.RUNNING, State.ENDED): ((1, 0), (-1, 0), (0, 0)),
    (State.RUNNING, State.CANCELLED): ((0, 1), (1, -0.3), (16, 26)),
}


def life_of_a_call() -> str:
    """Draw every move of the table."""
    parts = [words((24, 32), "The life of a call", anchor="start")]
    edges: dict[tuple[State, State], list[Move]] = {}
    for state, moves in MOVES.items():
        for move, after in moves.items():
            edges.setdefault((state, after), []).append(move)
    for (state, after), moves in edges.items():
        parts.append(_edge(state, after, " / ".join(moves)))
    for state, at in PLACES.items():
        parts.append(box(at, BOX, state, "box" if MOVES[state] else "end"))
    note = "ended: tool_result.  denied, expired, cancelled: tool_cancelled."
    parts.append(words((24, 380), note, "small", anchor="start"))
    return picture(850, 400, "State diagram of a call", parts)


def _edge(state: State, after: State, says: str) -> str:
    leaves, arrives, bow = BOWS[(state, after)]
    start, end = _rim(state, leaves), _rim(after, arrives)
    middle = ((start[0] + end[0]) / 2 + bow[0], (start[1] + end[1]) / 2 + bow[1])
    d = f"M{start[0]:g} {start[1]:g}Q{middle[0]:g} {middle[1]:g} {end[0]:g} {end[1]:g}"
    on = tuple(start[i] / 4 + middle[i] / 2 + end[i] / 4 for i in (0, 1))
    kind = "faint" if after is State.CANCELLED else "line"
    return path(d, kind) + label((on[0], on[1] + 3), says)


def _rim(state: State, share: Point) -> Point:
    at = PLACES[state]
    return (at[0] + share[0] * BOX[0] / 2, at[1] + share[1] * BOX[1] / 2)


# --- from conversations ---------------------------------------------------------------------------


def _lines(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the lines of an example: who speaks, and what."""
    page = (FOLDER / f"{name}.md").read_text().replace("{…}", "{}")
    for mark, text in re.findall(r"^([→←]) (\{.*\})$", page, re.MULTILINE):
        yield mark, json.loads(text)


def way_of_a_turn() -> str:
    """Draw the example `approve-once` as messages between host and engine."""
    left, right, top, step = 130.0, 590.0, 66.0, 32.0
    said = list(_lines("approve-once"))
    bottom = top + step * len(said)
    parts = [
        *(path(f"M{x:g} 54V{bottom:g}", "faint", arrow=False) for x in (left, right)),
        box((left, 36), (110, 30), "host"),
        box((right, 36), (110, 30), "engine"),
    ]
    for at, (mark, message) in enumerate(said):
        y = top + step * at + 16
        start, end = (left, right) if mark == "→" else (right, left)
        parts.append(path(f"M{start:g} {y:g}H{end - 3 if end > start else end + 3:g}"))
        parts.append(label(((left + right) / 2, y - 5), _title(message)))
        if message["type"] in BESIDE:
            parts.append(words((right + 12, y + 4), BESIDE[message["type"]], "small", "start"))
    return picture(840, bottom + 20, "A turn with one question, as messages", parts)


BESIDE: Final = {  # what the engine does at that moment
    "stream_start": "the model speaks",
    "tool_request": "prepared, decided, parked",
    "call_settled": "the one way out of waiting",
    "tool_running": "digest checked; the effect",
    "tool_result": "the model is told",
    "stream_end": "the turn is over",
}


def _title(message: dict[str, Any]) -> str:
    more = {
        "message": message.get("content"),
        "tool_request": message.get("tool", {}).get("description"),
        "call_settled": message.get("outcome"),
        "tool_result": message.get("status"),
        "text_delta": message.get("text"),
    }.get(message["type"])
    return message["type"] if more is None else f"{message['type']}: {more}"


def order_of_calls() -> str:
    """Draw the example `order-of-calls`: each call on its line, time to the right."""
    said = [m for _, m in _lines("order-of-calls") if m.get("call_id", "c0") != "c0"]
    said = [m for m in said if m["type"] not in ("tool_approve", "tool_chunk")]
    left, top, step, row = 230.0, 64.0, 36.0, 44.0
    lanes = sorted({m["call_id"] for m in said})
    parts = [words((24, 32), "Four calls of one reply; time goes to the right", anchor="start")]
    for number, call_id in enumerate(lanes):
        mine = [(left + step * at, m) for at, m in enumerate(said) if m["call_id"] == call_id]
        y = top + row * number
        says = mine[0][1]["tool"]["description"]
        parts.append(words((24, y + 13), says, anchor="start"))
        d = f"M{left - 16:g} {y + 9:g}H{left + step * len(said):g}"
        parts.append(path(d, "faint", arrow=False))
        parts += _bars(mine, y)
    bottom = top + row * len(lanes) + 6
    keys = (("waits", 24, "waits for an answer"), ("runs", 210, "runs"))
    for kind, x, says in keys:
        parts.append(bar(x, x + 20, bottom, 14, kind))
        parts.append(words((x + 28, bottom + 11), says, "small", "start"))
    note = "before its bar a call is not even announced"
    parts.append(words((300, bottom + 11), note, "small", "start"))
    return picture(left + step * len(said) + 20, bottom + 32, "Order of four calls", parts)


def _bars(mine: list[tuple[float, dict[str, Any]]], y: float) -> Iterator[str]:
    at = {message["type"]: x for x, message in mine}
    if "tool_request" in at:
        yield bar(at["tool_request"], at["call_settled"], y, 18, "waits")
    yield bar(at["tool_running"], at["tool_result"] + 12, y, 18, "runs")


DRAWN: Final[dict[str, Callable[[], str]]] = {
    "life-of-a-call": life_of_a_call,
    "way-of-a-turn": way_of_a_turn,
    "order-of-calls": order_of_calls,
}


def write() -> None:
    """Write all pictures."""
    PICTURES.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        (PICTURES / f"{name}.svg").write_text(draw())
