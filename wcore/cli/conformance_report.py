"""What `wcore conformance` and its `host` share: their options, and what they say."""

import argparse
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import anyio

from wcore.cli.subcommand import Parser, has_colours, write
from wcore.conformance import reporting
from wcore.conformance.cases import Case
from wcore.conformance.outcomes import Outcome, Status, outcomes_of
from wcore.errors import UsageError

JOBS_MAX: Final = 256  # each is a process or two
SLACK_MAX: Final = 100.0  # a case would take half an hour


def parsed(parser: Parser, argv: list[str]) -> argparse.Namespace:
    """Return the options, with those that both commands have.

    Raises:
        UsageError: the command line is wrong.
    """
    add = parser.add_argument
    add("--only", action="append", default=[], metavar="GLOB", help="some, by id or requirement")
    add("--list", action="store_true", help="show them, run nothing")
    add("--jobs", type=int, default=2 * (os.cpu_count() or 2), metavar="N", help="at a time")
    add("--slack", type=float, default=1.0, metavar="F", help="multiply every time limit by F")
    add("--junit", type=Path, metavar="FILE", help="write a report as JUnit XML")
    add("--json", type=Path, metavar="FILE", help="write a report as JSON")
    options = parser.parse_args(argv)
    if not 0 < options.jobs <= JOBS_MAX or not 0 < options.slack <= SLACK_MAX:
        raise UsageError(f"--jobs is 1 to {JOBS_MAX}, --slack above 0 and at most {SLACK_MAX:g}")
    for path in filter(None, (options.junit, options.json)):
        try:
            path.open("a").close()  # a run takes minutes: not to be lost for a wrong name
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None
    return options


class Progress:
    """Tells a person how far it is: in place on a terminal, line by line elsewhere."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._began = time.monotonic()
        self._colours = has_colours()
        self._live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"

    def tell(self, outcome: Outcome) -> None:
        """Show one more outcome."""
        self._done += 1
        if not self._live:
            write(reporting.line_of(outcome, colours=False))
            return
        clear = "\r\x1b[K"
        if outcome.status is Status.FAIL:
            write(clear + reporting.line_of(outcome, colours=self._colours))
        write(f"{clear}{self._done}/{self._total} {outcome.case.id[:60]}")

    def end(self, outcomes: Sequence[Outcome]) -> int:
        """Show what failed and the numbers; return the exit code."""
        if self._live:
            write("\r\x1b[K")
            for outcome in outcomes:
                if outcome.status in (Status.SKIP, Status.NOT_TESTED):
                    write(reporting.line_of(outcome, colours=self._colours))
        for outcome in outcomes:
            if outcome.status is Status.FAIL:
                write("\n" + reporting.failure_of(outcome))
        write("\n" + reporting.summary_of(outcomes, time.monotonic() - self._began))
        return 1 if any(outcome.counts for outcome in outcomes) else 0


def judged(
    cases: Sequence[Case],
    run: Callable[[Case], Awaitable[Outcome]],
    command: Sequence[str],
    options: argparse.Namespace,
) -> int:
    """Run the cases, tell of them, write the reports that were asked for; return the exit code."""
    progress = Progress(len(cases))
    outcomes = anyio.run(outcomes_of, cases, run, options.jobs, progress.tell)
    if options.junit:
        options.junit.write_text(reporting.junit_of(outcomes), errors="backslashreplace")
    if options.json:
        options.json.write_text(reporting.json_of(outcomes, command))
    return progress.end(outcomes)
