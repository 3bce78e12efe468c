"""Our engine passes the whole suite: each case by itself, and some as its user runs them."""

import json
import sys
from pathlib import Path
from typing import Final

import pytest
import selection
import waiting
from conformance.judging import CASES, SLACK, runner_of

from wcore.conformance.cases import Case
from wcore.conformance.outcomes import Status
from wcore.conformance.reporting import failure_of

#: Why a case is not about this engine: it must be a reason that holds.
NOT_OURS: Final = {"the engine does not announce mcp", "the engine announces introspection"}
SAMPLE: Final = ("handshake-ready", "approval-once", "approval-expires", "stop-while-a-tool-runs")
RUNNER: Final = runner_of([])


def chosen() -> list[Case]:
    """All cases; where little is run, a few and those of sessions."""
    if not selection.IS_FAST:
        return list(CASES.values())
    return [case for case in CASES.values() if case.id in SAMPLE or case.id.startswith("session-")]


@pytest.mark.parametrize("case", chosen(), ids=lambda case: case.id)
async def test_our_engine_passes(case: Case) -> None:
    outcome = await RUNNER.run(case)
    if outcome.status is Status.SKIP:
        assert outcome.reason in NOT_OURS
    else:
        assert outcome.status is Status.PASS, failure_of(outcome)


def test_the_command_judges_our_engine(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    only = [word for name in SAMPLE for word in ("--only", name)]
    words = ["--slack", f"{SLACK:g}", "--json", report, *only]
    done = waiting.run([sys.executable, "-m", "wcore", "conformance", *words], cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    judged = json.loads(report.read_text())["cases"]
    assert {case["id"]: case["status"] for case in judged} == dict.fromkeys(SAMPLE, "PASS")
