"""What a server asks of us while its tools run, as the SDK brings it: questions, roots."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_REQUEST,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    InputRequest,
    InputResponse,
    ListRootsRequest,
    ListRootsResult,
    Root,
)

from wcore.tools.mcp.server_call import ElicitationRequest, ServerCall
from wcore.tools.mcp.server_config import is_address
from wcore.visible import visible, visible_line

QUESTION_CHARS_MAX: Final = 4096  # of a question; a card longer than that is not read


class RequestHandlers:
    """Answers what a server asks. Only a running call of `calls` can ask a person."""

    def __init__(self, workspace: str, calls: Sequence[ServerCall]) -> None:
        self._workspace = workspace
        self._calls = calls

    async def answer(self, call: ServerCall, request: InputRequest) -> InputResponse:
        match request:
            case ElicitRequest(params=params):
                return await self._elicit(call, params)
            case ListRootsRequest():
                return self._root()
            case _:
                raise MCPError(INVALID_REQUEST, "the model is not asked for servers")

    def _asking(self) -> ServerCall | None:
        """Return the call that a question belongs to; none may be asked outside of one."""
        return next((call for call in self._calls if not call.scope.cancel_called), None)

    async def elicited(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        del context
        call = self._asking()
        if call is None:
            return ErrorData(code=INVALID_REQUEST, message="no call is running that could ask")
        return await self._elicit(call, params)

    async def _elicit(self, call: ServerCall, params: ElicitRequestParams) -> ElicitResult:
        text = visible(params.message[:QUESTION_CHARS_MAX])
        if isinstance(params, ElicitRequestFormParams):
            schema: Mapping[str, Any] | None = params.requested_schema
        elif not is_address(params.url) or "@" in params.url:  # before it a name seems the host's
            return ElicitResult(action="decline")
        else:
            text = f"{text}\n{visible_line(params.url, QUESTION_CHARS_MAX)}"
            schema = None
        question = ElicitationRequest(text, schema)
        await self._ask(call, question)
        if question.answer is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content=dict(question.answer) if schema else None)

    async def _ask(self, call: ServerCall, question: ElicitationRequest) -> None:
        call.expect_nothing()  # a person takes their time
        try:
            await call.ask(question)
        finally:
            call.expect()

    async def roots(self, context: ClientRequestContext) -> ListRootsResult:
        del context
        return self._root()

    def _root(self) -> ListRootsResult:
        folder = self._workspace
        uri: Any = Path(folder).as_uri()
        return ListRootsResult(roots=[Root(uri=uri, name=os.path.basename(folder))])
