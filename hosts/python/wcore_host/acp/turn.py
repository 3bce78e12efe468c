"""A turn, from the prompt to the answer that the editor waits for. No input or output."""

from typing import Final
from uuid import uuid4

import anyio
from acp import RequestError
from acp.schema import PromptResponse

from wcore_host import events
from wcore_host.acp.tool_call_content import META
from wcore_host.errors import EngineExitedError
from wcore_host.events import Event, Json
from wcore_host.turn_refusals import refuses_turn

INTERNAL_ERROR: Final = -32603
STOP_REASONS: Final = {"length": "max_tokens", "max_turns": "max_turn_requests"}
USAGE: Final = {  # ours to ACP's; both count the whole session
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cachedReadTokens",
    "cache_write_tokens": "cachedWriteTokens",
}
GOES_ON: Final = "The next message continues the stored session with a new engine."


class Turn:
    """What is known of the running turn, until it is over."""

    def __init__(self) -> None:
        self.msg_id = uuid4().hex
        self.was_cancelled = False
        self._started = False
        self._over = anyio.Event()
        self._problem: events.Error | None = None
        self._failure = ""
        self._end: events.StreamEnd | None = None

    def follow(self, event: Event) -> bool:
        """Take notice of `event`; `True` if it is this turn's business alone."""
        match event:
            case events.StreamStart(msg_id=self.msg_id):
                self._started = True
            case events.StreamEnd(msg_id=self.msg_id):
                self._end = event
                self._over.set()
            case events.Error() if not self._started and refuses_turn(event):
                self._problem = event
                self._over.set()
            case events.Error():
                self._problem = event
            case _:
                return False
        return True

    def fail(self, failure: EngineExitedError | None) -> None:
        """The engine is gone, and the turn with it."""
        self.was_cancelled = self.was_cancelled or failure is None
        self._failure = f"{failure}\n{GOES_ON}" if failure else ""
        self._over.set()

    async def wait(self) -> PromptResponse:
        """Return how the turn ended.

        Raises:
            RequestError: it ended with an error; the message is for the person.
        """
        await self._over.wait()
        reason = self._end.finish_reason if self._end else ""
        if self.was_cancelled:
            return _response("cancelled", self._end)
        if self._failure:
            raise RequestError(INTERNAL_ERROR, self._failure)
        if self._problem is not None and (self._end is None or reason == "error"):
            problem = self._problem
            code: dict[str, Json] = {"code": problem.code, "retryable": problem.retryable}
            raise RequestError(INTERNAL_ERROR, problem.message, {META: code})
        return _response(STOP_REASONS.get(reason, "end_turn"), self._end)


def _response(stop_reason: str, end: events.StreamEnd | None) -> PromptResponse:
    fields: dict[str, Json] = {"stopReason": stop_reason}
    counted = end.raw.get("usage") if end else None
    if isinstance(counted, dict):
        tokens = {USAGE[name]: n for name, n in counted.items() if name in USAGE}
        total = sum(n for n in tokens.values() if isinstance(n, int))
        fields["usage"] = {"totalTokens": total, **tokens}
    if end is not None and end.denied_unasked:
        fields["_meta"] = {META: {"denied_unasked": end.denied_unasked}}
    return PromptResponse.model_validate(fields)
