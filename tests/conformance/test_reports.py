"""What a person, CI and a program get from a run; and what wrong usage gets."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import waiting

from wcore.conformance.cases import folder
from wcore.conformance.engine.patterns import difference, filled

MUTANTS = str(Path(__file__).parent / "mutants.py")
CASES = r"""
[[case]]
id = "good"
title = "a ping is answered"
requires = ["WC-CMD-002"]
steps = [{ quiet = [] }]

[[case]]
id = "bad"
title = "a wish <that> no engine grants"
requires = ["WC-CMD-001"]
steps = [{ raw = "\u001b]0;owned & <b>" }, { hear = "pong" }]

[[case]]
id = "advice"
tier = "advisory"
title = "told, never counted"
requires = ["WC-CMD-001"]
steps = [{ raw = "{" }, { hear = "pong" }]

[[case]]
id = "flag"
tier = "capability"
capability = "telepathy"
title = "of a flag that nobody has"
requires = ["WC-CMD-001"]
steps = [{ quiet = [] }]

[[case]]
id = "hook"
title = "needs a flag that nobody has"
requires = ["WC-CMD-001"]
flags = ["--telepathy"]
steps = [{ quiet = [] }]
"""


def conformance(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return waiting.run([sys.executable, "-m", "wcore", "conformance", *words])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "invariants.toml").write_text((folder() / "invariants.toml").read_text())
    (tmp_path / "own.toml").write_text(CASES)
    return tmp_path


def test_one_run_in_all_its_reports(place: Path) -> None:
    junit, report = place / "j.xml", place / "r.json"
    done = conformance("--cases", place, "--junit", junit, "--json", report)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout, "no colours and no tricks in a pipe"
    for text in ("requires    WC-CMD-001", "error comes instead of pong", "→ ", "← ", "own.toml"):
        assert text in done.stdout
    told = json.loads(report.read_text())
    assert told["failures_that_count"] == 1
    assert told["totals"]["mandatory"] == {"PASS": 1, "FAIL": 1, "NOT_TESTED": 1}
    status = {case["id"]: case["status"] for case in told["cases"]}
    assert status == {
        "good": "PASS",
        "bad": "FAIL",
        "advice": "FAIL",
        "flag": "SKIP",
        "hook": "NOT_TESTED",
    }
    suite = ET.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "1", "3")
    failure = suite.find("testcase[@name='bad']/failure")
    assert failure is not None
    assert "owned & <b>" in (failure.text or "")
    advice = suite.find("testcase[@name='advice']")
    assert advice is not None
    assert [inner.tag for inner in advice] == ["skipped", "system-out"]


def test_a_failure_that_is_only_advice_does_not_count(place: Path) -> None:
    assert conformance("--cases", place, "--only", "advice").returncode == 0


def test_cases_are_chosen_by_requirement_too(place: Path) -> None:
    listed = conformance("--cases", place, "--list", "--only", "WC-CMD-002").stdout
    assert listed.split()[0] == "good"
    assert "bad" not in listed


def test_a_command_of_its_own_style_is_not_given_the_arguments_of_hosts(place: Path) -> None:
    words = [sys.executable, MUTANTS, "faithful", "--base-url={base_url}", "--provider=openai"]
    report = place / "r.json"
    only = ["--only", "good", "--only", "hook"]
    done = conformance("--cases", place, *only, "--json", report, "--", *words, "--model={model}")
    assert done.returncode == 0, done.stdout
    cases = {case["id"]: case for case in json.loads(report.read_text())["cases"]}
    assert cases["hook"]["status"] == "NOT_TESTED"
    assert "{flags}" in cases["hook"]["reason"]


def test_an_engine_that_is_no_engine_fails_and_says_how(place: Path) -> None:
    done = conformance("--cases", place, "--only", "good", "--", "true")
    assert done.returncode == 1
    assert "stdout has ended" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[case]", "own.toml"),
        ('[[case]]\nid = "a"', "title, requires and steps"),
        ('[[case]]\nid="a"\ntitle="t"\nrequires=["x"]\nsteps=[{leap=1}]', "is no step"),
        (
            '[[case]]\nid="a"\ntitle="t"\nrequires=["x"]\nsteps=[{eof=true,by=1}]',
            "does not know by",
        ),
        ('[[case]]\nid="a"\ntitle="t"\ncolour=1', "unknown colour"),
    ],
)
def test_a_wrong_case_file_is_explained(place: Path, text: str, says: str) -> None:
    (place / "own.toml").write_text(text)
    done = conformance("--cases", place)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--jobs", "0"],
        ["--only", "nope"],
        ["--", "no-such-program"],
        ["--junit", "/no/such/folder/j.xml"],
        ["--json", "/"],
    ],
)
def test_wrong_usage_is_two(words: list[str]) -> None:
    done = conformance(*words)
    assert done.returncode == 2
    assert "--help" in done.stderr


def test_slots_are_filled_and_other_braces_are_left() -> None:
    known = {"card": {"call_id": "c1", "n": 7}}
    assert filled('{"id":"{card.call_id}"} {other} {}', known) == '{"id":"c1"} {other} {}'
    assert filled(["{card.n}"], known) == [7]


def test_a_pattern_asks_for_a_part_and_matchers_for_the_rest() -> None:
    event = {"type": "x", "a": {"b": [1, "two"]}, "flag": True}
    assert difference(event, {"hear": {"type": "x", "a": {"b": [1, "two"]}}}) is None
    assert difference(event, {"hear": {"flag": 1}}) == "flag is True, not 1"
    assert difference(event, {"hear": "x", "has": ["a.b.1"], "lacks": ["a.c"]}) is None
    assert difference(event, {"hear": "x", "length": {"a.b": 3}}) == "a.b is [1, 'two']"
    assert difference(event, {"hear": "x", "contains": {"a.b": "two"}}) is None


ENDINGS = """
[[case]]
id = "ends"
title = "it ends by itself"
requires = ["WC-EOF-001"]
steps = [{ eof = true }, { exit = 7 }]

[[case]]
id = "killed"
title = "it catches what cannot be caught"
requires = ["WC-EOF-004"]
steps = [{ signal = "KILL" }, { exit = 137 }]

[[case]]
id = "given"
title = "what may be there"
requires = ["WC-APPR-021"]
steps = [{ given = "ready.wisdom" }, { hear = "pong" }]
"""


def test_the_report_says_how_an_engine_ended_and_what_was_not_there(place: Path) -> None:
    (place / "own.toml").write_text(ENDINGS)
    said = conformance("--cases", place).stdout
    assert "the engine ended with 0, not with 7" in said
    assert "the engine was ended by SIGKILL, not with 137" in said
    assert "NOT_TESTED given  (ready.wisdom is not there, and need not be)" in said
