"""Questions of the engine on their way to the person and back, each in a task of its own.

An answer goes to the call it was asked about. A call that is settled otherwise (expiry, stop)
takes its question back; whatever goes wrong with asking is a no.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import anyio
from acp import RequestError
from acp.interfaces import Client
from acp.schema import (
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)
from anyio.abc import TaskGroup

from wcore_host import events
from wcore_host.acp import permission_options, tool_call_content
from wcore_host.acp.calls import Calls
from wcore_host.acp.questions import Question
from wcore_host.acp.tool_call_content import META
from wcore_host.engine import Engine
from wcore_host.errors import CommandTooLongError, EngineExitedError
from wcore_host.events import Event, ToolRequest
from wcore_host.headless.card_content import QUESTION_TOOL
from wcore_host.permission import CANNOT_EDIT, REFUSED, SETTLE_S, Allow, Deny

NO_SUCH_FORM: Final = "no editor can show a form like this"


class PermissionRequests:
    """The open questions of one session. `on_cancel` hears that a card was dismissed."""

    def __init__(
        self,
        editor: Client,
        session_id: str,
        calls: Calls,
        on_cancel: Callable[[], None],
        *,
        forms: bool,
    ) -> None:
        self._editor = editor
        self._session_id = session_id
        self._calls = calls
        self._forms = forms
        self._open: dict[str, anyio.CancelScope] = {}
        self._on_cancel = on_cancel

    def follow(self, event: Event, engine: Engine, tasks: TaskGroup) -> None:
        """Ask about a call that waits, take back the question about one that does not; at once."""
        match event:
            case events.ToolRequest(call_id=call_id):
                scope = self._open[call_id] = anyio.CancelScope()
                card = self._calls.card(event)  # now: the call may be over before the task begins
                tasks.start_soon(self._answer, event, card, engine, scope)
            case events.CallSettled(call_id=call_id) | events.ToolCancelled(call_id=call_id):
                if scope := self._open.pop(call_id, None):
                    scope.cancel()
            case _:
                pass

    async def _answer(
        self,
        request: ToolRequest,
        card: ToolCallUpdate,
        engine: Engine,
        scope: anyio.CancelScope,
    ) -> None:
        with scope, suppress(EngineExitedError, ConnectionError):  # whoever reads says so
            try:
                verdict = await self._decide(request, card, engine)
                await engine.answer_call(request, verdict)
            except RequestError as error:
                verdict = Deny(f"the editor could not ask: {error}")
                await engine.answer_call(request, verdict)
            except (ValueError, CommandTooLongError):  # not to be said in a line of JSON
                verdict = Deny(permission_options.UNKNOWN_ANSWER)
                await engine.answer_call(request, verdict)
            if isinstance(verdict, Allow) and "call_settled" in engine.capabilities.flags:
                await anyio.sleep(SETTLE_S)  # cut short when the engine takes it
                await engine.answer_call(request, Deny(REFUSED))
        if self._open.get(request.call_id) is scope:
            del self._open[request.call_id]

    async def _decide(
        self, request: ToolRequest, card: ToolCallUpdate, engine: Engine
    ) -> Allow | Deny:
        if request.tool.name == QUESTION_TOOL:
            return await self._ask(request, card)
        flags = engine.capabilities.flags
        offered = permission_options.choices(request, flags, forms=self._forms)
        answer = await self._buttons(card, [choice.option for choice in offered])
        outcome = answer.outcome
        if isinstance(outcome, DeniedOutcome):
            self._on_cancel()
        elif outcome.option_id == permission_options.REJECT_WHY:
            form = permission_options.reason_form(self._session_id, request.call_id)
            return permission_options.reason(
                await self._editor.create_elicitation(permission_options.WHY_TITLE, form)
            )
        verdict = permission_options.verdict(request, offered, outcome)
        if isinstance(verdict, Allow) and verdict.args is not None and "edit_args" not in flags:
            return Deny(CANNOT_EDIT)
        return verdict

    async def _ask(self, request: ToolRequest, card: ToolCallUpdate) -> Allow | Deny:
        question = Question.of(request)
        if self._forms:
            form = question.form(self._session_id, request.call_id)
            if form is None:
                return Deny(NO_SUCH_FORM)
            return question.filled(await self._editor.create_elicitation(question.text, form))
        if question.note:
            card.content = [*(card.content or []), tool_call_content.text(question.note)]
        answer = await self._buttons(card, question.options())
        if isinstance(answer.outcome, DeniedOutcome):
            self._on_cancel()
        return question.pressed(answer.outcome)

    async def _buttons(
        self, card: ToolCallUpdate, options: list[PermissionOption]
    ) -> RequestPermissionResponse:
        facts = (card.field_meta or {}).get(META)
        return await self._editor.request_permission(
            self._session_id, card, options, **{META: facts}
        )
