"""Compares the labels of the corpus with what real bash does.

    python -m tests.shell.check_labels [--jobs 2] [CASES…]

A covered text must be sound, one labelled `unsound` must not be, one labelled `policy` or `spec`
may at most set a variable of its own; `latent`, `argument` and `advisory` are not for this oracle
to show: its programs are stubs.
Exit 1: a label disagrees. Exit 2: the oracle is unavailable.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from .corpus import Case, read_cases
from .oracle import PATTERNS_THOROUGH, Finding, Oracle
from .sandbox import OracleUnavailableError


def agrees(case: Case, finding: Finding) -> bool:
    """Tell whether the finding is what the label says."""
    match case.severity:
        case "":
            return finding.verdict == "sound" and finding.complete
        case "unsound":
            return finding.verdict in ("unsound", "inner")
        case "spec" | "policy":
            variables = all(fact.startswith("the shell's variables") for fact in finding.evidence)
            return finding.verdict in ("sound", "nothing") or variables
        case "advisory" | "argument":
            return finding.verdict != "unsound"
        case _:
            return True


def check(oracle: Oracle, case: Case) -> Finding:
    """Judge a case; when that disagrees, once more with every pattern of exit statuses."""
    finding = oracle.judge(case.text, case.grants)
    if agrees(case, finding):
        return finding
    return oracle.judge(case.text, case.grants, PATTERNS_THOROUGH)


def disagreements(
    oracle: Oracle, cases: Sequence[Case], jobs: int
) -> Iterator[tuple[Case, Finding]]:
    """Yield the cases whose label is not what bash shows."""
    with ThreadPoolExecutor(jobs) as pool:
        findings = pool.map(partial(check, oracle), cases)
        for case, finding in zip(cases, findings, strict=True):
            if not agrees(case, finding):
                yield case, finding


def main() -> int:
    """Check the labels of case files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("cases", nargs="*", type=Path, help="case files; default: the corpus")
    options = parser.parse_args()
    cases = read_cases(options.cases)
    try:
        with Oracle() as oracle:
            wrong = list(disagreements(oracle, cases, options.jobs))
    except OracleUnavailableError as error:
        sys.stderr.write(f"oracle unavailable: {error}\n")
        return 2
    for case, finding in wrong:
        text = json.dumps(case.text)[:100]
        sys.stdout.write(
            f"{case.id}: labelled {case.severity or 'covered'}, bash says {finding.verdict}: "
            f"{text} {finding.evidence[:2]} {finding.notes}\n"
        )
    sys.stdout.write(f"{len(cases)} labels checked, {len(wrong)} disagree\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
