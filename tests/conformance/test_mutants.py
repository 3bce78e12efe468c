"""The suite can fail: each broken engine is caught by the very case that should catch it."""

import sys
from pathlib import Path

import pytest
from conformance.judging import CASES, SLACK, runner_of
from conformance.mutants import MUTANTS

from wcore.conformance.outcomes import Outcome, Status

OR = " or "  # between two things of which a busy machine shows either first

#: mutant: the case that catches it, and a part of what the report says.
CAUGHT_BY = {
    "never-tries-servers-again": ("mcp-tried-again", "mcp__calc__add"),
    "waits-for-servers-for-ever": ("mcp-timeouts", "comes instead of"),
    "names-servers-in-latin-only": ("mcp-server-names-in-any-script", "name is '___'"),
    "errors-without-their-server": ("mcp-errors-name-their-server", "mcp_server"),
    "a-server-is-all-servers": ("mcp-always-another-server", "comes instead of"),
    "drops-stream-end": ("turn-text", 'expected {"type": "stream_end"'),
    "ends-twice": ("turn-text", "stream_end of 'm1', which does not run"),
    "cumulative-text": ("turn-text", "the text is 'aab', not 'ab'"),
    "null-fields": ("turn-text", "a null stands for an absent field"),
    "usage-of-the-turn": ("turn-two-turns", "usage.input_tokens"),
    "loses-deltas": ("wire-slow-reader", "the text is"),
    "leaks-the-key": ("turn-key-refused", "the provider's key is in an event"),
    "shows-the-key-that-the-model-says": (
        "turn-key-said-by-the-model",
        "the provider's key is in an event",
    ),
    "tells-no-agent-from-another": ("agent-says-what-it-works-on", "'look at a'"),
    "prints-a-banner": ("handshake-ready", "no JSON in UTF-8"),
    "prints-blank-lines": ("handshake-ready", "no JSON in UTF-8"),
    "ready-late": ("handshake-ready", "nothing comes for 5 s"),
    "drops-unknown-arguments-silently": ("handshake-arguments-of-the-family", "nothing comes"),
    "refuses-unknown-providers": ("handshake-no-such-model", "error comes instead of ready"),
    "ready-twice": ("handshake-ready", "ready comes twice"),
    "unknown-current-mode": ("handshake-ready", "current_mode is none of modes"),
    "shows-its-own-names": (
        "mode-alias-is-announced",
        "current_mode is 'force', not 'yolo'",
    ),
    "announces-suspense-unasked": ("suspend-is-asked-for", "capabilities.hitl_suspend"),
    "refuses-half-a-character": ("wire-half-a-character", "error comes instead of stream_start"),
    "reads-the-mark-as-text": ("wire-half-a-character", "error comes instead of stream_start"),
    "answers-twice": ("command-ping", "a pong that no ping asked for"),
    "ignores-malformed": ("wire-malformed", 'expected {"type": "error"'),
    "error-with-msg-id": ("wire-malformed", "an error carries msg_id"),
    "errors-twice": ("wire-malformed", "error comes instead of pong"),
    "dies-of-rubbish": ("wire-malformed", "ended"),
    "drops-the-second-message": ("command-busy", 'expected {"type": "error"'),
    "silent-about-unknown-ids": ("approval-unknown-id", 'expected {"type": "info"'),
    "any-mode-is-force": ("mode-unknown", "config_changed comes instead of"),
    "exits-on-idle-stop": ("stop-idle", "ended"),
    "trusts-the-mode-without-its-store": ("session-without-its-store", "instead of tool_request"),
    "fails-without-its-store": ("session-without-its-store", "error must never come here"),
    "ends-without-a-word": ("turn-denied-again-and-again", "comes instead of info"),
    "meets-rules-once": ("policy-command-denied-since", "success"),
    "changes-the-script-meanwhile": ("order-a-script-stays-while-its-card-is-open", "output"),
    "follows-the-link": ("call-command-leads-elsewhere-since", "success"),
    "says-nothing-of-silence": ("turn-without-a-word", "comes instead of info"),
    "writes-over-what-is-new": ("call-file-changed-since-it-was-read", "success"),
    "runs-however-many": ("turn-too-many-calls", 'instead of {"type": "tool_result"'),
    "result-twice": ("approval-once", "after its tool_result"),
    "result-after-cancel": ("approval-deny-with-reason", "after its tool_cancelled"),
    "result-first": ("approval-once", "tool_result comes instead of"),
    "wrong-msg-id": ("approval-once", "tool_result has msg_id 'm0'"),
    "shows-other-arguments": ("call-runs-as-announced", "args.content is 'harmless"),
    "one-call-id-for-all": ("call-ids-are-unique", "announced twice"),
    "settles-twice": ("approval-settled", "one too many"),
    "never-settles": ("approval-settled", "before its call_settled"),
    "runs-before-approval": ("approval-once", f"which was not approved{OR}ran.txt exists"),
    "runs-though-denied": ("approval-deny-with-reason", "which was not approved"),
    "prefix-is-text": ("prefix-ends-at-a-word", "tool_running comes instead of tool_request"),
    "prefix-covers-any-option": (
        "prefix-leaves-options-out",
        "tool_running comes instead of tool_request",
    ),
    "enters-any-folder": ("prefix-behind-cd", "tool_running comes instead of tool_request"),
    "exact-is-trimmed": ("approval-exact", "tool_running comes instead of tool_request"),
    "exact-covers-anything": (
        "approval-exact-lifts-no-more",
        "tool_running comes instead of tool_request",
    ),
    "set-is-any-of-it": ("approval-prefixes", "tool_running comes instead of tool_request"),
    "grant-lets-all-go": ("approval-grant-lets-go", "which was not approved"),
    "always-without-a-word": ("approval-always-says-what-it-covers", "info"),
    "always-is-the-category": ("approval-always-not-the-category", "tool_running comes instead of"),
    "grants-lift-rules-that-ask": ("policy-rule-that-asks", "tool_running comes instead of"),
    "offers-only-what-is-listed": (
        "introspection-agent-tools-without-loss",
        "tool_result",
    ),
    "redirects-unasked": ("policy-a-redirection-is-a-path", "instead of"),
    "runs-though-denied-by-a-rule": (
        "policy-denied-files-are-denied-to-commands",
        f"tool_running must never{OR}instead of",
    ),
    "reads-what-brackets-name": (
        "policy-denied-files-however-they-are-spelled",
        f"tool_running must never{OR}instead of",
    ),
    "takes-brackets-for-letters": (
        "policy-brackets-are-names-too",
        f"tool_running must never{OR}instead of",
    ),
    "describes-what-is-odd": ("call-preview", "does not contain 'second'"),
    "runs-what-is-written": ("call-written-as-text", "tool_running"),
    "writes-its-own-rules": (
        "policy-own-files-however-they-are-spelled",
        f"tool_running must never{OR}instead of",
    ),
    "redirects-when-edited": (
        "edit-redirects-to-another-place",
        f"tool_running must never{OR}instead of",
    ),
    "once-is-for-ever": ("approval-once", "tool_running comes instead of tool_request"),
    "mode-settles-what-waits": ("mode-change-while-a-call-waits", "which was not approved"),
    "forgets-expiry": ("approval-expires", "nothing comes"),
    "another-reason": ("approval-expires", "reason is 'approval timed out'"),
    "any-digest-will-do": ("edit-needs-the-digest", "tool_running"),
    "answer-as-output": ("approval-answer-is-for-questions", "does not contain 'the truth'"),
    "invents-an-answer": ("question-without-an-answer", "status is 'success'"),
    "force-answers-questions": ("question-in-every-mode", "tool_running comes instead of"),
    "force-is-the-super-user": ("policy-commands-that-are-never-right", "tool_running must never"),
    "every-exit-is-success": ("call-exit-code", "status is 'success', not 'error'"),
    "cards-without-time": ("approval-once", "tool_request has no expires_in_s"),
    "no-echo": ("suspend-answered-the-other-way", 'instead of {"type": "approval_resume"'),
    "echoes-forged-tokens": ("suspend-forged-token", "a token that was never given out"),
    "leaks-the-token": ("suspend-token-in-output", "does not contain '[REDACTED]'"),
    "keeps-the-child-alive": ("stop-while-a-tool-runs", "still grows"),
    "leaves-processes-behind": ("a-call-leaves-nothing-behind", "still grows"),
    "talks-after-stop": ("stop-while-the-model-streams", "the turn is None"),
    "exits-on-eof-too-early": ("eof-during-a-turn-that-asks-nothing", "ended"),
    "hangs-on-eof": ("eof-idle", "does not end"),
    "takes-up-looser-rules": ("policy-loosened-by-others-waits", "tool_running comes instead of"),
    "ignores-stricter-rules": ("policy-loosened-by-others-waits", "tool_running comes instead of"),
    "judges-trees-by-their-spelling": (
        "policy-trees-as-evaluated",
        "tool_running comes instead of",
    ),
    "reads-no-evaluated-words": (
        "policy-rule-meets-what-is-evaluated",
        "tool_running comes instead of",
    ),
    "compares-leading-words-only": ("policy-rule-behind-options", "tool_running comes instead of"),
    "compares-options-in-order": (
        "policy-rule-that-names-an-option",
        "tool_running comes instead of",
    ),
    "searches-what-read-is-denied": (
        "policy-searches-obey-what-read-is-told",
        "tool_running comes instead of",
    ),
    "trusts-names-of-programs": ("policy-rule-reaches-a-link", "tool_running comes instead of"),
    "judges-paths-by-their-spelling": ("policy-paths-as-formed", "comes instead of tool_request"),
    "ignores-the-input-of-shells": ("policy-input-of-a-shell", "comes instead of tool_request"),
    "believes-any-home": ("policy-of-a-home-that-is-the-workspace", "instead of tool_request"),
    "accepts-any-digest": ("policy-accepted-by-the-host", "ok is True"),
    "ignores-signals": ("signal-idle", "does not end"),
}
SLACKS = {"ready-late": 1.0, "forgets-expiry": 0.3}  # where the failure is that nothing comes
SLACK_OF_OTHERS = 1.0


async def judged(mutant: str, case_id: str, slack: float) -> Outcome:
    words = (sys.executable, str(Path(__file__).parent / "mutants.py"), mutant)
    return await runner_of(words, slack).run(CASES[case_id])


def test_there_is_a_case_for_every_broken_engine() -> None:
    assert set(CAUGHT_BY) == set(MUTANTS) - {"faithful"}


@pytest.mark.parametrize("mutant", CAUGHT_BY)
async def test_a_broken_engine_is_caught(mutant: str) -> None:
    case_id, says = CAUGHT_BY[mutant]
    outcome = await judged(mutant, case_id, SLACKS.get(mutant, SLACK_OF_OTHERS))
    assert outcome.status is Status.FAIL
    assert any(each in outcome.reason for each in says.split(OR)), outcome.reason
    assert outcome.requires, "the report names requirements"


@pytest.mark.parametrize("case_id", sorted({case_id for case_id, _ in CAUGHT_BY.values()}))
async def test_the_proxy_itself_is_not_what_fails(case_id: str) -> None:
    outcome = await judged("faithful", case_id, SLACK)
    assert outcome.status is Status.PASS, outcome.reason
