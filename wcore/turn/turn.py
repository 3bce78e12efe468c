"""One turn: the model replies, its calls are gated and run, their results go back, until it stops.

The engine makes a `Turn` for a `message` and runs it as a task; a sub-agent runs one in its
parent's. A turn with one call adds to the history `AssistantMessage("", calls=(("toolu_7",
ModelCall("toolu_7", "Bash", {"command": "ls"})),))`, `ToolMessage("toolu_7", "Bash", …)` and the
reply to that.

What ends it from outside is `control.end`; see `control.py`.
"""

import logging
from contextlib import aclosing
from typing import Final, Literal

from anyio.lowlevel import checkpoint

from wcore.errors import Code, HostGoneError, ProviderError, WcoreError
from wcore.models.factory import cost_usd
from wcore.models.model import (
    CallReady,
    Delta,
    Finished,
    FinishReason,
    Notice,
    Request,
    Text,
    Thinking,
)
from wcore.models.printed_calls import REMINDER, TOLD_HOST, is_printed_call
from wcore.persistence import records
from wcore.persistence.restore import OpenTurn
from wcore.protocol import events
from wcore.session.session import Session
from wcore.store import Kind, Record
from wcore.turn.batch import run_batch
from wcore.turn.control import Tally, TurnControl
from wcore.turn.policy_reload import reload_policy
from wcore.turn.reply import Reply, SecretsFilter, split_delta
from wcore.vocabulary import AssistantMessage, ModelCall, UserMessage

DELTAS_PER_CHECKPOINT: Final = 32  # a model that never waits must not starve the loop
SILENCE: Final = "The model answered nothing. Send the message again, or choose another model."

log = logging.getLogger("wcore.turn")
TurnFinishReason = Literal["stop", "length", "error", "max_turns"]


class Turn:
    """One answer to one message. `run` it once.

    With `interrupted` it first goes on with the calls that an earlier engine left open.
    """

    def __init__(
        self,
        session: Session,
        msg_id: str,
        interrupted: OpenTurn | None = None,
        tally: Tally | None = None,
    ) -> None:
        self.control = TurnControl(session, msg_id, self._run_child, tally)
        self.session = session
        self.msg_id = msg_id
        self.interrupted = interrupted
        self._has_spoken = False  # text or a call, in any reply
        self._is_reminded = False  # that calls are not made by writing them

    async def _run_child(self, session: Session, message: UserMessage) -> events.StreamEnd:
        child = Turn(session, self.msg_id, tally=self.control.tally)
        with self.control.ending_also(child.control):
            return await child.run(message)

    async def run(self, message: UserMessage | None) -> events.StreamEnd:
        """Answer `message`; return the event that ends the turn, for the engine to send.

        Without a message the turn that was left goes on.
        """
        session = self.session
        started = records.turn_started(self.msg_id, message, reopened=self.interrupted is not None)
        session.journal.record(Kind.TURN_STARTED, **started)
        if message is not None and self.interrupted is not None:
            self.interrupted.messages.append(message)
        elif message is not None:
            session.append_history(self.msg_id, message)
        await session.emit(events.StreamStart(msg_id=self.msg_id))
        finish: TurnFinishReason = "error"
        try:
            await session.persistence.open()
            await reload_policy(session)
            if session.parent is None:
                with self.control.interruptible():
                    await session.before_turn()
            await self._resume_open_calls()
            finish = "stop" if self.control.ending else await self._rounds()
        except HostGoneError:
            raise
        except WcoreError as error:
            await session.emit_exception(error)
        except Exception:
            log.exception("turn.failed")
            await session.emit_error(
                Code.INTERNAL, "internal error, see the log; the session goes on", retryable=True
            )
        if self.interrupted is None:
            await self._write_end(finish)
        if session.parent is None:
            session.secrets.forget_tokens()
            session.persistence.calm()
        return events.StreamEnd(
            msg_id=self.msg_id,
            finish_reason=finish,
            usage=_report(session),
            denied_unasked=None if session.settings.prompts else self.control.tally.denied_unasked,
        )

    async def _write_end(self, finish: TurnFinishReason) -> None:
        ended = Record(Kind.TURN_ENDED, {"msg_id": self.msg_id, "finish": finish})
        if await self.session.journal.try_write(ended):
            log.error("turn.end_unwritten")  # the next turn cannot begin before it is written

    async def _resume_open_calls(self) -> None:
        """End the calls that an earlier engine left open, then hear the messages that waited.

        What it left stays left until then: if rules or store cannot be had, nothing was lost.
        """
        interrupted, self.interrupted = self.interrupted, None
        if interrupted is None:
            return
        self._has_spoken = True  # to an earlier engine, for all we know
        calls = [(each.call_id, each.call) for each in interrupted.calls.values()]
        for call_id, _ in calls:
            self.session.ledger.reopen(call_id)
        for result in await run_batch(self.control, calls, interrupted.calls):
            interrupted.results[result.call_id] = result
        for call_id in interrupted.order:
            self.session.append_history(self.msg_id, interrupted.results[call_id])
        for waiting in interrupted.messages:
            self.session.append_history(self.msg_id, waiting)
        if self.control.problem is not None:
            raise self.control.problem

    async def _rounds(self) -> TurnFinishReason:
        for _ in range(self.session.settings.max_rounds):
            reply, calls = await self._reply()
            if self.control.ending is not None:
                return "stop"
            if not calls and not reply.reminder:
                if not self._has_spoken:
                    await self.session.emit_info(SILENCE, self.msg_id)
                return "length" if reply.finish is FinishReason.LENGTH else "stop"
            for result in await run_batch(self.control, calls):
                self.session.append_history(self.msg_id, result)
            if self.control.problem is not None:
                raise self.control.problem
            if self.control.ending is not None:
                return "stop"
            if gave_up := self.control.denials.gave_up:
                await self.session.emit_info(gave_up, self.msg_id)
                return "stop"
        return "max_turns"

    async def _reply(self) -> tuple[Reply, list[tuple[str, ModelCall]]]:
        """Stream one reply; whatever happens, what was said is remembered once."""
        reply = Reply()
        try:
            with self.control.interruptible():
                await self._stream(reply)
        except Exception as error:
            reply.failed = records.failure(error)
            raise
        finally:
            if self.control.ending is not None or reply.finish is None:
                reply.calls.clear()  # a reply that did not end asks for nothing
            calls = [(self.session.new_call_id(call.model_id), call) for call in reply.calls]
            text, thinking = "".join(reply.text), "".join(reply.thinking)
            message = AssistantMessage(text, thinking, tuple(calls), reply.sealed)
            self._has_spoken = self._has_spoken or bool(text.strip() or calls)
            if text or thinking or calls:
                self.session.append_history(self.msg_id, message)
            reply.reminder = self._reminder(reply, message)
            self._note(reply, message)
        if reply.finish is None and self.control.ending is None:
            raise ProviderError("the model's reply broke off")
        if reply.reminder:
            self._is_reminded = True
            reminder = UserMessage(reply.reminder, context=True)
            self.session.append_history(self.msg_id, reminder)
            await self.session.emit_info(TOLD_HOST, self.msg_id)
        return reply, calls

    def _reminder(self, reply: Reply, message: AssistantMessage) -> str:
        """Return what a model is told, once a turn, that wrote a call as text."""
        ended = (
            reply.finish is FinishReason.STOP and self.control.ending is None and not message.calls
        )
        if self._is_reminded or not ended:
            return ""
        return REMINDER if is_printed_call(message.text, self.session.offered_tools) else ""

    def _note(self, reply: Reply, message: AssistantMessage) -> None:
        """Note a reply; written with the first call, or the end of the turn."""
        spent = (reply.usage, reply.cost_usd, reply.context_tokens)
        facts = records.replied(self.msg_id, message, reply.finish, *spent)
        facts |= {"failed": reply.failed} if reply.failed else {}
        facts |= {"reminder": reply.reminder} if reply.reminder else {}
        self.session.journal.record(Kind.REPLIED, **facts)

    async def _stream(self, reply: Reply) -> None:
        session = self.session
        request = Request(
            session.settings.system_prompt,
            session.history.messages,
            [tool.spec for tool in session.offered_tools.values()],
            session.settings.max_tokens,
            session.thinking_settings,
        )
        said = SecretsFilter(session.secrets)
        async with aclosing(session.model.stream(request)) as deltas:
            count = 0
            try:
                async for delta in deltas:
                    await self._on_deltas(said.feed(delta), reply)
                    count += 1
                    if count % DELTAS_PER_CHECKPOINT == 0:
                        await checkpoint()
            except WcoreError:
                await self._on_deltas(said.finish(), reply)
                raise
        await self._on_deltas(said.finish(), reply)

    async def _on_deltas(self, deltas: list[Delta], reply: Reply) -> None:
        for delta in deltas:
            await self._on_delta(delta, reply)

    async def _on_delta(self, delta: Delta, reply: Reply) -> None:
        emit = self.session.emit
        match delta:
            case Text(text):
                reply.text.append(text)
                for piece in split_delta(text):
                    await emit(events.TextDelta(text=piece, msg_id=self.msg_id))
            case Thinking(text, subject):
                reply.thinking.append(text)
                for piece in split_delta(text):
                    await emit(events.Thinking(text=piece, msg_id=self.msg_id, subject=subject))
            case CallReady(call):
                reply.calls.append(call)
            case Notice(text):
                await self.session.emit_info(text, self.msg_id)
            case Finished(reason, usage, sealed, context_tokens):
                reply.finish = reason
                reply.sealed = sealed
                reply.usage, reply.context_tokens = usage, context_tokens
                self.session.usage += usage
                self.session.context_tokens = context_tokens
                cost = cost_usd(self.session.model, usage)
                reply.cost_usd = cost
                self.control.tally.cost_usd += cost or 0.0
                self.control.tally.is_priced = self.control.tally.is_priced and cost is not None


def _report(session: Session) -> events.UsageReport:
    usage, held, window = session.usage, session.context_tokens, session.model.window_tokens
    return events.UsageReport(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
        context_tokens=held or None,
        active_window_percent=min(100, round(100 * held / window)) if held and window else None,
    )
