"""What a journal costs a turn: `python tests/bench/bench_sessions.py [--calls N] [--old N]`.

A turn of 200 calls, one call a reply, in a new session and in a resumed one that has 10,000 calls
already. Numbers to hold: both cost the same per call.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from wcore.persistence import records
from wcore.store import Kind, Record, identity, journal, sessions
from wcore.store.location import Location
from wcore.store.opening import opened
from wcore.vocabulary import (
    AssistantMessage,
    ModelCall,
    Status,
    ToolOutput,
    Usage,
    UserMessage,
)

SESSION = "old"
ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--old", type=int, default=10_000)
    given = parser.parse_args()
    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "note.txt").write_text("a line\n")
            script = folder / "script.jsonl"
            script.write_text("".join(_replies(given.calls)))
            new = _turn(folder, script, "--session-id", "new")
            _fill(folder, given.old)
            old = _turn(folder, script, "--resume", SESSION)
        print(f"round {number + 1}, ms a call (of them computing), and s to `ready`:")
        for what, (wall_s, cpu_s, ready_s) in (("new", new), (f"after {given.old} calls", old)):
            wall_ms, cpu_ms = (1e3 * spent / given.calls for spent in (wall_s, cpu_s))
            print(f"  {what:20}{wall_ms:8.2f} ({cpu_ms:.2f}){ready_s:8.2f}")


def _replies(calls: int) -> Iterator[str]:
    for number in range(calls):
        call = {"name": "Read", "id": f"n{number}", "args": {"file_path": "note.txt"}}
        yield json.dumps({"say": [{"call": call}]}) + "\n"
    yield json.dumps({"say": [{"text": "done"}]}) + "\n"


def _fill(folder: Path, calls: int) -> None:
    """Write the journal of a long session."""
    with opened(_location(folder)) as database:
        lease = sessions.begin(database, identity.user_id(), SESSION, str(folder))
        for number in range(0, calls, 100):
            turn = [record for n in range(number, number + 100) for record in _call(n)]
            message = records.turn_started(f"m{number}", UserMessage("go on"), reopened=False)
            body = [Record(Kind.TURN_STARTED, message), *turn]
            ended = Record(Kind.TURN_ENDED, {"msg_id": f"m{number}", "finish": "stop"})
            journal.append(database, lease, [*body, ended], durable=False)
        sessions.release(database, lease)


def _call(number: int) -> list[Record]:
    call_id = f"old-{number}"
    call = ModelCall(call_id, "Read", {"file_path": "note.txt"})
    reply = AssistantMessage("", "", ((call_id, call),))
    output = ToolOutput(Status.SUCCESS, "a line of output\n" * 20)
    return [
        Record(Kind.REPLIED, records.replied("m", reply, "tools", Usage(10, 10))),
        Record(Kind.DECIDED, {"call_id": call_id, "decision": "approved", "source": "mode"}),
        records.started(call_id),
        records.ended(call_id, "Read", output),
    ]


def _location(folder: Path) -> Location:
    path = str(folder / "home" / ".local" / "state" / "wcore" / "wcore.db")
    return Location(path, path)


def _turn(folder: Path, script: Path, *flags: str) -> tuple[float, float, float]:
    """Return the seconds of the turn, those of them that were computing, and those to `ready`."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "wcore", "--model", f"script:{script}", "--force", *flags],
        cwd=folder,
        env={**os.environ, "HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as engine:
        assert engine.stdin
        assert engine.stdout
        assert json.loads(engine.stdout.readline())["type"] == "ready"
        ready_s = time.perf_counter() - began
        time.sleep(1)  # its idle work is not the turn's
        computed_s = _computed_s(engine.pid)
        began = time.perf_counter()
        engine.stdin.write(b'{"type":"message","msg_id":"new","content":"go"}\n')
        engine.stdin.flush()
        for line in engine.stdout:
            if json.loads(line)["type"] == "stream_end":
                break
        spent_s = time.perf_counter() - began
        computed_s = _computed_s(engine.pid) - computed_s
    return spent_s, computed_s, ready_s


def _computed_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
