"""What a run found: for people, for CI (JUnit XML), for programs (JSON)."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from wcore.conformance.outcomes import Outcome, Status
from wcore.visible import visible, visible_line

LINE_CHARS_MAX: Final = 400  # of a transcript line in a report
REPORT_VERSION: Final = 1  # of the JSON report; grows when a field changes its meaning
_COLOURS: Final = {
    Status.PASS: "32",
    Status.FAIL: "1;31",
    Status.SKIP: "2",
    Status.NOT_TESTED: "33",
}
_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def line_of(outcome: Outcome, *, colours: bool) -> str:
    """Return one line for a person."""
    case, status = outcome.case, outcome.status
    word = f"{status:10}"
    shown = f"\x1b[{_COLOURS[status]}m{word}\x1b[0m" if colours else word
    more = f"  ({visible_line(outcome.reason, 200)})" if status is not Status.PASS else ""
    return f"{shown} {case.id}{more}\n"


def failure_of(outcome: Outcome) -> str:
    """Return what went wrong: requirement, difference, transcript, log."""
    case = outcome.case
    lines = [
        f"{case.id}: {case.title}",
        f"  requires    {', '.join(outcome.requires)}  [{case.tier}; {case.source}]",
        f"  difference  {visible_line(outcome.reason, 1000)}",
    ]
    if outcome.rule:
        lines.append(f"  invariant   {outcome.rule} (holds in every case; see invariants.toml)")
    lines += [f"    {way} {visible_line(text, LINE_CHARS_MAX)}" for way, text in outcome.transcript]
    if outcome.log.strip():
        lines.append("  end of its stderr:")
        lines += [
            f"    {visible_line(text, LINE_CHARS_MAX)}" for text in outcome.log.splitlines()[-8:]
        ]
    return "\n".join(lines) + "\n"


def summary_of(outcomes: Sequence[Outcome], seconds: float) -> str:
    """Return the last lines: how many of what, and the verdict."""
    rows = [
        f"{tier:10} {', '.join(f'{count} {status}' for status, count in counts.items())}\n"
        for tier, counts in totals_of(outcomes).items()
    ]
    bad = sum(outcome.counts for outcome in outcomes)
    verdict = f"{bad} failures that count" if bad else "conforms as far as it was tested"
    return "".join(rows) + f"{len(outcomes)} cases in {seconds:.1f} s: {verdict}\n"


def totals_of(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """Return how many cases of each tier ended in each status."""
    totals: dict[str, dict[str, int]] = {}
    for tier in dict.fromkeys(outcome.case.tier for outcome in outcomes):
        counts = Counter(o.status for o in outcomes if o.case.tier is tier)
        totals[tier] = {status: counts[status] for status in Status if counts[status]}
    return totals


def json_of(outcomes: Sequence[Outcome], command: Sequence[str]) -> str:
    """Return the report as one JSON object."""
    cases = [
        {
            "id": o.case.id,
            "title": o.case.title,
            "tier": o.case.tier,
            "requires": o.case.requires,
            "status": o.status,
            "seconds": o.seconds,
            **({"reason": o.reason} if o.reason else {}),
            **({"failed": o.requires} if o.requires else {}),
            **({"invariant": o.rule} if o.rule else {}),
            **({"transcript": o.transcript} if o.transcript else {}),
            **({"log": o.log} if o.log else {}),
        }
        for o in outcomes
    ]
    failures = sum(outcome.counts for outcome in outcomes)
    told = {"failures_that_count": failures, "totals": totals_of(outcomes)}
    report = {"report": REPORT_VERSION, "command": list(command), **told, "cases": cases}
    return json.dumps(report, indent=1) + "\n"


def junit_of(outcomes: Sequence[Outcome]) -> str:
    """Return the report as JUnit XML, a test case each, grouped by file.

    What does not count (advice) is no failure there: CI looks at nothing else.
    """
    failures = sum(outcome.counts for outcome in outcomes)
    skipped = sum(o.status is not Status.PASS for o in outcomes) - failures
    seconds = sum(outcome.seconds for outcome in outcomes)
    head = (
        f'<testsuite name="wcore conformance" tests="{len(outcomes)}" failures="{failures}" '
        f'errors="0" skipped="{skipped}" time="{seconds:.3f}">'
    )
    body = "\n".join(_element(outcome) for outcome in outcomes)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n{body}\n</testsuite>\n'


def _element(outcome: Outcome) -> str:
    case = outcome.case
    names = f"classname={quoteattr(case.source)} name={quoteattr(case.id)}"
    inside = ""
    reason = quoteattr(_xml(f"{outcome.status}: {outcome.reason}"))
    told = escape(_xml(failure_of(outcome))) if outcome.status is Status.FAIL else ""
    if outcome.counts:
        kind = quoteattr(case.tier)
        inside = f"<failure type={kind} message={reason}>{told}</failure>"
    elif outcome.status is not Status.PASS:
        inside = f"<skipped message={reason}/>"
        inside += f"<system-out>{told}</system-out>" if told else ""
    return f'<testcase {names} time="{outcome.seconds:.3f}">{inside}</testcase>'


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", visible(text))
