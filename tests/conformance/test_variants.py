"""The suite is fair: an engine without everything that may be left out fails nothing."""

import json
import sys
from pathlib import Path

import pytest
import waiting

PROGRAM = str(Path(__file__).parent / "mutants.py")
SLACK = "3"  # CI machines are busy
JOBS = "2"  # as in `test_this_engine`
#: Why a case is not about such an engine, as a person reads it.
LEFT_OUT = ("does not offer", "--help does not name", "does not start with provider", "need not be")
TESTED_AT_LEAST = 110  # of about 150 mandatory cases


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """All cases, judged."""
    report = tmp_path_factory.mktemp("small") / "report.json"
    engine = [sys.executable, PROGRAM, "small"]
    words = ["--slack", SLACK, "--jobs", JOBS, "--json", str(report), "--", *engine]
    waiting.run([sys.executable, "-m", "wcore", "conformance", *words], limit_s=waiting.LONG_S)
    return json.loads(report.read_text())["cases"]


def test_a_small_engine_fails_nothing(cases: list[dict[str, str]]) -> None:
    assert {c["id"]: c["reason"] for c in cases if c["status"] == "FAIL"} == {}


def test_what_it_has_not_is_named(cases: list[dict[str, str]]) -> None:
    reasons = {c["id"]: c["reason"] for c in cases if c["status"] == "NOT_TESTED"}
    assert {i: r for i, r in reasons.items() if not any(each in r for each in LEFT_OUT)} == {}
    assert reasons["question-answered"] == "the engine does not offer AskUserQuestion"
    assert reasons["session-new-or-old"] == "the engine's --help does not name --resume"


def test_what_every_engine_has_is_tested(cases: list[dict[str, str]]) -> None:
    passed = {c["id"] for c in cases if c["status"] == "PASS"}
    assert {"handshake-ready", "call-categories", "turn-text"} <= passed
    assert len(passed) >= TESTED_AT_LEAST
