"""How long the shell analysis takes: `python tests/bench/bench_shell.py`."""

import statistics
import time
from collections.abc import Callable

import anyio

from wcore.cli.main import read_shell_texts
from wcore.policy.shell import analyse, lex, warm
from wcore.policy.shell.analysis import COMMANDS_MAX, TEXT_BYTES_MAX
from wcore.shell_worker import ShellWorker
from wcore.supervisor import process
from wcore.supervisor.client import Supervisor

TYPICAL = {
    "one word": "ls",
    "one command": "cargo test --lib -- --nocapture",
    "a pipeline": "cargo test 2>&1 | grep -v '^warning' | tail -20",
    "a chain": 'git add -A && git commit -m "fix: $USER" && git log --oneline -n 3; git status',
    "nearly 200 bytes": """\
cd sub && RUST_LOG=debug cargo run -- --name="a b" ~/data/*.json {x,y} $FLAGS \\
  --out ${HOME}/z < in.txt 2>/dev/null || echo 'it did not work: see the log' # why: see #12
ls""",
}
UNITS = {
    "words": "abc ",
    "one quoted word": "x",
    "parameters": "$x ",
    "quoted words": "'a b' \"c $d\" ",
    "one joined word": "'a'$b\"c\"",
    "lines": "some-crate --release\ncargo build ",
    "chain": "some-crate --release && cargo build ",
}


def long_text(name: str, size: int) -> str:
    """Return a command of at most `size` bytes and `COMMANDS_MAX` commands."""
    unit = UNITS[name]
    count = (size - 16) // len(unit)
    if "cargo" in unit:
        count = min(count, COMMANDS_MAX - 1)
    return f"cargo run '{unit * count}'" if unit == "x" else "cargo run " + unit * count


def measure(name: str, run: Callable[[], object], rounds: int) -> None:
    """Measure the processor's time: it does not depend on what else the machine does."""
    took: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        run()
        took.append((time.process_time() - began) * 1e6)
    report(name, took)


def report(name: str, took: list[float]) -> None:
    middle = statistics.median(took)
    print(f"{name:42} {middle:9.0f} {min(took):9.0f} {max(took):9.0f}")


async def round_trips() -> None:
    link, pid = process.fork(read_shell_texts)
    supervisor = Supervisor(link, pid)
    reader = ShellWorker(supervisor)
    began = time.perf_counter()
    await reader.confirm(lex(":"))
    report("worker: start", [(time.perf_counter() - began) * 1e6])
    for name, text in (*TYPICAL.items(), ("4 KiB of words", long_text("words", 4096))):
        took: list[float] = []
        for _ in range(200):
            began = time.perf_counter()
            await reader.confirm(lex(text))
            took.append((time.perf_counter() - began) * 1e6)
        report(f"worker: {name}", took)
    await reader.close()
    supervisor.close()


def main() -> None:
    began = time.perf_counter()
    warm()
    print(f"{'µs':42} {'median':>9} {'min':>9} {'max':>9}")
    report("import of bashlex", [(time.perf_counter() - began) * 1e6])
    for name, text in TYPICAL.items():
        measure(f"{name} ({len(text.encode())} bytes)", lambda text=text: analyse(text), 300)
    for size, rounds in ((4096, 20), (TEXT_BYTES_MAX, 5)):
        for name in UNITS:
            text = long_text(name, size)
            reason = analyse(text).reason or "understood"
            title = f"{name} ({len(text.encode())} bytes, {reason})"
            measure(title, lambda text=text: analyse(text), rounds)
            measure("    the lexer alone", lambda text=text: lex(text), rounds)
    anyio.run(round_trips)


if __name__ == "__main__":
    main()
