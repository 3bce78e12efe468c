"""What the ACP bridge costs: a gate and a start. `python -m tests.bench.bench_acp`.

First the CPU time of the bridge's own process, which is what it adds on a machine with a core to
spare: for a gate (announced, asked, answered, ended) over a turn of many, and from spawn to the
answer of `session/new` less what a Python needs that imports the SDK and nothing else. Then the
same start by the clock, less an engine's start and that import, each measured in the same round.
What a gate takes by the clock through every host is in `bench_hosts.py`.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import psutil

from tests.bench.engines import Engine

GATES: Final = 200
STARTS: Final = 5
BRIDGE: Final = (sys.executable, "-P", "-m", "wcore_host.acp")
SDK: Final = (sys.executable, "-P", "-c", "import acp, anyio")
REJECT: Final = {"outcome": {"outcome": "selected", "optionId": "reject_once"}}


class Bridge:
    """A running bridge, and JSON lines with it."""

    def __init__(self, folder: str, *flags: str) -> None:
        pipe = subprocess.PIPE
        env = {**os.environ, "HOME": folder}
        self._child = subprocess.Popen(
            (*BRIDGE, *flags), cwd=folder, env=env, stdin=pipe, stdout=pipe
        )
        self._number = 3
        self._request(1, "initialize", protocolVersion=1, clientCapabilities={})
        self._until("id", 1)
        self._request(2, "session/new", cwd=folder, mcpServers=[])
        self._session_id = self._until("id", 2)["result"]["sessionId"]

    @property
    def pid(self) -> int:
        return self._child.pid

    def cpu_ms(self) -> float:
        used = psutil.Process(self._child.pid).cpu_times()
        return (used.user + used.system) * 1000

    def prompt(self) -> int:
        """Run one turn, deny whatever asks; return how many frames came."""
        prompt = [{"type": "text", "text": "go"}]
        self._number += 1
        self._request(self._number, "session/prompt", sessionId=self._session_id, prompt=prompt)
        frames = 0
        while "method" in (frame := self._next()):
            frames += 1
            if frame["method"] == "session/request_permission":
                self._say({"jsonrpc": "2.0", "id": frame["id"], "result": REJECT})
        return frames

    def gates(self, count: int) -> None:
        prompt = [{"type": "text", "text": "go"}]
        self._request(3, "session/prompt", sessionId=self._session_id, prompt=prompt)
        for _ in range(count):
            card = self._until("method", "session/request_permission")
            self._say({"jsonrpc": "2.0", "id": card["id"], "result": REJECT})

    def close(self) -> None:
        self._child.communicate()

    def _request(self, number: int, method: str, **params: Any) -> None:
        self._say({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def _say(self, frame: dict[str, Any]) -> None:
        assert self._child.stdin
        self._child.stdin.write(json.dumps(frame).encode() + b"\n")
        self._child.stdin.flush()

    def _until(self, field: str, value: object) -> dict[str, Any]:
        while (frame := self._next()).get(field) != value:
            pass
        return frame

    def _next(self) -> dict[str, Any]:
        assert self._child.stdout
        frame: dict[str, Any] = json.loads(self._child.stdout.readline())
        return frame


def gate_ms(folder: str) -> float:
    item = {"call": {"name": "Bash", "args": {"command": "true"}}}
    script = Path(folder) / "script.jsonl"
    script.write_text("".join(json.dumps({"say": [item]}) + "\n" for _ in range(GATES)))
    bridge = Bridge(folder, "--model", f"script:{script}", "--mode", "default")
    before = bridge.cpu_ms()
    bridge.gates(GATES)
    used = bridge.cpu_ms() - before
    bridge.close()
    return used / GATES


def start_ms(folder: str) -> float:
    bridge = Bridge(folder)
    used = bridge.cpu_ms()
    bridge.close()
    return used


def clock_ms(folder: str) -> tuple[float, float, float]:
    """Return by the clock: spawn to `session/new`, spawn to `ready`, the SDK's import."""
    began = time.perf_counter()
    bridge = Bridge(folder)
    opened = time.perf_counter()
    bridge.close()
    imports = time.perf_counter()
    subprocess.run(SDK, cwd=folder, check=True)
    imported = time.perf_counter()
    with Engine(Path(folder)) as engine:
        return (opened - began) * 1000, engine.ready_ms, (imported - imports) * 1000


def sdk_ms(folder: str) -> float:
    def children_ms() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (used.ru_utime + used.ru_stime) * 1000

    before = children_ms()
    subprocess.run(SDK, cwd=folder, check=True)
    return children_ms() - before


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(f"a gate: {gate_ms(folder):.2f} ms CPU (budget 2)")
        start = statistics.median(start_ms(folder) for _ in range(STARTS))
        sdk = statistics.median(sdk_ms(folder) for _ in range(STARTS))
        print(f"start: {start:.0f} ms CPU, the SDK's import alone {sdk:.0f}", end="")
        print(f", added {start - sdk:.0f} (budget 150)")
        rounds = zip(*(clock_ms(folder) for _ in range(STARTS)), strict=True)
        both, engine, sdk = map(statistics.median, rounds)
        print(
            f"by the clock: start {both:.0f} ms, engine {engine:.0f}, import {sdk:.0f}",
            end="",
        )
        print(f", added {both - engine - sdk:.0f} (budget 150)")


if __name__ == "__main__":
    main()
