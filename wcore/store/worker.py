"""The one thread in which an engine uses its store, and how long anybody waits for it.

A disk or a server can hang. Then whoever waits is told so, the engine stays able to stop and to
end, and what was under way does not count: it is rolled back unless it was already committing.
"""

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, Generic, TypeVar

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from msgspec import Struct

from wcore.store.database import Database
from wcore.store.errors import (
    StoreDeadError,
    StoreError,
    StoreLockedError,
    StoreSilentError,
)
from wcore.store.location import Location
from wcore.store.opening import open_database

ANSWER_S_MAX: Final = 10.0  # twice the wait for a lock; a store that is silent for longer hangs
COMMAND_S_MAX: Final = 1.0  # of a command: `stop` may wait behind it; and of a doubtful store
HEARD_S_MAX: Final = 0.1  # a broken connection shows within milliseconds
HURRY_S_MAX: Final = 0.75  # of silence at stop or signal: hosts expect an end within two seconds

T = TypeVar("T")


class _Job(Generic[T]):
    """Something to do in the thread. `given_up`: nobody waits for it any more."""

    def __init__(self, work: Callable[[Database], T]) -> None:
        self.work = work
        self.given_up = False


class _Limits(Struct):
    """How long one waits for the next sign of life of the store, and until when for all of them."""

    silence_s: float
    latest: float


class Worker:
    """Carries out jobs one at a time, in order, over one connection, opened by the first."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._database: Database | None = None
        self._thread = ThreadPoolExecutor(1, "store")  # starts with the first job
        self._waits: dict[anyio.CancelScope, _Limits] = {}
        self._silent: Future[object] | None = None  # the job that was given up last
        self._in_hurry = self._is_ending = False
        self._heard_at = -math.inf  # when a job was done last
        self._is_doubted = False  # a job was in vain, and none has been carried out since
        self._is_locked = False  # by another program; waiting longer was in vain
        self._silent_s = 0.0  # how long it has been waited for since the last answer
        self._counted_to = -math.inf  # until when that is counted
        self._commands: object = None  # the task that obeys the host

    @property
    def is_silent(self) -> bool:
        """Whether a job that was given up still holds the thread."""
        return self._silent is not None and not self._silent.done()

    async def run(self, work: Callable[[Database], T]) -> T:
        """Carry out `work` and wait for it, cancelled or not, within the limits above.

        Raises:
            StoreSilentError: it was given up, or the store is silent already.
            StoreDeadError: and it has been for `ANSWER_S_MAX`: short waits alone prove nothing.
        """
        await checkpoint_if_cancelled()
        return await self._wait(_Job(work), self._carry_out)

    def hurry(self, *, for_good: bool = False) -> None:
        """Wait for nothing longer than `HURRY_S_MAX` from now on, until `calm`."""
        self._in_hurry, self._is_ending = True, self._is_ending or for_good
        for limits in self._waits.values():
            limits.silence_s = HURRY_S_MAX
        self._shorten(anyio.current_time() + HURRY_S_MAX)

    def calm(self) -> None:
        """Wait as long as ever, unless the hurry is for good."""
        self._in_hurry = self._is_ending

    def serve_commands(self) -> None:
        """Let no wait in this task, which obeys the host, take longer than `COMMAND_S_MAX`."""
        import asyncio  # noqa: PLC0415 - the loop has loaded it by now

        self._commands = asyncio.current_task()

    async def close(self) -> None:
        """Close the connection, unless it hangs; then the end of the process does it."""
        with suppress(StoreError):
            await self._wait(_Job(lambda _: None), self._close)
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _wait(self, job: _Job[T], carry_out: Callable[[_Job[T]], T]) -> T:
        """Every call of a tool waits here several times: this takes the loop one round.

        A thread of `to_thread` takes five.
        """
        await self._until_heard()
        asked_at = anyio.current_time()
        future = self._thread.submit(carry_out, job)
        limit_s = self._patience_s()
        if not await self._until_done(future, limit_s) and not future.done():
            if not future.cancel():  # it has begun, or is done by now
                self._give_up(job, future)
            raise self._silence(asked_at, limit_s)
        self._silent_s = 0.0
        try:
            result = future.result()
        except StoreLockedError:
            self._is_doubted = self._is_locked = True  # who comes next need not find out anew
            raise
        self._is_doubted = self._is_locked = False
        return result

    def _patience_s(self) -> float:
        """Return how long the present task waits for an answer."""
        if self._is_brief:
            return HURRY_S_MAX if self._in_hurry else COMMAND_S_MAX
        return max(COMMAND_S_MAX, ANSWER_S_MAX - self._silent_s)

    @property
    def _is_brief(self) -> bool:
        """Whether the present task is to find out nothing, but to be told soon."""
        import asyncio  # noqa: PLC0415 - the loop has loaded it by now

        return self._in_hurry or self._is_locked or asyncio.current_task() is self._commands

    def _silence(self, asked_at: float, after_s: float | None = None) -> StoreSilentError:
        """Count a wait that was in vain; return how it is told. Waits side by side count once."""
        now = anyio.current_time()
        if not self._is_locked:
            self._silent_s += now - min(now, max(asked_at, self._counted_to, self._heard_at))
            self._counted_to = now
        is_dead = self._silent_s >= ANSWER_S_MAX - HEARD_S_MAX
        return (StoreDeadError if is_dead else StoreSilentError)(self._location.name, after_s)

    async def _until_done(self, future: Future[T], limit_s: float) -> bool:
        """Wait for a job; false when the store has been silent for `limit_s` seconds.

        Who stands in line waits on with each answer to those before: a thousand calls may end at
        once, and the loop may be late to hear of answers that are there.
        """
        import asyncio  # noqa: PLC0415 - the loop has loaded it by now

        begin = anyio.current_time()
        limits = _Limits(limit_s, begin + ANSWER_S_MAX)
        loop, answered = asyncio.get_running_loop(), asyncio.Event()

        def tell(_: Future[T]) -> None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
                loop.call_soon_threadsafe(answered.set)

        future.add_done_callback(tell)
        deadline = begin + limit_s
        while not future.done():
            with anyio.CancelScope(deadline=deadline, shield=True) as wait:
                self._waits[wait] = limits
                try:
                    await answered.wait()
                finally:
                    del self._waits[wait]
            deadline = min(max(begin, self._heard_at) + limits.silence_s, limits.latest)
            if not future.done() and deadline <= anyio.current_time():
                return False
        return True

    async def _until_heard(self) -> None:
        """Wait for a job that was given up, which mostly ends by that within a moment.

        Raises:
            StoreSilentError: it still holds the thread.
        """
        asked_at = anyio.current_time()
        if self._in_hurry and self._is_doubted:
            raise self._silence(asked_at)  # not a second wait for the same end
        if self._silent is None or self._silent.done():
            return
        limit_s = HEARD_S_MAX if self._is_brief else self._patience_s()
        if not await self._until_done(self._silent, limit_s) and not self._silent.done():
            raise self._silence(asked_at)

    def _give_up(self, job: _Job[T], future: Future[T]) -> None:
        """Let what runs end if it can; those who wait behind it need not wait either."""
        job.given_up = self._is_doubted = True
        self._silent = future  # pyright: ignore[reportAttributeAccessIssue] - only asked whether done
        now = anyio.current_time()
        for limits in self._waits.values():
            limits.latest = now
        self._shorten(now)
        database, self._database = self._database, None
        if database is not None:
            database.give_up()

    def _shorten(self, deadline: float) -> None:
        for wait in self._waits:
            wait.deadline = min(wait.deadline, deadline)

    # --- in the thread ------------------------------------------------------------------------

    def _carry_out(self, job: _Job[T]) -> T:
        database = self._database or open_database(self._location)
        try:
            if job.given_up:
                raise StoreSilentError(self._location.name)
            self._database = database
            return job.work(database)
        finally:
            if job.given_up:  # no sign of life; the next job opens another connection
                self._database = None
                database.close()
            else:
                self._heard_at = time.monotonic()  # the clock of the loop

    def _close(self, _: _Job[None]) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
