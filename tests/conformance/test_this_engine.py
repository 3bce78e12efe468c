"""Our engine passes the whole suite, as its user would run it."""

import json
import sys
from pathlib import Path

import selection
import waiting

#: What this engine does not announce; everything else is run.
NOT_ANNOUNCED = {"mcp"}
SLACK = "3"  # CI machines are busy
JOBS = "2"  # other tests run beside it, and an engine has limits of its own that no slack stretches

SAMPLE = "handshake-ready approval-once approval-expires stop-while-a-tool-runs session-*".split()
ONLY = [word for pattern in SAMPLE for word in ("--only", pattern)] if selection.IS_FAST else []


def test_our_engine_conforms(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    words = ["--slack", SLACK, "--jobs", JOBS, "--json", report, *ONLY]
    done = waiting.run(
        [sys.executable, "-m", "wcore", "conformance", *words], cwd=tmp_path, limit_s=waiting.LONG_S
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
    cases = json.loads(report.read_text())["cases"]
    assert [c["id"] for c in cases if c["status"] == "NOT_TESTED"] == []
    reasons = {c["reason"] for c in cases if c["status"] == "SKIP"}
    lacks = {f"the engine does not announce {flag}" for flag in NOT_ANNOUNCED}
    assert reasons <= lacks | {"the engine announces introspection"}
    assert [c["id"] for c in cases if c["status"] == "FAIL"] == []
