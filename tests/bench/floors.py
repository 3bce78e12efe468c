"""What the machine takes for the same thing without an engine, measured in the same run."""

import os
import subprocess
import sys
import time
from statistics import median, quantiles
from tempfile import TemporaryFile
from typing import Final, get_args

from tests.bench.engines import Child, cpu_ms, memory_mib
from wcore.protocol.commands import AnyCommand

IMPORTS: Final = """
import sys
import anyio
from typing import Annotated, Literal, Union
from pydantic import BaseModel, Field, TypeAdapter, create_model
members = [
    create_model(f"M{n}", type=(Literal[f"m{n}"], ...), name=(str, ...), more=(int | None, None))
    for n in range(int(sys.argv[1]))
]
TypeAdapter(Annotated[Union[tuple(members)], Field(discriminator="type")])
print("ready", flush=True)
sys.stdin.read()
"""
#: `import anyio` alone loads neither asyncio nor what makes it anyio's; who uses it must.
WITH_LOOP: Final = IMPORTS.replace("print(", "anyio.run(anyio.sleep, 0)\nprint(", 1)
ECHO: Final = """
import os
while data := os.read(0, 65536):
    os.write(1, data)
"""
LINES: Final = """
import json, sys
print("ready", flush=True)
sys.stdin.readline()
for n in range(int(sys.argv[1])):
    print(json.dumps({"type": "text_delta", "text": f"word {n} ", "msg_id": "m"}))
sys.stdout.flush()
sys.stdin.read()
"""
PAGE_BYTES: Final = 4096  # what a small transaction adds to SQLite's log
LINE: Final = b'{"type":"ping"}\n'

Values = dict[str, float]


def interpreter() -> Values:
    """A Python that imports what we build on, and builds a union as large as our commands.

    `loop ms`: the same, with its event loop started.
    """
    size = str(len(get_args(get_args(AnyCommand)[0])))
    with Child(sys.executable, "-c", WITH_LOOP, size) as child:
        child.line()
        with_loop = (time.perf_counter() - child.began) * 1000
    with Child(sys.executable, "-c", IMPORTS, size) as child:
        child.line()
        took = (time.perf_counter() - child.began) * 1000
        return {
            "interpreter ms": took,
            "interpreter cpu": cpu_ms(child.pid),
            "interpreter MiB": memory_mib(child.pid),
            "loop ms": with_loop,
        }


def ping_pong(rounds: int) -> Values:
    """A line to a process and back."""
    took: list[float] = []
    with Child(sys.executable, "-c", ECHO) as child:
        for _ in range(rounds):
            began = time.perf_counter()
            child.write(LINE)
            child.line()
            took.append((time.perf_counter() - began) * 1000)
    return {"ping-pong ms": median(took), "ping-pong p99 ms": quantiles(took, n=100)[98]}


def spawn(rounds: int) -> Values:
    """`bash -c true`, from nothing to its exit code; and killing one that sleeps."""
    took: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(("bash", "-c", "true"), stdin=subprocess.DEVNULL, check=True)
        took.append((time.perf_counter() - began) * 1000)
    child = Child("sleep", "1000")
    began = time.perf_counter()
    with child:
        child.kill()
    killed = (time.perf_counter() - began) * 1000
    return {"spawn ms": median(took), "spawns/s": 1000 / median(took), "kill ms": killed}


def sync(rounds: int) -> Values:
    """A page appended to a file and on the disk: what writing down before acting takes."""
    took: list[float] = []
    with TemporaryFile(buffering=0) as file:
        for _ in range(rounds):
            began = time.perf_counter()
            file.write(bytes(PAGE_BYTES))
            os.fdatasync(file.fileno())
            took.append((time.perf_counter() - began) * 1000)
    return {"sync ms": median(took)}


def lines(count: int) -> Values:
    """As many lines as there are deltas, made and written by a Python, and read by us."""
    with Child(sys.executable, "-c", LINES, str(count)) as child:
        child.line()
        began, used = time.perf_counter(), cpu_ms(child.pid)
        child.write(LINE)
        for _ in range(count):
            child.line()
        rate = count / (time.perf_counter() - began)
        return {"lines/s": rate, "line us": (cpu_ms(child.pid) - used) * 1000 / count}


def one_run(rounds: int, count: int) -> Values:
    """Measure all but `interpreter` once: small things `rounds` times, lines `count` times."""
    return {**ping_pong(rounds), **spawn(rounds), **sync(rounds), **lines(count)}
