"""The kernel's own list of children says what psutil finds the slow way."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest

from wcore.tools import descendants as listing

SLEEPER = "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid); "


@pytest.fixture
def family() -> Iterator[set[int]]:
    """Start children from two threads, one of which ends; each has a child of its own."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        program = SLEEPER + "sys.stdout.flush(); p.wait()"
        started.append(subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE))

    start()
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    with ExitStack() as cleaning:
        pids: set[int] = set()
        for process in started:
            cleaning.callback(process.wait)
            cleaning.callback(process.kill)
            assert process.stdout
            cleaning.callback(process.stdout.close)
            below = int(process.stdout.readline())
            cleaning.callback(psutil.Process(below).kill)
            pids |= {process.pid, below}
        yield pids


def test_every_descendant_is_found_whichever_thread_started_it(family: set[int]) -> None:
    assert family <= {process.pid for process in listing.descendants()}


def test_children_are_found_without_their_children(family: set[int]) -> None:
    children = {process.pid for process in listing.children()} & family
    assert children == {p.pid for p in psutil.Process().children()} & family
    assert len(children) == 2


def test_a_child_that_is_dead_but_not_waited_for_is_listed() -> None:
    with subprocess.Popen(["true"], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.read()
        assert process.pid in {child.pid for child in listing.children()}


def test_psutil_is_asked_where_the_kernel_does_not_tell(
    family: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_kernel_tells", lambda: False)
    assert family <= {process.pid for process in listing.descendants()}
