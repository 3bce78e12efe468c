"""Questions of the engine on their way to the person and back, each in a task of its own.

An answer goes to the call it was asked about. A call that is settled otherwise (expiry, stop)
takes its question back; whatever goes wrong with asking is a no.
"""

from collections.abc import Callable
from contextlib import suppress

import anyio
from acp import RequestError
from acp.interfaces import Client
from acp.schema import PermissionOption, RequestPermissionResponse
from anyio.abc import TaskGroup

from wcore_host import events
from wcore_host.acp import asking
from wcore_host.acp.calls import Calls
from wcore_host.acp.questions import QUESTION_TOOL, Question
from wcore_host.acp.showing import META
from wcore_host.engine import Engine
from wcore_host.errors import EngineExitedError
from wcore_host.events import Event, ToolRequest
from wcore_host.permission import Allow, Deny


class Desk:
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
                tasks.start_soon(self._answer, event, engine, scope)
            case events.CallSettled(call_id=call_id) | events.ToolCancelled(call_id=call_id):
                if scope := self._open.pop(call_id, None):
                    scope.cancel()
            case _:
                pass

    async def _answer(self, request: ToolRequest, engine: Engine, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                verdict = await self._decide(request, engine)
            except RequestError as error:
                verdict = Deny(f"the editor could not ask: {error}")
            except ConnectionError:
                return  # the editor is gone, and we with it
            self._open.pop(request.call_id, None)
            if isinstance(verdict, Deny) and verdict.stop:
                self._on_cancel()
            with suppress(EngineExitedError):  # whoever reads the events says so
                await engine.answer_call(request, verdict)

    async def _decide(self, request: ToolRequest, engine: Engine) -> Allow | Deny:
        if request.tool.name != QUESTION_TOOL:
            can_persist = "persist" in engine.capabilities.flags
            offered = asking.choices(request, can_persist=can_persist)
            answer = await self._buttons(request, [choice.option for choice in offered])
            return asking.verdict(offered, answer.outcome)
        question = Question.of(request)
        if self._forms:
            form = question.form(self._session_id, request.call_id)
            return question.filled(await self._editor.create_elicitation(question.text, form))
        answer = await self._buttons(request, question.options())
        return question.pressed(answer.outcome)

    async def _buttons(
        self, request: ToolRequest, options: list[PermissionOption]
    ) -> RequestPermissionResponse:
        card = self._calls.card(request)
        return await self._editor.request_permission(
            self._session_id, card, options, **{META: (card.field_meta or {}).get(META)}
        )
