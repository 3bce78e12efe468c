"""What is measured of an engine: each function is one conversation and returns named numbers."""

import os
import select
import socket
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from tests.bench.bench_models import said
from tests.bench.bench_shell import long_text
from tests.bench.engines import WAIT_S, Engine, Event, cpu_ms, memory_mib, write_script
from tests.bench.floors import Values, interpreter
from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts
from wcore.policy.grants import GrantBook
from wcore.vocabulary import Category, Mode

PACE_S: Final = 0.005  # between two deltas: a fast model
TRUE: Final[list[object]] = [{"call": {"name": "Bash", "args": {"command": "true"}}}]
SLEEP: Final[list[object]] = [
    {"call": {"name": "Bash", "args": {"command": "sleep 1000 & echo $$ $!; wait"}}}
]
READ: Final[list[object]] = [{"call": {"name": "Read", "args": {"file_path": "{n}"}, "id": "r{n}"}}]
DONE: Final[list[object]] = [{"text": "done"}]
DECIDED_BYTES: Final = {"10 B": 10, "1 KiB": 1024, "16 KiB": 16 * 1024, "64 KiB": 64 * 1024}
DECIDE_ROUNDS: Final = 5


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of each thing one run does."""

    starts: int = 5
    calls: int = 200
    turns: int = 20
    deltas: int = 20_000
    paced: int = 200
    pending: int = 1_000


QUICK: Final = Sizes(starts=1, calls=20, turns=2, deltas=500, paced=4, pending=20)


def milliseconds(since: float) -> float:
    return (time.perf_counter() - since) * 1000


def starts(place: Path, sizes: Sizes) -> Values:
    """Spawn engines, each beside its floor: what else the machine does hits both."""
    rounds: list[Values] = []
    with Engine(place):  # which compiles what has changed since the last start
        pass
    for _ in range(sizes.starts):
        floor = interpreter()
        with Engine(place) as engine:
            ready = {"ready": engine.ready_ms, "ready cpu": cpu_ms(engine.pid)}
            rounds.append({**floor, **ready})
    return {key: median(one[key] for one in rounds) for key in rounds[0]}


def gates(place: Path, sizes: Sizes) -> Values:
    """Short turns of one call that is denied: from the message to the card."""
    found: Values = {}
    for name, reply in (("Bash", TRUE), ("Read", READ)):
        script = write_script(place, reply, DONE, times=sizes.turns + 1)
        with Engine(place, "--model", script) as engine:
            engine.settle()
            took: list[float] = []
            for _ in range(sizes.turns + 1):
                began = engine.message()
                card = engine.hear("tool_request")
                took.append(milliseconds(began))
                engine.deny(card)
                engine.pass_over()
            found[f"first gate {name}"], found[f"gate {name}"] = took[0], median(took[1:])
            pongs: list[float] = []
            for _ in range(sizes.turns):
                began = engine.say(type="ping")
                engine.hear("pong")
                pongs.append(milliseconds(began))
            found["pong"] = median(pongs)
    return found


def calls(place: Path, sizes: Sizes) -> Values:
    """One turn of many calls, each of them approved as soon as it asks."""
    script = write_script(place, *([TRUE] * sizes.calls), DONE)
    with Engine(place, "--model", script) as engine:
        engine.settle()
        idle = memory_mib(engine.pid)
        helpers = [child.pid for child in engine.children()]
        helped = sum(map(memory_mib, helpers))
        used, began = engine.tree_ms(), time.perf_counter()
        running, ended, marks = list[float](), list[float](), [began]
        engine.message()
        for _ in range(sizes.calls):
            asked = engine.approve(engine.hear("tool_request"))
            engine.hear("tool_running")
            running.append(milliseconds(asked))
            engine.hear("tool_result")
            ended.append(milliseconds(asked))
            marks.append(time.perf_counter())
        engine.pass_over()
        took, cpu = time.perf_counter() - began, engine.tree_ms() - used
        deciles = [after - before for before, after in pairwise(marks[:: sizes.calls // 10])]
        engine.settle()
        return {
            "running": median(running),
            "ended": median(ended),
            "calls/s": sizes.calls / took,
            "call cpu": cpu / sizes.calls,
            "decile": deciles[-1] / deciles[0],
            "idle": idle,
            "helper": helped,
            "grown": memory_mib(engine.pid) - idle,
        }


def deltas(place: Path, sizes: Sizes) -> Values:
    """A reply of many small pieces, as fast as they go; the second of two."""
    reply: list[object] = [{"text": "word {n} ", "repeat": sizes.deltas}]
    with Engine(place, "--model", write_script(place, reply, times=2)) as engine:
        engine.settle()
        found: Values = {}
        for turn in ("a", "b"):
            used = cpu_ms(engine.pid)
            began = engine.message(turn)
            count = engine.pass_over() - 2
            assert count == sizes.deltas, f"{count} deltas came"
            found["deltas/s"] = count / (time.perf_counter() - began)
            found["delta cpu"] = (cpu_ms(engine.pid) - used) * 1000 / count
        return found


def paced(place: Path, sizes: Sizes) -> Values:
    """From a delta on the model's socket to its line on stdout; we are the model too.

    Before that: from the first message to the whole request on that socket.
    """
    body = said("openai", sizes.paced).split(b"\n\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        flags = ("--provider", "openai", "--model", "gpt-5", "--base-url", url)
        with Engine(place, *flags) as engine:
            engine.settle()
            asked = engine.message()
            wire, _ = server.accept()
            with wire:
                _take_request(wire)
                first_ms = milliseconds(asked)
                head = "200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
                wire.sendall(b"HTTP/1.1 " + head.encode())
                took: list[float] = []
                for event in body[: sizes.paced]:
                    time.sleep(PACE_S)
                    began = time.perf_counter()
                    wire.sendall(event + b"\n\n")
                    engine.hear("text_delta")
                    took.append(milliseconds(began))
                wire.sendall(b"\n\n".join(body[sizes.paced :]))
            engine.pass_over()
    return {
        "first request": first_ms,
        "paced p50": median(took),
        "paced p99": quantiles(took, n=100)[98],
    }


def _take_request(wire: socket.socket) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += wire.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    while len(body) < int(fields[b"content-length"]):
        body += wire.recv(65536)


def cancel(place: Path, sizes: Sizes) -> Values:
    """Stop while a command and its child run: to the turn's end, and to the death of both."""
    script = write_script(place, SLEEP, times=sizes.turns)
    with Engine(place, "--model", script) as engine:
        engine.settle()
        ends, lead = list[float](), list[float]()
        for _ in range(sizes.turns):
            engine.message()
            engine.approve(engine.hear("tool_request"))
            pids = map(int, engine.hear("tool_chunk")["chunk"].split())
            handles = {os.pidfd_open(pid) for pid in pids}
            stopped = engine.say(type="stop")
            end, died = _watch(engine, handles)
            ends.append((end - stopped) * 1000)
            lead.append((end - died) * 1000)
    return {"cancel": median(ends), "dead before": min(lead)}


def _watch(engine: Engine, handles: set[int]) -> tuple[float, float]:
    """Return when the turn ended and when the last of the processes had died."""
    end = died = 0.0
    alive = set(handles)
    while alive or not end:
        waiting = [*alive, *(() if end else (engine.stdout,))]
        readable, _, _ = select.select(waiting, [], [], WAIT_S)
        assert readable, "the turn does not end"
        now = time.perf_counter()
        if dead := alive.intersection(readable):
            alive -= dead
            died = now
        if engine.stdout in readable:
            event = engine.next()
            while engine.has_more:
                event = engine.next()
            end = now if event["type"] == "stream_end" else end
    for handle in handles:
        os.close(handle)
    return end, died


def pending(place: Path, count: int) -> Values:
    """So many calls in one reply: until all ask, and until all have been denied."""
    item: dict[str, object] = {"call": {"name": "Read", "args": {"file_path": "f{n}"}}}
    script = write_script(place, [{**item, "repeat": count}], DONE)
    with Engine(place, "--model", script) as engine:
        engine.settle()
        before, used = memory_mib(engine.pid), cpu_ms(engine.pid)
        began = engine.message()
        cards: list[Event] = [engine.hear("tool_request") for _ in range(count)]
        asked, cpu = milliseconds(began), cpu_ms(engine.pid) - used
        memory = memory_mib(engine.pid) - before
        began = time.perf_counter()
        for card in cards:
            engine.deny(card)
            engine.hear("tool_cancelled")
        engine.pass_over()
        return {
            "asked": asked / count,
            "asked cpu": cpu / count,
            "answered": milliseconds(began) / count,
            "pending MiB": memory,
        }


def decided(size: int) -> float:
    """Return the CPU time of analysing and deciding a command of so many bytes, in ms."""
    text = "cargo test" if size < 100 else long_text("words", size)
    context = DecisionContext(Mode.DEFAULT, GrantBook(), frozenset({"Bash"}))
    shell.warm()
    took: list[float] = []
    for _ in range(DECIDE_ROUNDS):
        began = time.process_time()
        decide(Facts("Bash", Category.EXEC, (), shell.analyse(text)), context)
        took.append((time.process_time() - began) * 1000)
    return median(took)


def decisions() -> Values:
    return {f"decide {name}": decided(size) for name, size in DECIDED_BYTES.items()}


def one_run(place: Path, sizes: Sizes) -> Values:
    """Measure everything once."""
    return {
        **starts(place, sizes),
        **gates(place, sizes),
        **calls(place, sizes),
        **deltas(place, sizes),
        **paced(place, sizes),
        **cancel(place, sizes),
        **pending(place, sizes.pending),
        **decisions(),
    }
