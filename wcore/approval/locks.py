"""Effects on one path happen one after the other."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from msgspec import Struct, field


class PathLocks(Struct):
    """One lock a path for the whole engine; taken in sorted order, so never in a circle."""

    _locks: dict[str, anyio.Lock] = field(default_factory=dict[str, anyio.Lock])

    @asynccontextmanager
    async def holding(self, paths: frozenset[str]) -> AsyncGenerator[None, None]:
        """Hold the locks of `paths`. Cancelling while waiting gives back what was taken."""
        locks = [self._locks.setdefault(path, anyio.Lock()) for path in sorted(paths)]
        try:
            async with _all_of(locks):
                yield
        finally:
            self._forget_unused(paths)

    def _forget_unused(self, paths: frozenset[str]) -> None:
        for path in paths:
            lock = self._locks.get(path)
            if lock and not lock.locked() and not lock.statistics().tasks_waiting:
                del self._locks[path]


@asynccontextmanager
async def _all_of(locks: list[anyio.Lock]) -> AsyncGenerator[None, None]:
    if not locks:
        yield
        return
    async with locks[0], _all_of(locks[1:]):
        yield
