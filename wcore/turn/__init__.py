"""One turn: the model speaks, its calls are gated and run, the results go back, until it stops.

A turn is ended from outside by `Turn.end`. That never cancels the turn's own task: it settles
what waits and cancels what works, so that every call still gets its one terminal event and the
history its one result a call.
"""

import logging
from collections.abc import Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Final, Literal

import anyio
from anyio.lowlevel import checkpoint

from wcore.approval import reasons
from wcore.errors import Code, HostGoneError, ProviderError, WcoreError
from wcore.models import CallReady, Delta, Finish, Finished, Notice, Request, Text, Thinking
from wcore.protocol import events
from wcore.session import Session
from wcore.turn.batch import run_batch
from wcore.turn.opening import open_turn
from wcore.vocabulary import AssistantMessage, By, Json, ModelCall, Usage, UserMessage

TEXT_CHARS_MAX: Final = 1024 * 1024  # a delta longer than this is cut into several lines

DELTAS_PER_BREATH: Final = 32  # a model that never waits must not starve the loop

log = logging.getLogger("wcore.turn")
FinishReason = Literal["stop", "length", "error", "max_turns"]


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a turn was ended from outside, and by whom."""

    by: By
    reason: str


class Turn:
    """One answer to one message. `run` it once."""

    def __init__(self, session: Session, msg_id: str) -> None:
        self.session = session
        self.msg_id = msg_id
        self.ending: Ending | None = None
        self.writes = 0
        self.denied_unasked = 0
        self._scopes: set[anyio.CancelScope] = set()

    def end(self, by: By) -> None:
        """End the turn now: deny what waits, cancel what works. The first ending stands."""
        if self.ending is None:
            self.ending = Ending(by, reasons.OF[by])
            self.session.approvals.resolve_all(self.ending.reason, by)
            for scope in self._scopes:
                scope.cancel()

    @contextmanager
    def interruptible(self) -> Generator[anyio.CancelScope, None, None]:
        """Let `end` cancel what happens inside, and only that."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            if self.ending is not None:
                scope.cancel()
            try:
                yield scope
            finally:
                self._scopes.discard(scope)

    async def run(self, message: UserMessage) -> events.StreamEnd:
        """Answer `message`; return the event that ends the turn, for the engine to send."""
        session = self.session
        session.remember(self.msg_id, message)
        await session.emit(events.StreamStart(msg_id=self.msg_id))
        finish: FinishReason = "error"
        try:
            await session.keeper.open()
            await open_turn(session)
            finish = await self._rounds()
        except HostGoneError:
            raise
        except WcoreError as error:
            await session.report(error)
        except Exception:
            log.exception("turn.failed")
            await session.complain(
                Code.INTERNAL, "internal error, see the log; the session goes on", retryable=True
            )
        return events.StreamEnd(
            msg_id=self.msg_id,
            finish_reason=finish,
            usage=_report(session.usage),
            denied_unasked=None if session.settings.prompts else self.denied_unasked,
        )

    async def _rounds(self) -> FinishReason:
        for _ in range(self.session.settings.max_rounds):
            finish, calls = await self._reply()
            if self.ending is not None:
                return "stop"
            if not calls:
                return "length" if finish is Finish.LENGTH else "stop"
            for result in await run_batch(self, calls):
                self.session.remember(self.msg_id, result)
            if self.ending is not None:
                return "stop"
        return "max_turns"

    async def _reply(self) -> tuple[Finish | None, list[tuple[str, ModelCall]]]:
        """Stream one reply; whatever happens, what was said is remembered once."""
        reply = _Reply()
        try:
            with self.interruptible():
                await self._stream(reply)
        finally:
            if self.ending is not None or reply.finish is None:
                reply.calls.clear()  # a reply that did not end asks for nothing
            calls = [(self.session.new_call_id(call.model_id), call) for call in reply.calls]
            text, thinking = "".join(reply.text), "".join(reply.thinking)
            if text or thinking or calls:
                message = AssistantMessage(text, thinking, tuple(calls), reply.sealed)
                self.session.remember(self.msg_id, message)
        if reply.finish is None and self.ending is None:
            raise ProviderError("the model's reply broke off")
        return reply.finish, calls

    async def _stream(self, reply: "_Reply") -> None:
        session = self.session
        request = Request(
            session.settings.system_prompt,
            [entry.message for entry in session.history],
            [tool.spec for tool in session.offered.values()],
            session.settings.max_tokens,
            session.tuning,
        )
        async with aclosing(session.model.stream(request)) as deltas:
            count = 0
            async for delta in deltas:
                await self._take(delta, reply)
                count += 1
                if count % DELTAS_PER_BREATH == 0:
                    await checkpoint()

    async def _take(self, delta: Delta, reply: "_Reply") -> None:
        emit = self.session.emit
        match delta:
            case Text(text):
                reply.text.append(text)
                for piece in _pieces(text):
                    await emit(events.TextDelta(text=piece, msg_id=self.msg_id))
            case Thinking(text, subject):
                reply.thinking.append(text)
                for piece in _pieces(text):
                    await emit(events.Thinking(text=piece, msg_id=self.msg_id, subject=subject))
            case CallReady(call):
                reply.calls.append(call)
            case Notice(text):
                await self.session.info(text, self.msg_id)
            case Finished(reason, usage, sealed):
                reply.finish = reason
                reply.sealed = sealed
                self.session.usage += usage


class _Reply:
    """One model reply while it streams in."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.thinking: list[str] = []
        self.calls: list[ModelCall] = []
        self.finish: Finish | None = None
        self.sealed: Json = None


def _pieces(text: str) -> list[str]:
    return [text[at : at + TEXT_CHARS_MAX] for at in range(0, len(text), TEXT_CHARS_MAX)]


def _report(usage: Usage) -> events.UsageReport:
    return events.UsageReport(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
    )
