"""What the engine costs: `python -m tests.bench` prints a table; from the project's root.

    python -m tests.bench [--runs N] [--json FILE] [--curves FOLDER] [--quick]

Every number is held against a floor: what the machine takes for the same thing without an
engine, measured in the same run. On a busy machine look at the ratios. `--curves` draws what
grows, one SVG each. A missed goal fails nothing.

The other benches measure one thing more closely, each a program of its own:

    bench_decide.py    one decision, with 1,000 rules and 1,000 grants
    bench_shell.py     the analysis of shell text
    bench_models.py    requests and deltas of a real model's protocol
    bench_sandbox.py   what a call costs in the sandbox
    bench_questions.py how often a person is asked, by mode; needs the network
    bench_store.py     journal, grants and audit on disk
    bench_hosts.py     what each host adds to a start, a gate, many deltas (python -m)
    bench_acp.py       what the bridge to ACP editors adds, more closely (python -m)
    bench_terminal.py  the full-screen terminal host
    bench_web.py       the host in the browser
"""

import argparse
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench import curves, floors, measures, table
from tests.bench.floors import Values
from tests.bench.measures import QUICK, Sizes

RUNS = 3
ROUNDS = 50
QUICK_SCALE = 0.02


def one_run(sizes: Sizes) -> Values:
    with TemporaryDirectory() as folder:
        floor = floors.one_run(ROUNDS, sizes.deltas)
        return {**floor, **measures.one_run(Path(folder), sizes)}


def drawn_curves(folder: Path, scale: float) -> list[str]:
    """Measure and draw every curve; return a line about each."""
    folder.mkdir(parents=True, exist_ok=True)
    said: list[str] = []
    for measure in curves.ALL:
        curve = measure(scale)
        path = folder / f"{curve.name}.svg"
        path.write_text(curves.svg(curve))
        said.append(f"{path}: {curve.y} over {curve.x}: {curve.verdict}")
    return said


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--runs", type=int, default=RUNS, metavar="N", help=f"measure everything N times ({RUNS})")
    add("--json", type=Path, metavar="FILE", help="write the numbers here too")
    add("--curves", type=Path, metavar="FOLDER", help="draw what grows, as SVG, into FOLDER")
    add("--quick", action="store_true", help="tiny numbers: to see that it works")
    given = parser.parse_args()
    sizes = QUICK if given.quick else Sizes()
    load = os.getloadavg()[0]
    rows = table.judged([one_run(sizes) for _ in range(max(1, given.runs))])
    print(table.drawn(rows))
    print(f"{max(1, given.runs)} runs; {os.cpu_count()} cores, load {load:.1f} at the start")
    if given.json:
        given.json.write_text(json.dumps({"load": load, "rows": rows}, indent=1) + "\n")
    if given.curves:
        print("\n".join(drawn_curves(given.curves, QUICK_SCALE if given.quick else 1.0)))


if __name__ == "__main__":
    main()
