"""The command that measures works; what it measures is judged by people, not by tests."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PATIENCE_S: Final = 300  # about 20 s on an idle machine

TITLES: Final = (
    *("spawn -> ready", "message -> card, Bash", "approve -> tool_running", "gated calls"),
    *("text deltas", "delta from provider to host, p99", "memory idle", "stop -> end of the turn"),
    *("many pending: a card", "decide, command of 16 KiB, CPU"),
)
CURVES: Final = {"history", "session", "pending", "rules", "command"}


def test_one_command_measures_the_engine_and_draws_what_grows(tmp_path: Path) -> None:
    numbers, pictures = tmp_path / "numbers.json", tmp_path / "pictures"
    flags = ("--quick", "--runs", "1", "--json", str(numbers), "--curves", str(pictures))
    done = subprocess.run(
        (sys.executable, "-m", "tests.bench", *flags),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = {row["title"]: row for row in json.loads(numbers.read_text())["rows"]}
    for title in TITLES:
        assert f"\n{title} " in done.stdout
        assert rows[title]["median"] > 0
        assert rows[title]["ratio"] is None or rows[title]["ratio"] > 0
    assert rows["child dead before that, at the least"]["met"], "no child outlives its turn"
    assert {path.stem for path in pictures.glob("*.svg")} == CURVES
    assert all(path.read_text().endswith("</svg>\n") for path in pictures.glob("*.svg"))
