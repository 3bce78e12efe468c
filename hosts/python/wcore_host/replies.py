"""Who waits for which answer: introspection by `request_id`, pongs in order."""

from collections import deque
from itertools import count

import anyio

from wcore_host.errors import EngineExitedError
from wcore_host.events import CommandResult, Event, Pong


class Reply:
    """One answer that somebody waits for."""

    def __init__(self) -> None:
        self._arrived = anyio.Event()
        self._event: Event | None = None

    def give(self, event: Event | None) -> None:
        """Hand over the answer; `None` says that it will never come."""
        self._event = event
        self._arrived.set()

    async def wait(self) -> Event | None:
        await self._arrived.wait()
        return self._event


class Replies:
    """The answers under way. An answer nobody waits for any more is dropped, not mixed up."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._by_id: dict[str, Reply] = {}
        self._pongs: deque[Reply] = deque()
        self.failure: EngineExitedError | None = None

    def expect(self) -> tuple[str, Reply]:
        """Return a new request id and the reply to wait for."""
        request_id = f"host-{next(self._numbers)}"
        reply = self._by_id[request_id] = Reply()
        return request_id, reply

    def expect_pong(self) -> Reply:
        self._pongs.append(Reply())
        return self._pongs[-1]

    def take(self, event: Event) -> bool:
        """Hand `event` to who waits for it; `False` if nobody ever did."""
        match event:
            case CommandResult(request_id=request_id) if request_id in self._by_id:
                self._by_id.pop(request_id).give(event)
                return True
            case Pong() if self._pongs:
                self._pongs.popleft().give(event)
                return True
            case _:
                return False

    def fail(self, failure: EngineExitedError) -> None:
        """Tell everybody who waits that the engine is gone."""
        self.failure = failure
        for reply in (*self._by_id.values(), *self._pongs):
            reply.give(None)
        self._by_id.clear()
        self._pongs.clear()
