"""The last limit: a test that waits by no clock ends as the stacks of all threads and a failure.

Whatever hangs then while it is taken down ends in the same way. Not by pytest's own
`faulthandler_exit_on_timeout`: with `--dist=loadfile` each new worker begins with the test that
ended the worker before it.
"""

import faulthandler
import signal
import sys
from collections.abc import Generator

import pytest
import waiting

HUNG = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    """End a test that hangs, and whatever hangs then while it is taken down."""

    def end(_number: int, _frame: object) -> None:
        item.stash[HUNG] = True
        faulthandler.dump_traceback(sys.__stderr__ or 2)
        pytest.fail(f"{item.nodeid} hung: it was not over after {waiting.HANG_S:.0f} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, waiting.HANG_S, waiting.HANG_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let nothing pass that hung: loops and tests may swallow the failure."""
    report = yield
    if report.failed:
        item.stash[HUNG] = False
    elif call.when == "teardown" and item.stash.get(HUNG, False):
        report.outcome, report.longrepr = "failed", "it hung, and may have swallowed the failure"
    return report


def pytest_enter_pdb() -> None:
    """Let a person think as long as they like."""
    signal.setitimer(signal.ITIMER_REAL, 0)
