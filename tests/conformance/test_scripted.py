"""An engine that replays files is judged without HTTP; what cannot be seen then is NOT_TESTED."""

import json
import sys
from pathlib import Path

import waiting
from conformance.judging import SLACK

from wcore.conformance.cases import folder, load
from wcore.conformance.engine.command import Command
from wcore.conformance.engine.patterns import filled
from wcore.conformance.engine.script_export import TWICE, UNSEEN, script_of
from wcore.models import script_file

OURS = (sys.executable, "-P", "-m", "wcore", "--model", "script:{script}", "{flags}")
SAMPLE = ("approval-[a-g]*", "approval-persists", "turn-model-fails*", "prefix-ends-at-a-word")
PASSING = 6  # of the sample


def test_what_the_cases_script_is_in_the_format_of_scripts(tmp_path: Path) -> None:
    names = {"workspace": "/w", "home": "/h", "secret": "s", "python": "p", "nl": "\n"}
    for case in load(folder()):
        path = tmp_path / case.id
        replies = [tuple(filled(list(reply), names)) for reply in case.model]
        path.write_text(script_of(replies))
        assert len(script_file.load(str(path))) > len(case.model), case.id


def test_a_sample_of_cases_holds_without_a_provider(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    only = [word for pattern in SAMPLE for word in ("--only", pattern)]
    flags = ["--slack", f"{SLACK:g}", "--json", str(report), *only]
    done = waiting.run(
        [sys.executable, "-m", "wcore", "conformance", *flags, "--", *OURS], cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    cases = json.loads(report.read_text())["cases"]
    not_tested = [c["reason"] for c in cases if c["status"] == "NOT_TESTED"]
    assert {c["status"] for c in cases} == {"PASS", "NOT_TESTED"}
    assert set(not_tested) == {UNSEEN, TWICE}
    assert len(cases) - len(not_tested) >= PASSING


def test_the_help_of_an_engine_is_asked_for_without_places_and_their_flags() -> None:
    echo = "import sys; print(sys.argv[1:])"
    command = Command((sys.executable, "-c", echo, "--llm", "{base_url}", "--ttl={ttl_s}", "--yes"))
    assert command.help_text.strip() == "['--yes', '--help']"
