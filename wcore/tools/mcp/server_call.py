"""One call at a server, as both sides see it: what comes back while it runs, and how it ended."""

import math
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import anyio
from msgspec import Struct, field

from wcore.vocabulary import ToolOutput

INBOX_MAX: Final = 64  # progress beyond it is dropped: newer progress follows
PROGRESS_S_MIN: Final = 0.1  # between two notes of progress; nobody reads faster
PROGRESS_CHARS_MAX: Final = 64 * 1024  # of one call; then it is alive without saying more
ASKED_MAX: Final = 32  # questions of one call: who asks for ever gets no further answer
QUESTIONS_MAX: Final = 4  # open at once in one call: nobody answers a wall of cards


class Progress(Struct, frozen=True):
    """How far the server says it is."""

    text: str


class ElicitationRequest(Struct):
    """A person is asked, for the server. `answer` is its form, once `answered` is set.

    `schema` describes the answer; without one (an address to visit) the answer is only a yes.
    """

    text: str
    schema: Mapping[str, Any] | None
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: Mapping[str, Any] | None = None


class Done(Struct, frozen=True):
    """The call is over. `problem` says why there is no output.

    Without `was_heard` it is certain that the call did not run.
    """

    output: ToolOutput | None = None
    problem: str = ""
    was_heard: bool = True


CallEvent: TypeAlias = Progress | ElicitationRequest | Done


class ServerCall:
    """One running call. The connection puts in, the tool takes out.

    It is given up after `silence_s_max` without result, progress or question.
    """

    def __init__(self, raw_name: str, args: Mapping[str, Any], silence_s_max: float) -> None:
        self.raw_name = raw_name
        self.silence_s_max = silence_s_max
        self.args = args
        self.scope = anyio.CancelScope()
        self._asking = 0
        self._asked = 0
        self._room = PROGRESS_CHARS_MAX
        self._told_at = -math.inf
        self._put, self.heard = anyio.create_memory_object_stream[CallEvent](INBOX_MAX)

    def expect(self) -> None:
        """Give the call up unless something comes of it within `silence_s_max`."""
        now = anyio.current_time()
        self.scope.deadline = math.inf if self._asking else now + self.silence_s_max

    def expect_nothing(self) -> None:
        """Let the call take its time."""
        self.scope.deadline = math.inf

    def tell(self, text: str) -> None:
        """Put in progress; it is dropped when it comes too fast, or nobody takes it."""
        now = anyio.current_time()
        if now - self._told_at < PROGRESS_S_MIN or self._room <= 0:
            return
        self._told_at = now
        self._room -= len(text)
        try:
            self._put.send_nowait(Progress(text))
        except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    async def ask(self, question: ElicitationRequest) -> bool:
        """Put in a question and wait until it is settled; false when it cannot be asked."""
        if self._asking >= QUESTIONS_MAX or self._asked >= ASKED_MAX:
            return False
        self._asking += 1
        self._asked += 1
        try:
            await self._put.send(question)
            await question.answered.wait()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return False
        finally:
            self._asking -= 1
        return True

    async def end(self, done: Done) -> None:
        """Put in the end; waits while the inbox is full."""
        try:
            await self._put.send(done)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # nobody waits for it any more

    def over(self) -> None:
        """Let whoever waits see that nothing will follow."""
        self._put.close()

    def close(self) -> None:
        """Give the call up: the server is told to cancel it, what it asks is asked no more."""
        self.scope.cancel()
        self.heard.close()
