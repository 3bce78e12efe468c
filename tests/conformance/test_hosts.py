"""`wcore conformance host`: our hosts survive everything, broken ones are caught."""

import shutil
import sys
from pathlib import Path

import anyio
import pytest
import waiting
from conformance.hosts import BROKEN

from wcore.conformance.cases import Case
from wcore.conformance.host.runner import HostRunner, host_cases
from wcore.conformance.outcomes import Outcome, Status

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTHON = (sys.executable, "-P")
JOBS = 4
SLACK = 3.0  # CI machines are busy
SLACK_OF_THE_BROKEN = 0.25  # where the failure is that nothing happens

#: host: the scenario that catches it, and a part of what the report says.
CAUGHT_BY = {
    "NeverAnswers": ("plain", "did not answer ['last']"),
    "AnswersAnotherCard": ("plain", "answered 'lastx', which does not wait"),
    "HasOneCardOnly": ("parallel", "did not answer"),
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
FULL_PATIENCE = {"Impatient", "AnswersClosedCards", "HasOneCardOnly"}


def failures(judge: HostRunner) -> dict[str, str]:
    def quiet(outcome: Outcome) -> None:
        pass

    outcomes = anyio.run(judge.judge_all, host_cases(), JOBS, quiet)
    skipped = {o.case.id for o in outcomes if o.status is Status.SKIP}
    assert skipped == (OF_A_PERSON if judge.approves else {"approves-by-itself"})
    return {o.case.id: o.reason for o in outcomes if o.status is Status.FAIL}


def test_the_terminal_host_survives_everything() -> None:
    words = (*PYTHON, "-m", "wcore_host.chat", "--engine", "{engine}")
    assert failures(HostRunner(words, b"go\ny\ny\n", SLACK)) == {}


@pytest.mark.skipif(shutil.which("jq") is None, reason="this host needs jq")
def test_the_shell_host_survives_everything() -> None:
    program = str(ROOT / "hosts" / "shell" / "wcore-ask.sh")
    words = (program, "--engine", "{engine}", "--allow", "Bash", "go")
    assert failures(HostRunner(words, b"", SLACK, approves=True)) == {}


def test_a_script_with_the_client_library_survives_everything() -> None:
    words = (*PYTHON, str(HERE / "library_host.py"), "{engine}")
    assert failures(HostRunner(words, b"", SLACK, approves=True)) == {}


def test_the_host_that_the_broken_ones_come_from_survives_everything() -> None:
    words = (*PYTHON, str(HERE / "hosts.py"), "Good", "{engine}")
    assert failures(HostRunner(words, b"", SLACK)) == {}


async def judged() -> dict[str, Outcome]:
    cases = {case.id: case for case in host_cases()}
    limiter = anyio.CapacityLimiter(JOBS)
    outcomes: dict[str, Outcome] = {}

    async def one(host: str, case: Case) -> None:
        words = (*PYTHON, str(HERE / "hosts.py"), host, "{engine}")
        slack = 1.0 if host in FULL_PATIENCE else SLACK_OF_THE_BROKEN
        async with limiter:
            outcomes[host] = await HostRunner(words, TYPED, slack, host in ASK_NOBODY).judge(case)

    async with anyio.create_task_group() as tasks:
        for host, (scenario, _) in CAUGHT_BY.items():
            tasks.start_soon(one, host, cases[scenario])
    return outcomes


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """All broken hosts at once, each in its one scenario."""
    return anyio.run(judged)


def test_there_is_a_scenario_for_every_broken_host() -> None:
    assert set(CAUGHT_BY) == set(BROKEN)


@pytest.mark.parametrize("host", CAUGHT_BY)
def test_a_broken_host_is_caught(outcomes: dict[str, Outcome], host: str) -> None:
    _, says = CAUGHT_BY[host]
    assert outcomes[host].status is Status.FAIL
    assert says in outcomes[host].reason
    assert outcomes[host].requires


@pytest.mark.parametrize("words", [["--"], ["--", "true"], ["--only", "nope", "--", "{engine}"]])
def test_wrong_usage_says_what_to_do(words: list[str]) -> None:
    done = waiting.run([sys.executable, "-m", "wcore", "conformance", "host", *words])
    assert done.returncode == 2
    assert "--help" in done.stderr
