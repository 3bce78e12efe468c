"""What each host adds to the engine: a start, a gate, many deltas, memory.

    python -m tests.bench.bench_hosts [--runs N] [--quick]

The floor is the engine itself, driven over bare pipes in the same run. The TypeScript host is
built on the way and left out where there is no Node or no `tsc` in `node_modules`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from tests.bench.bench_acp import Bridge
from tests.bench.engines import Engine, cpu_ms, memory_mib, write_script
from tests.bench.floors import Values

HERE: Final = Path(__file__).parent
PACKAGE: Final = HERE.parent.parent / "hosts" / "typescript"
MODULES: Final = Path(os.environ.get("WCORE_NODE_MODULES") or HERE.parent.parent / "node_modules")
ENGINE: Final = (sys.executable, "-P", "-m", "wcore")
CALL: Final[list[object]] = [{"call": {"name": "Bash", "args": {"command": "true"}}}]
TEXT: Final[list[object]] = [{"text": "done"}]
RUNS: Final = 3
GATES, DELTAS = 1_000, 20_000
QUICK: Final = 50  # how much less of each


def raw(place: Path, *flags: str) -> Values:
    """The engine over bare pipes."""
    with Engine(place, *flags) as engine:
        engine.message()
        engine.hear("stream_start")
        accepted = (time.perf_counter() - engine.began) * 1000
        engine.pass_over()
        began = time.perf_counter()
        engine.message("go")
        while (event := engine.next())["type"] != "stream_end":
            if event["type"] == "tool_request":
                engine.deny(event)
        return {"accepted": accepted, "took": (time.perf_counter() - began) * 1000}


def program(place: Path, *command: str) -> Values:
    """A host that measures itself."""
    env = {**os.environ, "HOME": str(place)}
    done = subprocess.run(command, cwd=place, env=env, check=True, stdout=subprocess.PIPE)
    found: Values = json.loads(done.stdout)
    return found


def acp(place: Path, *flags: str) -> Values:
    """The bridge, with us as the editor."""
    began = time.perf_counter()
    bridge = Bridge(str(place), *flags)
    bridge.prompt()
    accepted = (time.perf_counter() - began) * 1000
    before, used = memory_mib(bridge.pid), cpu_ms(bridge.pid)
    began = time.perf_counter()
    events = bridge.prompt()
    took = (time.perf_counter() - began) * 1000
    found = {"cpu": cpu_ms(bridge.pid) - used, "grown": memory_mib(bridge.pid) - before}
    bridge.close()
    return {"accepted": accepted, "took": took, "events": events, **found}


def built(folder: Path) -> Path | None:
    """Build the TypeScript host; return its entry, `None` where that cannot be done."""
    if not shutil.which("node") or not (MODULES / ".bin" / "tsc").exists():
        return None
    copy = folder / "host"
    ignored = shutil.ignore_patterns("node_modules", "dist")
    shutil.copytree(PACKAGE, copy, ignore=ignored)
    (copy / "node_modules").symlink_to(MODULES)
    subprocess.run((str(MODULES / ".bin" / "tsc"), "-p", str(copy)), check=True)
    return copy / "dist" / "index.js"


def one_run(folder: Path, entry: Path | None, model: str) -> dict[str, Values]:
    """Measure one script through every host; its first turn warms up, its second is measured."""
    flags = ("--max-turns", "1000000", "--model", model)
    node = ("node", "--expose-gc", str(HERE / "node_host.mjs"), str(entry), "2")
    python = (sys.executable, "-P", str(HERE / "python_host.py"), "2")
    found = {"pipes": raw(folder, *flags), "Python": program(folder, *python, *ENGINE, *flags)}
    if entry:
        found["TypeScript"] = program(folder, *node, *ENGINE, *flags)
    return {**found, "ACP": acp(folder, "--mode", "default", *flags)}


def middle(rounds: list[dict[str, Values]], host: str, name: str) -> float:
    return median(one[host].get(name, 0.0) for one in rounds)


def report(what: str, count: int, rounds: list[dict[str, Values]]) -> None:
    floor = middle(rounds, "pipes", "took")
    for host in rounds[0]:
        took, cpu = middle(rounds, host, "took"), middle(rounds, host, "cpu")
        print(
            f"{what:7} {host:11} prompt accepted after {middle(rounds, host, 'accepted'):6.0f} ms; "
            f"{count:,} took {took:7.0f} ms, added {(took - floor) / count:7.3f} ms each, "
            f"host's CPU {cpu / count:6.3f} ms each; grew {middle(rounds, host, 'grown'):5.1f} MiB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    less = QUICK if given.quick else 1
    with TemporaryDirectory() as name:
        folder = Path(name)
        entry = built(folder)
        place = folder / "place"
        place.mkdir()
        gates, deltas = GATES // less, DELTAS // less
        many: list[object] = [{"text": "word {n} ", "repeat": deltas}]
        for what, count, replies in (
            ("gates", gates, (TEXT, *([CALL] * gates), TEXT)),
            ("deltas", deltas, (TEXT, many)),
        ):
            model = write_script(folder, *replies)
            rounds = [one_run(place, entry, model) for _ in range(given.runs)]
            report(what, count, rounds)
    print(f"{given.runs} runs; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
