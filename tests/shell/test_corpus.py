import io
import json
import sys
from collections import Counter
from pathlib import Path

import pytest
import waiting

from .corpus import FOLDER, SEVERITIES, Case, read_cases
from .score import our_decisions, read_decisions, score, table

CASES = read_cases()
ROOT = FOLDER.parents[2]


def test_the_corpus_has_the_cases_it_promises() -> None:
    groups = Counter(case.group for case in CASES)
    assert len(CASES) >= 2000
    assert len(groups) >= 90
    assert sum(case.covered for case in CASES) >= 500
    assert sum(case.severity == "unsound" for case in CASES) >= 1000


def test_every_case_is_told_apart_and_labelled() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
    assert len({(case.grants, case.text) for case in CASES}) == len(CASES)
    for case in CASES:
        assert case.why
        assert case.id.startswith(f"{case.group}-")
        assert case.covered == (case.severity == "")
        assert case.covered or case.severity in SEVERITIES


def test_our_gate_covers_nothing_that_must_ask_and_asks_for_nothing_that_is_covered() -> None:
    result = score(CASES, our_decisions(CASES))
    shown = [f"{deviation} {case.id} {case.text[:80]!r}" for deviation, case in result.failures]
    assert not shown, "\n".join([*shown, table(result)])


def test_outside_the_rule_our_gate_covers_two_harmless_texts_and_no_more() -> None:
    decisions = our_decisions(CASES)
    covered = [case.text for case in CASES if case.severity == "policy" and decisions[case.id]]
    assert sorted(covered) == ["./run.sh && cd sub", "make;#"]


def _case(severity: str) -> Case:
    return Case(severity or "fine", "group", ("make",), "make", severity == "", severity, "why")


@pytest.mark.parametrize("severity", ["unsound", "spec", "latent", "argument"])
def test_covering_what_must_ask_is_a_failure(severity: str) -> None:
    result = score([_case(severity)], {severity: True})
    assert [deviation for deviation, _ in result.failures] == [severity]
    assert not score([_case(severity)], {severity: False}).failures


def test_asking_for_a_covered_text_is_needless_and_a_failure() -> None:
    assert [found for found, _ in score([_case("")], {"fine": False}).failures] == ["needless"]


@pytest.mark.parametrize("severity", ["policy", "advisory"])
def test_a_deviation_is_counted_and_is_no_failure(severity: str) -> None:
    result = score([_case(severity)], {severity: True})
    assert result.totals == {severity: 1}
    assert not result.failures


def test_a_case_without_a_decision_is_a_failure() -> None:
    lines = io.StringIO('{"id": "fine", "decision": "maybe"}\n\n{"id": "spec"}\n')
    decisions = read_decisions(lines)
    result = score([_case(""), _case("spec"), _case("latent")], decisions)
    assert [deviation for deviation, _ in result.failures] == ["undecided"] * 3


def test_another_gate_is_scored_without_ours(tmp_path: Path) -> None:
    decided = ("covered" if case.covered else "asks" for case in CASES)
    lines = (json.dumps({"id": case.id, "decision": word})
             for case, word in zip(CASES, decided, strict=True))  # fmt: skip
    (tmp_path / "decisions").write_text("\n".join(lines))
    (tmp_path / "wcore.py").write_text("raise ImportError('the score must not need the engine')")
    command = [sys.executable, "-m", "tests.shell.score", "--decisions", tmp_path / "decisions"]
    environ = {"PYTHONPATH": str(tmp_path)}
    done = waiting.run(command, cwd=ROOT, env=environ)
    assert done.returncode == 0, done.stderr
    assert "total of" in done.stdout
