"""What the numbers are called, what they are held against, and how they are shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from tests.bench.floors import Values

Medians = Values
Judge = Callable[[float, Medians], bool]
SPAWN_EXTRA_MS: Final = 3.0  # between a yes and a running command, above what any spawn takes


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a measured number, its floor, and its goal if it has one."""

    key: str
    title: str
    unit: str
    floor: str = ""
    goal: str = ""
    judge: Judge | None = None


def _at_most(limit: float) -> Judge:
    return lambda value, _: value <= limit


def _at_least(limit: float) -> Judge:
    return lambda value, _: value >= limit


def _near_spawn(value: float, medians: Medians) -> bool:
    return value <= medians["spawn ms"] + SPAWN_EXTRA_MS


PING: Final = "ping-pong ms"
ROWS: Final = (
    Row("interpreter ms", "floor: python, pydantic, anyio, a union", "ms"),
    Row("loop ms", "floor: the same, its event loop started", "ms"),
    Row("ping-pong ms", "floor: a line through pipes and back", "ms"),
    Row("ping-pong p99 ms", "floor: the same, p99", "ms"),
    Row("spawn ms", "floor: bash -c true", "ms"),
    Row("kill ms", "floor: kill a process and reap it", "ms"),
    Row("sync ms", "floor: a page appended and synced", "ms"),
    Row("lines/s", "floor: lines from a python", "/s"),
    Row(
        "ready", "spawn -> ready", "ms", "interpreter ms", "<= 1.5 x floor",
        lambda value, medians: value <= 1.5 * medians["interpreter ms"],
    ),
    Row("ready cpu", "CPU of spawn -> ready", "ms", "interpreter cpu"),
    Row("pong", "ping -> pong", "ms", PING),
    Row("first gate Bash", "first message -> card, Bash", "ms", "sync ms"),
    Row("first gate Read", "first message -> card, Read", "ms", "sync ms"),
    Row("gate Bash", "message -> card, Bash", "ms", "sync ms", "<= 2 ms", _at_most(2)),
    Row("gate Read", "message -> card, Read", "ms", "sync ms", "<= 2 ms", _at_most(2)),
    Row("running", "approve -> tool_running", "ms", "spawn ms", "<= floor + 3 ms", _near_spawn),
    Row("ended", "approve -> result of `true`", "ms", "spawn ms"),
    Row("calls/s", "gated calls", "/s", "spawns/s", ">= 60/s", _at_least(60)),
    Row("call cpu", "CPU of a call, all processes", "ms", "spawn ms", "<= 10 ms", _at_most(10)),
    Row("decile", "last tenth of the calls / first", "x", "", "<= 1.2", _at_most(1.2)),
    Row("deltas/s", "text deltas", "/s", "lines/s", ">= 20,000/s", _at_least(20_000)),
    Row("delta cpu", "CPU of a text delta", "us", "line us", "<= 35 us", _at_most(35)),
    Row("first request", "first message -> request sent", "ms", PING, "<= 15 ms", _at_most(15)),
    Row("paced p50", "delta from provider to host, p50", "ms", PING),
    Row("paced p99", "delta from provider to host, p99", "ms", "ping-pong p99 ms"),
    Row("idle", "memory idle", "MiB", "interpreter MiB", "<= 45 MiB", _at_most(45)),
    Row("helper", "memory idle, its other processes", "MiB", "interpreter MiB"),
    Row("grown", "memory grown by the calls", "MiB", "", "<= 5 MiB", _at_most(5)),
    Row("cancel", "stop -> end of the turn", "ms", "kill ms", "<= 5 ms", _at_most(5)),
    Row("dead before", "child dead before that, at the least", "ms", "", ">= 0", _at_least(0)),
    Row("asked", "many pending: a card", "ms", PING),
    Row("asked cpu", "many pending: CPU of a card", "ms", PING),
    Row("answered", "many pending: deny -> cancelled", "ms", PING),
    Row("pending MiB", "many pending: memory", "MiB"),
    Row("decide 10 B", "decide, command of 10 B, CPU", "ms", PING),
    Row("decide 1 KiB", "decide, command of 1 KiB, CPU", "ms", PING),
    Row("decide 16 KiB", "decide, command of 16 KiB, CPU", "ms", PING),
    Row("decide 64 KiB", "decide, command of 64 KiB (unread), CPU", "ms", PING),
)  # fmt: skip

HEAD: Final = f"{'':42}{'min':>10}{'median':>10}{'max':>10} unit {'x floor':>8}  goal"


def judged(runs: Sequence[Values]) -> list[dict[str, Any]]:
    """Return each row with its numbers; the ratio is the median of those of the single runs."""
    medians = {key: median(run[key] for run in runs) for key in runs[0]}
    found: list[dict[str, Any]] = []
    for row in ROWS:
        values = [run[row.key] for run in runs]
        floors = [run[row.floor] for run in runs] if row.floor else []
        ratios = [value / floor for value, floor in zip(values, floors, strict=False) if floor]
        middle = medians[row.key]
        found.append(
            {
                "title": row.title,
                "unit": row.unit,
                "min": min(values),
                "median": middle,
                "max": max(values),
                "floor": row.floor or None,
                "ratio": median(ratios) if ratios else None,
                "goal": row.goal or None,
                "met": row.judge(middle, medians) if row.judge else None,
            }
        )
    return found


def drawn(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table as text."""
    lines = [HEAD]
    for row in rows:
        numbers = "".join(f"{_short(row[key]):>10}" for key in ("min", "median", "max"))
        ratio = "" if row["ratio"] is None else _short(row["ratio"])
        verdict = {None: "", True: "met", False: "MISSED"}[row["met"]]
        goal = f"{row['goal'] or ''} {verdict}".strip()
        lines.append(f"{row['title']:42}{numbers} {row['unit']:4} {ratio:>8}  {goal}".rstrip())
    return "\n".join(lines)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
