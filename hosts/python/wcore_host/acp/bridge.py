"""What an editor may ask of us, one method a request of ACP. Start reading here."""

import os
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from acp import PROTOCOL_VERSION, RequestError
from acp.interfaces import Client
from acp.schema import (
    ClientCapabilities,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    ResumeSessionResponse,
    SetSessionModeResponse,
)
from anyio.abc import TaskGroup

from wcore_host.acp import stored_sessions
from wcore_host.acp.options import AcpOptions
from wcore_host.acp.prompts import Block
from wcore_host.acp.servers import Server
from wcore_host.acp.session import Session
from wcore_host.events import JsonObject

SESSIONS_MAX: Final = 32  # each is a process; nobody has more conversations open
CAPABILITIES: Final[JsonObject] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
}


class Bridge:
    """The agent, as the editor sees it. Its sessions live in `tasks` and end with it."""

    def __init__(self, chosen: AcpOptions, tasks: TaskGroup) -> None:
        self._chosen = chosen
        self._tasks = tasks
        self._sessions: dict[str, Session] = {}
        self._forms = False
        self._starting = 0

    def on_connect(self, conn: Client) -> None:
        self._editor = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_meta: object,
    ) -> InitializeResponse:
        forms = client_capabilities and client_capabilities.elicitation
        self._forms = bool(forms and forms.form is not None)
        about = {"name": "wcore", "title": "wcore", "version": _version()}
        return InitializeResponse.model_validate(
            {
                "protocolVersion": PROTOCOL_VERSION,
                "agentCapabilities": CAPABILITIES,
                "agentInfo": about,
                "authMethods": [],
            }
        )

    # --- sessions -----------------------------------------------------------------------------

    async def new_session(
        self, cwd: str, mcp_servers: list[Server] | None = None, **_meta: object
    ) -> NewSessionResponse:
        session = await self._begin(cwd, mcp_servers)
        session.tell()
        return NewSessionResponse.model_validate(
            {"sessionId": session.session_id, "modes": session.modes}
        )

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: list[Server] | None = None, **_meta: object
    ) -> LoadSessionResponse:
        session = await self._begin(cwd, mcp_servers, session_id)
        await session.replay()
        session.tell()
        return LoadSessionResponse.model_validate({"modes": session.modes})

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: list[Server] | None = None, **_meta: object
    ) -> ResumeSessionResponse:
        session = await self._begin(cwd, mcp_servers, session_id)
        session.tell()
        return ResumeSessionResponse.model_validate({"modes": session.modes})

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_meta: object
    ) -> ListSessionsResponse:
        if cursor is not None:
            return ListSessionsResponse(sessions=[])
        where = None if cwd is None else os.path.realpath(cwd)  # noqa: ASYNC240 - one look
        found = await stored_sessions.sessions(self._chosen.engine, self._chosen.place, where)
        return ListSessionsResponse(sessions=found)

    async def close_session(self, session_id: str, **_meta: object) -> CloseSessionResponse:
        session = self._session(session_id)
        del self._sessions[session_id]
        await session.end()
        return CloseSessionResponse()

    async def set_session_mode(
        self, mode_id: str, session_id: str, **_meta: object
    ) -> SetSessionModeResponse:
        await self._session(session_id).set_mode(mode_id)
        return SetSessionModeResponse()

    # --- turns --------------------------------------------------------------------------------

    async def prompt(self, prompt: list[Block], session_id: str, **_meta: object) -> PromptResponse:
        return await self._session(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_meta: object) -> None:
        if session := self._sessions.get(session_id):
            await session.cancel()

    # --- inside -------------------------------------------------------------------------------

    async def _begin(self, cwd: str, servers: list[Server] | None, resume: str = "") -> Session:
        if not os.path.isabs(cwd):
            raise RequestError.invalid_params({"cwd": "an absolute path is needed"})
        if resume in self._sessions:  # the editor opens it again: its engine holds it
            await self._sessions.pop(resume).end()
        if len(self._sessions) + self._starting >= SESSIONS_MAX:
            raise RequestError(-32603, f"{SESSIONS_MAX} sessions are open; close one first")
        session = Session(self._editor, self._chosen, cwd, self._tasks)
        self._starting += 1
        try:
            await session.begin(servers or (), resume=resume, forms=self._forms)
        finally:
            self._starting -= 1
        self._sessions[session.session_id] = session
        return session

    def _session(self, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise RequestError(-32002, f"there is no open session {session_id!r}; load it first")
        return session


def _version() -> str:
    try:
        return version("wcore")
    except PackageNotFoundError:
        return "unknown"
