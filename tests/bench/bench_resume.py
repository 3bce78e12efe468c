"""What `--resume` of a long session costs: `python tests/bench/bench_resume.py [--turns N]`.

A real engine makes some turns of two calls; their records are then copied until there are N turns.
Printed are the seconds to `ready`, and the memory of the engine, beside those of a new session.
Numbers to hold for 3,000 turns: 0.5 s, and 80 MiB.
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
from statistics import median

from wcore.store import Record, identity, journal, sessions
from wcore.store.location import Location
from wcore.store.opening import opened
from wcore.vocabulary import Json

SEEDS = 30  # turns that are made, not copied
ROUNDS = 5
SEED, LONG = "seed", "long"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "note.txt").write_text("a line of text\n" * 40)
        (folder / "home").mkdir()
        script = folder / "script.jsonl"
        script.write_text("".join(_replies()))
        with _engine(folder, script, "--session-id", SEED) as engine:
            assert engine.stdin
            for number in range(SEEDS):
                message = {"type": "message", "msg_id": f"m{number}", "content": "go on"}
                engine.stdin.write(json.dumps(message).encode() + b"\n")
                engine.stdin.flush()
                _hear(engine, "stream_end")
        _copy(folder, given.turns // SEEDS)
        for what, flags in (("new", ()), (f"{given.turns} turns", ("--resume", LONG))):
            measured = [_start(folder, script, *flags) for _ in range(ROUNDS)]
            ready_s, cpu_s, pss_mib = map(median, zip(*measured, strict=True))
            print(f"{what:12} ready after {ready_s:.2f} s ({cpu_s:.2f} of CPU), {pss_mib:.0f} MiB")


def _replies() -> Iterator[str]:
    for _ in range(SEEDS):
        for number in range(2):
            call = {"name": "Read", "args": {"file_path": "note.txt", "offset": number}}
            yield json.dumps({"say": [{"text": "Let me look. " * 5}, {"call": call}]}) + "\n"
        yield json.dumps({"say": [{"text": "That is what the file says. " * 20}]}) + "\n"


def _copy(folder: Path, times: int) -> None:
    user = identity.user_id()
    with opened(_location(folder)) as database:
        records = list(journal.read_all(database, user, SEED))
        lease = sessions.begin(database, user, LONG, str(folder))
        for number in range(times):
            copies = [Record(each.kind, _renamed(each.body, number)) for each in records]
            journal.append(database, lease, copies, durable=False)
        sessions.release(database, lease)


def _renamed(body: object, number: int) -> dict[str, Json]:
    return json.loads(json.dumps(body).replace('"call-', f'"call-{number}-'))


def _start(folder: Path, script: Path, *flags: str) -> tuple[float, float, float]:
    began = time.perf_counter()
    with _engine(folder, script, *flags) as engine:
        _hear(engine, "ready")
        ready_s = time.perf_counter() - began
        fields = Path(f"/proc/{engine.pid}/stat").read_text().rpartition(")")[2].split()
        cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        time.sleep(1)  # its idle work
        rollup = Path(f"/proc/{engine.pid}/smaps_rollup").read_text()
        pss_kib = next(int(line.split()[1]) for line in rollup.splitlines() if "Pss:" in line)
    return ready_s, cpu_s, pss_kib / 1024


def _engine(folder: Path, script: Path, *flags: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "wcore", "--model", f"script:{script}", "--force", *flags],
        cwd=folder,
        env={**os.environ, "HOME": str(folder / "home")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _hear(engine: subprocess.Popen[bytes], kind: str) -> None:
    assert engine.stdout
    while json.loads(engine.stdout.readline())["type"] != kind:
        pass


def _location(folder: Path) -> Location:
    path = str(folder / "home" / ".local" / "state" / "wcore" / "wcore.db")
    return Location(path, path)


if __name__ == "__main__":
    main()
