import os
import subprocess
import time

import pytest

from wcore.tools.deaths import POLL_S, Deaths

TOLD = hasattr(os, "pidfd_open")
FOR_EVER_S = 60.0


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen(("sleep", "1000"))


@pytest.mark.skipif(not TOLD, reason="this kernel does not tell of deaths")
def test_the_first_death_ends_the_wait_and_the_second_the_next() -> None:
    with sleeper() as one, sleeper() as two, Deaths([one.pid, two.pid]) as deaths:
        for child in (one, two):
            child.kill()
            deaths.wait(FOR_EVER_S)
            assert child.wait(0.0) != 0, "it was dead when the wait ended"


def test_without_a_death_the_wait_is_over_when_its_time_is() -> None:
    with sleeper() as child, Deaths([child.pid]) as deaths:
        deaths.wait(POLL_S)
        assert child.poll() is None
        child.kill()


def test_one_that_was_dead_already_holds_nothing_up() -> None:
    with sleeper() as child:
        child.kill()
    with Deaths([child.pid]) as deaths:
        deaths.wait(FOR_EVER_S)


def test_where_the_kernel_does_not_tell_we_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    with sleeper() as child, Deaths([child.pid]) as deaths:
        child.kill()
        until = time.monotonic() + FOR_EVER_S
        while child.poll() is None and time.monotonic() < until:
            deaths.wait(FOR_EVER_S)
        assert child.returncode


@pytest.mark.skipif(not TOLD, reason="there are no handles")
def test_no_handle_is_left_open() -> None:
    before = os.listdir("/proc/self/fd")
    with sleeper() as child, Deaths([child.pid]):
        child.kill()
    assert os.listdir("/proc/self/fd") == before
