"""What the sandbox adds to a call of Bash: `python tests/bench/bench_sandbox.py`.

`tool_running` to `tool_result` of `true`, of real engines, one without and one with a sandbox after
the other in the same run; in workspaces of few and many files, and with many to be hidden.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

CALLS = 60
FIRST = 3  # calls that are not counted: the sandbox is made ready in one of them
ROUNDS = 3
#: Files in the workspace, and how many of them are secrets.
KINDS = {
    **{"50 files": (50, 0), "2,000 files": (2_000, 0)},
    **{"20 hidden": (50, 20), "100 hidden": (50, 100)},
}


def call_ms(files: int, secrets: int, *flags: str) -> float:
    """Return how long a call takes, the median of an engine's."""
    with TemporaryDirectory() as folder:
        workspace, script = Path(folder) / "ws", Path(folder) / "script.jsonl"
        for number in range(files):
            path = workspace / f"folder{number % 10}" / f"file{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
        for number in range(secrets):
            (workspace / f".env.{number}").write_text("x")
        one = {"say": [{"call": {"name": "Bash", "args": {"command": "true"}}}]}
        says = [*([one] * CALLS), {"say": [{"text": "done"}]}]
        script.write_text("".join(f"{json.dumps(each)}\n" for each in says))
        argv = [sys.executable, "-m", "wcore", "--json-stream", "--force", "--model"]
        process = subprocess.Popen(
            [*argv, f"script:{script}", *flags],
            cwd=workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "HOME": folder},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with process:
            process.stdin.write(b'{"type":"message","msg_id":"m1","content":"go"}\n')
            process.stdin.flush()
            took, began = list[float](), 0.0
            for line in process.stdout:
                match json.loads(line):
                    case {"type": "tool_running"}:
                        began = time.perf_counter()
                    case {"type": "tool_result", "status": "success"}:
                        took.append((time.perf_counter() - began) * 1000)
                    case {"type": "stream_end"}:
                        break
                    case _:
                        pass
            process.stdin.close()
        assert len(took) == CALLS, f"{len(took)} calls came to a result"
        return statistics.median(took[FIRST:])


def main() -> None:
    for kind, (files, secrets) in KINDS.items():
        bare, held = list[float](), list[float]()
        for _ in range(ROUNDS):
            bare.append(call_ms(files, secrets))
            held.append(call_ms(files, secrets, "--sandbox", "required"))
        floor, found = statistics.median(bare), statistics.median(held)
        print(
            f"{kind:12} without {floor:5.1f} ms   with {found:5.1f} ms   + {found - floor:.1f} ms"
        )


if __name__ == "__main__":
    main()
