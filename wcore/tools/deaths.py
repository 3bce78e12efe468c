"""Waiting for the death of processes that need not be our children.

The kernel tells of it; where it does not, we look.
"""

import os
import select
import time
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

POLL_S: Final = 0.005  # between two looks, where the kernel does not tell of a death


class Deaths:
    """Wakes up whenever one of some processes has ended. A context manager; blocks."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._handles: set[int] = set()
        self._is_told = hasattr(os, "pidfd_open")  # Linux, since 5.3
        for pid in pids if self._is_told else ():
            try:
                with suppress(ProcessLookupError):  # it is dead already
                    self._handles.add(os.pidfd_open(pid))
            except OSError:  # an old kernel, or too many open files
                self._is_told = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for handle in self._handles:
            os.close(handle)

    def wait(self, seconds: float) -> None:
        """Wait until one more has ended, `seconds` at most; perhaps for less than that."""
        if not self._is_told or not self._handles:
            time.sleep(min(POLL_S, seconds))
            return
        ended = select.poll()
        for handle in self._handles:
            ended.register(handle, select.POLLIN)
        for handle, _ in ended.poll(seconds * 1000):
            self._handles.discard(handle)
            os.close(handle)
