"""What grows, as curves: flat and straight lines are good, anything steeper is not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from pathlib import Path
from statistics import linear_regression
from tempfile import TemporaryDirectory
from time import process_time
from typing import Final

from tests.bench.bench_decide import policies
from tests.bench.engines import Engine, write_script
from tests.bench.measures import DONE, TRUE, decided, pending
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import GrantBook
from wcore.vocabulary import Access, Category, Mode

WIDTH, HEIGHT, MARGIN = 480, 300, 48  # of a picture, in pixels
STEEP: Final = 1.3  # cost grows with size to the power of this: linear, and some noise
DECISIONS: Final = 500

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """Costs over sizes. `x` and `y` say what they are and their units."""

    name: str
    x: str
    y: str
    points: Sequence[Point]

    @property
    def power(self) -> float:
        """The k of cost ~ size**k in the upper half: 0 is flat, 1 is linear."""
        upper = [point for point in self.points if min(point) > 0][-(len(self.points) // 2 + 1) :]
        return linear_regression([log(x) for x, _ in upper], [log(y) for _, y in upper]).slope

    @property
    def verdict(self) -> str:
        return f"grows with power {self.power:.2f}{'  STEEP' if self.power > STEEP else ''}"


def history(scale: float) -> Curve:
    """Calls of one turn: the CPU of the engine for a call, over the calls before it."""
    step = max(2, int(100 * scale))
    with TemporaryDirectory() as folder:
        script = write_script(Path(folder), *([TRUE] * step * 10), DONE)
        with Engine(Path(folder), "--model", script) as engine:
            engine.settle()
            engine.message()
            used = [engine.tree_ms()]
            for _ in range(10):
                for _ in range(step):
                    engine.approve(engine.hear("tool_request"))
                    engine.hear("tool_result")
                used.append(engine.tree_ms())
            engine.pass_over()
    points = [(step * n, (b - a) / step) for n, (a, b) in enumerate(pairwise(used), 1)]
    return Curve("history", "calls in the turn", "CPU ms of a call", points)


def session(scale: float) -> Curve:
    """Short turns: the CPU of the engine for a turn, over the turns before it."""
    step = max(2, int(200 * scale))
    with TemporaryDirectory() as folder:
        script = write_script(Path(folder), DONE, times=step * 10)
        with Engine(Path(folder), "--model", script) as engine:
            engine.settle()
            used = [engine.tree_ms()]
            for _ in range(10):
                for _ in range(step):
                    engine.message()
                    engine.pass_over()
                used.append(engine.tree_ms())
    points = [(step * n, (b - a) / step) for n, (a, b) in enumerate(pairwise(used), 1)]
    return Curve("session", "turns in the session", "CPU ms of a turn", points)


def waiting(scale: float) -> Curve:
    """Cards of one reply: the CPU of the engine for all of them."""
    points: list[Point] = []
    for part in (0.05, 0.1, 0.25, 0.5, 1.0):
        count = max(2, int(1000 * scale * part))
        with TemporaryDirectory() as folder:
            points.append((count, count * pending(Path(folder), count)["asked cpu"]))
    return Curve("pending", "calls pending at once", "CPU ms of asking for all", points)


def rules(scale: float) -> Curve:
    """One decision on a write, over the number of rules."""
    path = PathFact("/ws/src/part999/deep/file.py", Access.WRITE, inside=True)
    facts = Facts("Write", Category.EDIT, (path,))
    points: list[Point] = []
    for part in (0.02, 0.1, 0.25, 0.5, 1.0):
        count = max(2, int(5000 * scale * part))
        context = DecisionContext(
            Mode.READ_ONLY, GrantBook(), frozenset({"Write"}), policies("paths anywhere", count)
        )
        decide(facts, context)
        began = process_time()
        for _ in range(DECISIONS):
            decide(facts, context)
        points.append((count, (process_time() - began) * 1e6 / DECISIONS))
    return Curve("rules", "rules", "CPU us of a decision", points)


def command_size(scale: float) -> Curve:
    """Analysis and decision of one command, over its size."""
    sizes = [int(16 * 1024 * scale * part) for part in (0.05, 0.1, 0.25, 0.5, 0.75, 1.0)]
    points = [(size, decided(size)) for size in sizes]
    return Curve("command", "bytes of the command", "CPU ms of the decision", points)


ALL: Final[tuple[Callable[[float], Curve], ...]] = (history, session, waiting, rules, command_size)


def svg(curve: Curve) -> str:
    """Draw a curve; both axes start at 0."""
    x_max, y_max = (max(point[axis] for point in curve.points) or 1.0 for axis in (0, 1))
    wide, high = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
    places = [
        (MARGIN + wide * x / x_max, HEIGHT - MARGIN - high * y / y_max) for x, y in curve.points
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places)
    bottom, right = HEIGHT - MARGIN, WIDTH - MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<path d="M{MARGIN},{MARGIN}V{bottom}H{right}" fill="none" stroke="gray"/>'
        f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="2"/>{dots}'
        f'<text x="{MARGIN}" y="20">{curve.name}: {curve.verdict}</text>'
        f'<text x="{MARGIN}" y="40">{curve.y}, up to {y_max:.3g}</text>'
        f'<text x="{right}" y="{HEIGHT - 16}" text-anchor="end">{curve.x}, up to {x_max:.0f}</text>'
        "</svg>\n"
    )
