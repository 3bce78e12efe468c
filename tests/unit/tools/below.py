"""The processes that a test has started; what ran before, such as a database, is left out."""

import ctypes
import os
import sys
from contextlib import suppress
from typing import Final

import psutil

from wcore.tools.processes import adopt_orphans

_SET_CHILD_SUBREAPER: Final = 36  # linux/prctl.h
_GET_CHILD_SUBREAPER: Final = 37
_before: set[int] = set()


def remember() -> None:
    """Note what runs below this process now. Called before each test."""
    _before.clear()
    _before.update(child.pid for child in psutil.Process().children(recursive=True))


def started() -> list[psutil.Process]:
    """Return what has come since, also what has ended but was not waited for."""
    found = psutil.Process().children(recursive=True)
    return [child for child in found if child.pid not in _before and not _of_before(child)]


def living() -> list[int]:
    """Return what has come since and still runs."""
    return [child.pid for child in started() if _is_alive(child)]


def disown() -> None:
    """Adopt no orphans any more, and bury those that have died since."""
    if adopt_orphans.cache_info().currsize == 0:
        return
    adopt_orphans.cache_clear()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    for child in started():
        if not _is_alive(child):
            with suppress(ChildProcessError):  # no child of ours, or waited for meanwhile
                os.waitpid(child.pid, os.WNOHANG)


def adopts() -> bool:
    """Tell whether orphans become children of this process."""
    answer = ctypes.c_int()
    ctypes.CDLL(None).prctl(_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
    return bool(answer.value)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _of_before(process: psutil.Process) -> bool:
    try:
        return any(parent.pid in _before for parent in process.parents())
    except psutil.NoSuchProcess:
        return False
