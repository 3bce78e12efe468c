"""What was only late is looked at once more, alone, when all others are done.

A busy machine makes a test wait longer than it has patience, or beats a test whose subject is a
time: those that failed with `waiting.Late`, and those marked `clock`, however they failed, run
again by themselves. What passes then is UNSTEADY: the run is green, its last lines name it, and its
author writes it into `unsteady.txt` and mends it. Of all others, a wrong answer, or one that would
never have come, is never run again; nor is what fails at its end, where what others used ends too.
"""

import asyncio
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from waiting import Late

UNSTEADY_MAX: Final = 3  # a busy machine delays a few; a mistake delays many
AGAIN_S_MAX: Final = 1_200.0  # for all of them, one after the other
LIST: Final = Path(__file__).parent / "unsteady.txt"
MARK: Final = ("second look", "allowed")  # xdist carries it from its workers to who decides
OF_A_WAIT: Final = (  # what leads to `Late` where nothing was wrong
    *(Late, BaseExceptionGroup, TimeoutError, subprocess.TimeoutExpired, asyncio.CancelledError),
)
FAILED: Final = pytest.ExitCode.TESTS_FAILED


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-second-look", action="store_true", help="run nothing again")


def listed() -> list[str]:
    """Return the tests that were let pass before: the ids in the committed list."""
    return [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]


def is_late(error: BaseException) -> bool:
    """Tell whether a test failed for nothing but lateness, and nothing wrong led to it."""
    others = BaseExceptionGroup("", [error]).split(Late)[1]  # task groups nest them
    return others is None and all(
        isinstance(each, OF_A_WAIT) or type(each).__name__ == "Cancelled"  # of trio
        for each in _all_of(error)
    )


def _all_of(error: BaseException) -> Generator[BaseException]:
    """Yield an error, what it holds and what led to it, shown or not."""
    found: list[BaseException | None] = [error]
    for each in found:
        if each is not None:
            yield each
            inside: tuple[BaseException, ...] = getattr(each, "exceptions", ())
            more = (each.__cause__, each.__context__, *inside)
            found += [one for one in more if not any(one is other for other in found)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.excinfo is None or call.when == "teardown":  # which may be of what other tests used
        return report
    if item.get_closest_marker("clock") or is_late(call.excinfo.value):
        report.user_properties.append(MARK)
    return report


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # in a worker of xdist, nobody decides
        config.pluginmanager.register(SecondLook(config), "second look itself")


class SecondLook:
    """What one run has come to, and whether all that failed in it was late."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._passed: set[str] = set()
        self._failed: list[pytest.TestReport | pytest.CollectReport] = []
        self._unsteady: list[str] = []
        self._is_over = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report)
        elif report.passed and report.when == "call":
            self._passed.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._failed.append(report)

    @pytest.hookimpl(trylast=True)  # the workers have ended by then
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._is_over = True
        nodes = list(dict.fromkeys(each.nodeid for each in self._failed))
        if not any(map(_is_excused, self._failed)) or self._config.option.no_second_look:
            return
        if session.shouldfail or session.shouldstop or session.exitstatus != FAILED:
            return  # it was ended before all others were done
        if refusal := self._why_not(nodes):
            self._say(f"second look: none, as {refusal}")
            return
        self._say(f"second look: {', '.join(nodes)}")
        if self._passes(nodes):
            self._unsteady = nodes
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Do not sum up as failed what passed the second time; what it said is shown already."""
        if self._unsteady:
            for kind, reports in terminalreporter.stats.items():
                terminalreporter.stats[kind] = [r for r in reports if r not in self._failed]
            terminalreporter.stats["unsteady"] = self._failed

    def pytest_unconfigure(self) -> None:
        """End the log with what people and programs look for."""
        if not self._is_over or self._config.option.collectonly:
            return
        failed = {each.nodeid for each in self._failed}.difference(self._unsteady)
        for node in self._unsteady:
            self._say(f"UNSTEADY {node}")
        passed = self._passed.difference(failed).union(self._unsteady)
        self._say(f"{len(passed)} passed, {len(failed)} failed")

    def _why_not(self, nodes: list[str]) -> str:
        """Return what forbids a second look; nothing if it is allowed."""
        if wrong := next((each for each in self._failed if not _is_excused(each)), None):
            return f"{wrong.nodeid} was not late but wrong"
        if len(nodes) > UNSTEADY_MAX:
            return f"{len(nodes)} tests were late, which is more than {UNSTEADY_MAX}"
        again = set(listed()).intersection(nodes)
        return f"{LIST.name} lists {again.pop()} already" if again else ""

    def _passes(self, nodes: list[str]) -> bool:
        """Run tests alone, one after the other; tell whether each was run and passed."""
        options = ("-n0", "-q", "-p", "no:cacheprovider", "--no-second-look")
        command = [sys.executable, "-m", "pytest", *options, *nodes]
        try:
            done = subprocess.run(
                command,
                cwd=self._config.rootpath,
                stdout=subprocess.PIPE,
                text=True,
                timeout=AGAIN_S_MAX,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        self._say(done.stdout)
        last = done.stdout.splitlines()[-1:]
        return done.returncode == 0 and last == [f"{len(nodes)} passed, 0 failed"]

    def _say(self, text: str) -> None:
        sys.stdout.write(text.rstrip("\n") + "\n")
        sys.stdout.flush()


def _is_excused(report: pytest.TestReport | pytest.CollectReport) -> bool:
    return isinstance(report, pytest.TestReport) and MARK in map(tuple, report.user_properties)
