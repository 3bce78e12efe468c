"""Deliberately broken engines: a thin proxy around ours that spoils one thing.

`python mutants.py NAME ENGINE-ARGUMENTS`. Each class is one way of being wrong; `faithful` spoils
nothing.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # it is run as a program, too

from conformance import mutant, mutants_of_calls, mutants_of_lines
from conformance.mutant import Faithful
from conformance.mutants_of_calls import Grants, Rules
from conformance.variants import Small


def kebab(name: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).strip("-")


MUTANTS = {
    kebab(name): kind
    for room in (mutant, mutants_of_lines, mutants_of_calls)
    for name, kind in vars(room).items()
    if isinstance(kind, type) and issubclass(kind, Faithful) and kind not in (Grants, Rules)
}


def listen(broken: Faithful) -> None:
    for line in sys.stdin.buffer:
        try:
            command: Any = json.loads(line)
            assert isinstance(command, dict)
            assert isinstance(command["type"], str)
        except (ValueError, AssertionError, KeyError, RecursionError):
            broken.up_raw(line)
            continue
        changed = broken.up(json.loads(line))
        if changed == [command]:
            broken.tell(line)
        else:
            for one in changed:
                broken.command(**one)
    broken.ended()


def leave_with_the_host(engine: "subprocess.Popen[bytes]") -> None:
    poll = select.poll()
    poll.register(1, 0)
    poll.poll()  # nobody reads any more
    engine.terminate()


def main() -> int:
    broken = {**MUTANTS, "small": Small}[sys.argv[1]]()
    words = broken.arguments(sys.argv[2:])
    engine = subprocess.Popen(
        [sys.executable, "-P", "-m", "wcore", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda n, _: engine.send_signal(n))
    broken.engine = engine
    broken.started()
    threading.Thread(target=listen, args=(broken,), daemon=True).start()
    threading.Thread(target=leave_with_the_host, args=(engine,), daemon=True).start()
    assert engine.stdout
    for line in engine.stdout:
        try:
            event = json.loads(line)
        except ValueError:  # `--help`, `--version`
            sys.stdout.buffer.write(line)
            continue
        if event["type"] == "tool_request":
            broken.asked[event["call_id"]] = json.loads(line)
        for one in broken.down(event):
            broken.say(one)
    sys.stdout.flush()
    return engine.wait()


if __name__ == "__main__":
    code = main()
    os._exit(code if code >= 0 else 128 - code)
