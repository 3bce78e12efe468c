"""The addresses of the server: the page, its parts, the event stream, and what pages send."""

import json
from collections.abc import Callable, Coroutine
from importlib import resources
from secrets import token_hex, token_urlsafe
from typing import Any, Final, cast

import anyio
from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from wcore_host.decode import LINE_BYTES_MAX
from wcore_host.events import Json
from wcore_host.headless.workspace import WorkspaceFiles
from wcore_host.web import audit_stats, session_stats
from wcore_host.web.access_codes import AccessCodes
from wcore_host.web.conversation import Conversation, RefusedError
from wcore_host.web.engine_cli import EngineCli, EngineCliError
from wcore_host.web.event_log import EventLog, frame
from wcore_host.web.guard import ENTRY_PATH, Guard

NONCE: Final = "{{nonce}}"
GOODBYE_S: Final = 1.0  # for the end of a stream; who does not read it is cut off
NONCE_BYTES: Final = 16  # what the CSP specification asks for at least
CHANNEL_BYTES: Final = 32  # nobody guesses 256 bits
SHELL_TOOL: Final = "Bash"  # whose commands narrow grants are about
KINDS: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{n}'; style-src 'nonce-{n}'; img-src 'self';"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)

_STATIC: Final = resources.files("wcore_host.web").joinpath("static")

Body = dict[str, Json]
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class _BadBodyError(Exception):
    """The body is no JSON object, or too long."""


class Server:
    """The ASGI application of one conversation."""

    def __init__(
        self,
        codes: AccessCodes,
        event_log: EventLog,
        talk: Conversation,
        records: EngineCli,
        workspace: WorkspaceFiles,
    ) -> None:
        self._codes = codes
        self._event_log = event_log
        self._talk = talk
        self._records = records
        self._workspace = workspace
        self._files = _static_files()
        # Known to pages that have come in, only. In hexadecimal: no lock may begin with a dash.
        self._channel = token_hex(CHANNEL_BYTES)
        self._page = _STATIC.joinpath("index.html").read_text()

    def app(self, port: int) -> ASGIApp:
        """Return the application, guarded, for a server on that port of loopback."""
        post = ["POST"]
        routes = [
            Route("/", self._index),
            Route("/static/{name}", self._static),
            Route(ENTRY_PATH, _told(self._enter), methods=post),
            Route("/api/link", _told(self._link), methods=post),
            Route("/api/say", _told(self._say), methods=post),
            Route("/api/ask", _told(self._ask), methods=post),
            Route("/api/start", _told(self._start), methods=post),
            Route("/api/files", _told(self._find), methods=post),
            Route("/api/records/{kind}", _told(self._record), methods=post),
        ]
        return Guard(
            _Streams(Starlette(routes=routes), self._event_log, self._talk), self._codes, port
        )

    async def _index(self, _request: Request) -> Response:
        nonce = token_urlsafe(NONCE_BYTES)
        headers = {"content-security-policy": POLICY.format(n=nonce)}
        page = self._page.replace(NONCE, nonce)
        return Response(page, media_type="text/html", headers=headers)

    async def _static(self, request: Request) -> Response:
        found = self._files.get(request.path_params["name"])
        if found is None:
            return JSONResponse({"error": "there is no such file"}, 404)
        return Response(found[0], media_type=found[1])

    async def _enter(self, request: Request) -> Response:
        body = await _body(request, 1024)
        token = self._codes.enter(str(body.get("code")))
        if token is None:
            told = "This link was used already, or is older than a minute. Ask for another one."
            return JSONResponse({"error": told}, 403)
        return JSONResponse({"token": token, "channel": self._channel})

    async def _link(self, _request: Request) -> Response:
        return JSONResponse({"link": f"/#code={self._codes.code()}"})

    async def _say(self, request: Request) -> Response:
        page: str = request.scope["wcore.page"]
        await self._talk.say(await _body(request, LINE_BYTES_MAX), page)
        return JSONResponse({"ok": True})

    async def _ask(self, request: Request) -> Response:
        return JSONResponse(await self._talk.ask(await _body(request, LINE_BYTES_MAX)))

    async def _start(self, request: Request) -> Response:
        wanted = (await _body(request, 4096)).get("session_id")
        self._talk.start_again(wanted if isinstance(wanted, str) else None)
        return JSONResponse({"ok": True})

    async def _find(self, request: Request) -> Response:
        wanted = str((await _body(request, 4096)).get("wanted") or "")
        found = await to_thread.run_sync(self._workspace.find, wanted)
        return JSONResponse({"files": list(found)})

    async def _record(self, request: Request) -> Response:
        asked = await _body(request, 4096)

        def text(name: str) -> str:
            return str(asked.get(name) or "")

        records = self._records
        match request.path_params["kind"]:
            case "audit":
                since, tool, decision = text("since"), text("tool"), text("decision")
                rows, more = await records.audit(since=since, tool=tool, decision=decision)
                found = audit_stats.decisions(rows, more=more, words=text("words"))
            case "verify":
                found = await records.verify()
            case "sessions":
                found = {"sessions": list(await records.sessions())}
            case "session":
                rows, more = await records.journal(text("session_id"))
                found = await self._with_grants(session_stats.session(rows, more=more))
            case "policy":
                found = await records.policy()
            case _:
                return JSONResponse({"error": "there is no such record"}, 404)
        return JSONResponse(found)

    async def _with_grants(self, found: dict[str, Json]) -> dict[str, Json]:
        """Add to each question of a session the narrow yes that would have answered it."""
        asked = found["asked"]
        for each in asked if isinstance(asked, list) else []:
            if isinstance(each, dict) and each["tool"] == SHELL_TOOL:
                each["grant"] = await self._records.grant_for(str(each["what"]))
        return found


class _Streams:
    """Answers `/api/events` itself: a stream that a slow reader cannot keep open."""

    def __init__(self, rest: ASGIApp, event_log: EventLog, talk: Conversation) -> None:
        self._rest = rest
        self._event_log = event_log
        self._talk = talk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/api/events":
            await self._rest(scope, receive, send)
            return
        tab = self._event_log.open(scope["wcore.page"])
        try:
            async with anyio.create_task_group() as tasks:

                async def leave_when(gone: Callable[[], Coroutine[Any, Any, object]]) -> None:
                    await gone()
                    tasks.cancel_scope.cancel()

                tasks.start_soon(leave_when, lambda: _hung_up(receive))
                tasks.start_soon(leave_when, tab.dropped.wait)
                tasks.start_soon(self._tell_pending, tab.offer)
                headers = [(b"content-type", b"text/event-stream")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                async for piece in tab.pieces():
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                tasks.cancel_scope.cancel()
        finally:
            self._event_log.close(tab)
        with anyio.move_on_after(GOODBYE_S):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell_pending(self, offer: Callable[[bytes], None]) -> None:
        offer(frame({"type": "host_pending", "calls": await self._talk.pending()}))


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _told(handler: Handler) -> Handler:
    """Turn what a page did wrong into an answer that says so."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except _BadBodyError as error:
            return JSONResponse({"error": str(error)}, 400)
        except RefusedError as error:
            return JSONResponse({"error": str(error)}, 409)
        except EngineCliError as error:
            return JSONResponse({"error": str(error)}, 502)
        except ClientDisconnect:  # the page went away while it sent: nobody hears this
            return Response(status_code=400)

    return answer


async def _body(request: Request, bytes_max: int) -> Body:
    """Return the JSON object in the body, reading no more than `bytes_max`."""
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > bytes_max:
            raise _BadBodyError("the request is too long")
    try:
        value = cast("Json", json.loads(data))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _BadBodyError("the request is no JSON object")
    return value


def _static_files() -> dict[str, tuple[bytes, str]]:
    """Return every asset by its name, read once: no request ever becomes a path."""
    found: dict[str, tuple[bytes, str]] = {}
    for file in _STATIC.iterdir():
        kind = KINDS.get(file.name[file.name.rfind(".") :])
        if kind is not None:
            found[file.name] = (file.read_bytes(), kind)
    return found
