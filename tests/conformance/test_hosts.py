"""`wcore conformance host`: our hosts survive everything, broken ones are caught."""

import shutil
import sys
from pathlib import Path

import pytest
import waiting
from conformance.hosts import BROKEN
from conformance.judging import SCENARIOS, SLACK

from wcore.conformance.host.runner import HostRunner
from wcore.conformance.outcomes import Status
from wcore.conformance.reporting import failure_of

HERE = Path(__file__).parent
SHELL_HOST = str(HERE.parents[1] / "hosts" / "shell" / "wcore-ask.sh")
PYTHON = (sys.executable, "-P")
SLACK_OF_THE_BROKEN = 0.25  # where the failure is that nothing happens

#: host: the scenario that catches it, and a part of what the report says.
CAUGHT_BY = {
    "NeverAnswers": ("plain", "did not answer ['last']"),
    "AnswersAnotherCard": ("plain", "answered 'lastx', which does not wait"),
    "HasOneCardOnly": ("parallel", "did not answer ['c1']"),
    "DiesOfTheUnknown": ("unknown", "died"),
    "EndsOnError": ("error-in-turn", "did not answer ['last']"),
    "KeepsNewsToItself": ("information", "does not show"),
    "ShortLines": ("long-line", "died"),
    "DecodesPieces": ("split-characters", "does not show"),
    "NeverReadsTheLog": ("talkative-log", "does not end"),
    "WaitsForADeadEngine": ("crash", "does not end"),
    "HidesTheCrash": ("crash-at-a-card", "ended with 0"),
    "SendsRubbish": ("plain", "a line that is no command"),
    "UsesWhatIsNotThere": ("baseline", "what no flag announced"),
    "AnswersClosedCards": ("late-settle", "answered 'c1', which does not wait"),
    "ShowsEscapes": ("terminal-tricks", "escape sequences"),
    "KeepsTheReasonToItself": ("refuses-to-start", "does not show"),
    "Impatient": ("slow-start", "died"),
    "LeavesEarly": ("plain", "did not answer"),
    "RepeatsTheMsgId": ("plain", "was used before"),
    "EditsWithoutTheDigest": ("plain", "without the digest"),
    "JoinsTheLabels": ("multi-select", "no JSON array of labels"),
    "ApprovesWhatItDoesNotUnderstand": ("not-understood", "nobody has said yes"),
    "TakesTheEndForAYes": ("input-ends", "nobody has said yes"),
    "ApprovesUnseen": ("long-command", "neither showed in full"),
    "ApprovesSilently": ("approves-by-itself", "does not show"),
    "KillsTheEngine": ("lingers", "did not tell the engine to exit"),
    "LeavesTheEngineBehind": ("lingers", "did not tell the engine to exit"),
    "SignalsFirst": ("lingers", "before it closed"),
}
ASK_NOBODY = {"ApprovesSilently"}
TYPED = b"go\ny\n"
OF_A_PERSON = {"not-understood", "input-ends", "long-command"}
FULL_PATIENCE = {"Impatient", "AnswersClosedCards"}


#: Hosts that survive everything: ours, and the one that the broken ones come from.
SOUND = {
    "chat": HostRunner(
        (*PYTHON, "-m", "wcore_host.chat", "--engine", "{engine}"), b"go\ny\ny\n", SLACK
    ),
    "shell": HostRunner(
        (SHELL_HOST, "--engine", "{engine}", "--allow", "Bash", "go"), b"", SLACK, approves=True
    ),
    "library": HostRunner(
        (*PYTHON, str(HERE / "library_host.py"), "{engine}"), b"", SLACK, approves=True
    ),
    "good": HostRunner((*PYTHON, str(HERE / "hosts.py"), "Good", "{engine}"), b"", SLACK),
}


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("host", SOUND)
async def test_a_host_survives_everything(host: str, scenario: str) -> None:
    if host == "shell" and shutil.which("jq") is None:
        pytest.skip("this host needs jq")
    runner = SOUND[host]
    outcome = await runner.run(SCENARIOS[scenario])
    skipped = OF_A_PERSON if runner.approves else {"approves-by-itself"}
    status = Status.SKIP if scenario in skipped else Status.PASS
    assert outcome.status is status, failure_of(outcome)


def test_there_is_a_scenario_for_every_broken_host() -> None:
    assert set(CAUGHT_BY) == set(BROKEN)


@pytest.mark.parametrize("host", CAUGHT_BY)
async def test_a_broken_host_is_caught(host: str) -> None:
    scenario, says = CAUGHT_BY[host]
    words = (*PYTHON, str(HERE / "hosts.py"), host, "{engine}")
    slack = 1.0 if host in FULL_PATIENCE else SLACK_OF_THE_BROKEN
    outcome = await HostRunner(words, TYPED, slack, host in ASK_NOBODY).run(SCENARIOS[scenario])
    assert outcome.status is Status.FAIL
    assert says in outcome.reason
    assert outcome.requires


@pytest.mark.parametrize("words", [["--"], ["--", "true"], ["--only", "nope", "--", "{engine}"]])
def test_wrong_usage_says_what_to_do(words: list[str]) -> None:
    done = waiting.run([sys.executable, "-m", "wcore", "conformance", "host", *words])
    assert done.returncode == 2
    assert "--help" in done.stderr
