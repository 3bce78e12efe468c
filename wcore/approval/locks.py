"""Effects on one path happen one after the other."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
from msgspec import Struct, field


class PathLocks(Struct):
    """One lock a path for the whole engine; taken in sorted order, so never in a circle."""

    _locks: dict[str, anyio.Lock] = field(default_factory=dict[str, anyio.Lock])

    @asynccontextmanager
    async def holding(self, paths: frozenset[str]) -> AsyncGenerator[None, None]:
        """Hold the locks of `paths`. Cancelling while waiting gives back what was taken."""
        try:
            async with AsyncExitStack() as held:
                for path in sorted(paths):
                    lock = self._locks.setdefault(path, anyio.Lock())
                    await held.enter_async_context(lock)
                yield
        finally:
            self._forget_unused(paths)

    def _forget_unused(self, paths: frozenset[str]) -> None:
        for path in paths:
            lock = self._locks.get(path)
            if lock and not lock.locked() and not lock.statistics().tasks_waiting:
                del self._locks[path]
