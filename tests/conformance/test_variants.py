"""The suite is fair: an engine without everything that may be left out fails nothing."""

import sys
from pathlib import Path
from typing import Final

import pytest
from conformance.judging import CASES, runner_of

from wcore.conformance.cases import Tier
from wcore.conformance.outcomes import Status
from wcore.conformance.reporting import failure_of

RUNNER: Final = runner_of((sys.executable, str(Path(__file__).parent / "mutants.py"), "small"))
#: Why a case is not about such an engine, as a person reads it.
WHY: Final = (
    "the engine does not announce",
    "the engine does not offer",
    "the engine's --help does not name",
    "the engine does not start with provider",
    "need not be",
)
#: One case of each of these kinds, as it is told in full.
TOLD: Final = {
    "question-answered": "the engine does not offer AskUserQuestion",
    "session-new-or-old": "the engine's --help does not name --resume",
}
#: Cases of what it has not; every other one is judged, unless it is of a flag.
LEFT_OUT: Final = frozenset(
    """
    approval-always-not-the-category approval-prompts-none approval-prompts-none-is-announced
    approval-suggestions call-categories-of-edits call-categories-of-searches call-preview
    command-set-config-refused handshake-arguments-of-the-family handshake-cannot-start
    handshake-ceiling-in-modes host-that-adds-servers-first
    mode-auto-edit-asks-before-delete mode-ceiling mode-start-above-the-ceiling
    policy-brackets-are-names-too policy-broken-later policy-cannot-be-honoured
    policy-command-denied-since
    policy-denied-files-are-denied-to-commands policy-denied-files-however-they-are-spelled
    policy-file-of-the-user-is-never-written policy-limits-combine-strictest
    policy-loosened-by-others-waits policy-of-a-home-that-is-the-workspace
    policy-own-files-however-they-are-spelled
    policy-own-files-named-to-any-program policy-own-files-reached-by-a-program
    policy-rule-behind-options policy-rule-meets-what-is-evaluated policy-rule-reaches-a-link
    policy-rule-that-names-an-option
    policy-searches-leave-out-protected-files policy-searches-obey-what-read-is-told
    question-answered question-in-every-mode question-without-an-answer session-goes-on
    session-has-one-engine session-interrupted-and-given-up session-interrupted-at-a-card
    session-interrupted-then-a-message session-interrupted-while-a-tool-ran session-new-or-old
    session-that-cannot-be-read session-that-exists session-that-is-not-there
    session-without-its-store suspend-switched-off turn-denied-again-and-again
    turn-text-anthropic wire-verbose
    """.split()
)
JUDGED_AT_LEAST: Final = 110


@pytest.mark.parametrize("case_id", CASES)
async def test_a_small_engine_fails_nothing(case_id: str) -> None:
    outcome = await RUNNER.run(CASES[case_id])
    assert outcome.status is not Status.FAIL, failure_of(outcome)
    assert (outcome.status is Status.NOT_TESTED) == (case_id in LEFT_OUT), outcome.reason
    assert outcome.status is Status.PASS or any(each in outcome.reason for each in WHY)
    assert outcome.reason == TOLD.get(case_id, outcome.reason)


def test_what_every_engine_has_is_tested() -> None:
    must = {case.id for case in CASES.values() if case.tier is Tier.MANDATORY} - LEFT_OUT
    assert len(must) >= JUDGED_AT_LEAST
    assert all(CASES[case_id].capability is None for case_id in must)
