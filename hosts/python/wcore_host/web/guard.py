"""The guard before everything else: which requests are answered at all, and with which headers.

A page of another origin, and of another port of this machine too, must get nothing and do
nothing. So the Host must be ours (DNS rebinding), the Origin must be ours (forged requests), and
whatever tells or changes something needs the token of a page, in a header. No cookie counts.
"""

import json
from collections.abc import Iterable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wcore_host.web.access_codes import AccessCodes

TOKEN_HEADER: Final = b"x-wcore-token"
ENTRY_PATH: Final = "/api/enter"  # the one request that needs no token
SEALED: Final = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"
HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-embedder-policy", b"require-corp"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)


class Guard:
    """Lets requests of our own pages through to `app`, and puts our headers on every answer."""

    def __init__(self, app: ASGIApp, codes: AccessCodes, port: int) -> None:
        self._app = app
        self._codes = codes
        self._hosts = {name: f"http://{name.decode()}".encode() for name in _names(port)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse with a status and one line that says why."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no websockets: uvicorn refuses the handshake

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_ours(message.get("headers", ()))
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, sealed)
        else:
            await _refuse(sealed, *refusal)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and reason if the request must not be answered."""
        path, method = scope["path"], scope["method"]
        hosts = _all(scope, b"host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 421, "this server is not what you asked for"
        origins = _all(scope, b"origin")
        if any(origin != self._hosts[hosts[0]] for origin in origins) or len(origins) > 1:
            return 403, "requests of other origins are refused"
        if method == "POST" and not origins:
            return 403, "a request that changes something must say where it comes from"
        if not _is_from_here(scope, path):
            return 403, "requests of other sites are refused"
        if not path.startswith("/api/") or path == ENTRY_PATH:
            return None
        tokens = _all(scope, TOKEN_HEADER)
        page = self._codes.page(tokens[0].decode("latin-1")) if len(tokens) == 1 else None
        if page is None:
            return 401, "this page has no token: open it with the link that wcore-web prints"
        scope["wcore.page"] = page
        return None


def _names(port: int) -> tuple[bytes, ...]:
    return (f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode())


def _all(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key == name]


def _is_from_here(scope: Scope, path: str) -> bool:
    """Whether the browser says that our own page asks; navigating to `/` is open to everybody."""
    said = _all(scope, b"sec-fetch-site")  # browsers that are too old to say it send none
    if path == "/" and _all(scope, b"sec-fetch-mode") == [b"navigate"]:
        return True
    return all(site in (b"same-origin", b"none") for site in said)


def _with_ours(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    given = list(headers)
    if not any(name == b"content-security-policy" for name, _ in given):
        given.append((b"content-security-policy", SEALED.encode()))
    return [*given, *HEADERS]


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = json.dumps({"error": reason}).encode()
    # The connection stays open: closed with a body still to come, it would take the answer along.
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
