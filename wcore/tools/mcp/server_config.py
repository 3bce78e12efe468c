"""What a server is: how it is started or reached. Checked once, never changed."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from wcore.errors import Code, WcoreError
from wcore.tools.arguments import canonical
from wcore.tools.mcp.life import CALL_S, START_S, TIMEOUT_S_MAX
from wcore.tools.mcp.names import RAW_CHARS_MAX, server_part
from wcore.visible import visible_line

STDIO: Final = "stdio"
HTTP: Final = "streamable-http"
SSE: Final = "sse"
TRANSPORTS: Final = {STDIO: STDIO, HTTP: HTTP, "streamable_http": HTTP, SSE: SSE}

OBJECTS_MAX: Final = 50_000  # in one message; as values each of a few bytes takes two thousand
OBJECT: Final = b'{"'  # how one begins; within a text there is a backslash between
TEXT_CHARS_MAX: Final = 32 * 1024  # of one argument, variable or header; Linux takes 128 KiB
PARTS_MAX: Final = 256  # arguments, variables or headers: more is a mistake
SHOWN_CHARS_MAX: Final = 80  # of a name in an error message

_ADDRESS: Final = re.compile(r"[!-~]{1,2048}")  # what servers and proxies take
_SECRET_NAME: Final = re.compile(
    r"(?i)key|token|secret|passw|credential|auth|cookie|session|bearer"
)
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_PLAIN_HEADERS: Final = frozenset({"accept", "content-type", "user-agent", "accept-language"})


class ServerConfigError(WcoreError):
    """The server cannot be what it is said to be; nothing was started."""

    code = Code.CONFIG


class ServerConfig(Struct, frozen=True):
    """One server. `safe_name` stands for it in the names of its tools, `shown_name` for people.

    `cwd` is where a program is started. `on_path` are the folders that a program without a path
    is looked for in; `None` are those of its PATH. `start_timeout_s` and `call_timeout_s` are no
    part of what it is: see `life`.
    """

    name: str
    safe_name: str
    transport: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None
    url: str = ""
    headers: Mapping[str, str] | None = None
    cwd: str = ""
    on_path: tuple[str, ...] | None = None
    start_timeout_s: float = START_S
    call_timeout_s: float = CALL_S

    @property
    def shown_name(self) -> str:
        return visible_line(self.name, SHOWN_CHARS_MAX)

    @property
    def digest(self) -> str:
        """Bind a grant to how the server is started or reached.

        The values of secrets are left out: a fresh token is no other server, and nothing derived
        from one belongs on the disk.
        """
        facts = {
            "transport": self.transport,
            "command": [self.command, *_without_secrets(self.args)],
            "env": {n: None if _is_secret(n) else v for n, v in (self.env or {}).items()},
            "url": _bare(self.url),
            "headers": sorted(name.lower() for name in self.headers or {}),
            "cwd": self.cwd,
        }
        return "sha256:" + hashlib.sha256(canonical(facts).encode()).hexdigest()

    def secrets(self) -> Iterator[str]:
        """Yield what must never be shown: tokens in variables, headers, options and the URL."""
        for name, value in (self.env or {}).items():
            if _is_secret(name):
                yield value
        for name, value in (self.headers or {}).items():
            if name.lower() not in _PLAIN_HEADERS:
                yield value
                yield value.rpartition(" ")[2]  # `Bearer …` without the word
        yield from _option_secrets(self.args)
        parts = urlsplit(self.url)
        yield parts.password or ""
        yield from (value for name, value in parse_qsl(parts.query) if _is_secret(name))


def parse_server_config(  # noqa: PLR0913 - the fields of the command
    name: str,
    transport: str,
    *,
    command: str | None = None,
    args: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
    cwd: str = "",
    on_path: tuple[str, ...] | None = None,
    start_timeout_s: float | None = None,
    call_timeout_s: float | None = None,
) -> ServerConfig:
    """Check what somebody wrote down.

    Raises:
        ServerConfigError: it cannot work; says what to change.
    """
    shown = visible_line(name, SHOWN_CHARS_MAX)
    safe = server_part(name)
    if safe is None:
        raise ServerConfigError(
            f"{shown!r} cannot name a server: use up to {RAW_CHARS_MAX} characters that can be "
            "seen, and `_` inside only, no two of them together"
        )
    kind = TRANSPORTS.get(transport)
    if kind is None:
        known = ", ".join((STDIO, HTTP, SSE))
        text = visible_line(transport, SHOWN_CHARS_MAX)
        raise ServerConfigError(f"unknown transport {text!r}; there are {known}")
    config = ServerConfig(
        name,
        safe,
        kind,
        start_timeout_s=_timeout("start_timeout_s", start_timeout_s, START_S),
        call_timeout_s=_timeout("call_timeout_s", call_timeout_s, CALL_S),
    )
    if kind != STDIO:
        trimmed = {name: value.strip() for name, value in (headers or {}).items()}
        return replace(config, url=_url(kind, url), headers=_headers(trimmed))
    if not command or not command.strip():
        raise ServerConfigError("transport stdio needs `command`")
    _check_texts(command, *args)
    _check_environment(env or {})
    return replace(config, command=command, args=args, env=env, cwd=cwd, on_path=on_path)


def _timeout(key: str, value: float | None, default: float) -> float:
    if value is None:
        return default
    if not 1 <= value <= TIMEOUT_S_MAX:
        raise ServerConfigError(f"`{key}` must be 1 to {TIMEOUT_S_MAX:g} seconds")
    return float(value)


def _check_texts(*texts: str) -> None:
    if len(texts) > PARTS_MAX:
        raise ServerConfigError(f"there are more than {PARTS_MAX} arguments")
    for text in texts:
        if "\0" in text or len(text) > TEXT_CHARS_MAX:
            raise ServerConfigError("an argument holds a NUL character or is too long")


def _check_environment(env: Mapping[str, str]) -> None:
    _check_texts(*env.values())
    for name in env:
        if not name or "=" in name or "\0" in name:
            shown = visible_line(name, SHOWN_CHARS_MAX)
            raise ServerConfigError(f"{shown!r} cannot name an environment variable")


def _url(kind: str, url: str | None) -> str:
    if not url:
        raise ServerConfigError(f"transport {kind} needs `url`")
    if not is_address(url):
        raise ServerConfigError("`url` must be an http:// or https:// address")
    return url


def is_address(url: str) -> bool:
    """Whether `url` is an http:// or https:// address, all of it plain to see."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        return False
    return bool(usable and _ADDRESS.fullmatch(url))


def _headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    if len(headers) > PARTS_MAX:
        raise ServerConfigError(f"there are more than {PARTS_MAX} headers")
    for name, value in headers.items():
        plain = value.isprintable() and len(value) <= TEXT_CHARS_MAX and value.isascii()
        if not _HEADER_NAME.fullmatch(name) or not plain:
            shown = visible_line(name, SHOWN_CHARS_MAX)
            raise ServerConfigError(f"{shown!r} is no header, or its value is none")
    return headers


def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def _option_secrets(args: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of `--api-key VALUE` and `--token=VALUE`."""
    for arg, following in zip(args, (*args[1:], ""), strict=False):
        option, equals, value = arg.partition("=")
        if _is_secret(option) and (equals or option.startswith("-")):
            yield value if equals else following


def _without_secrets(args: tuple[str, ...]) -> list[str]:
    hidden = set(_option_secrets(args))
    return [
        arg.partition("=")[0] if arg.partition("=")[2] in hidden else arg
        for arg in args
        if arg not in hidden
    ]


def _bare(url: str) -> list[str]:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    query = [f"{n}={'' if _is_secret(n) else v}" for n, v in parse_qsl(parts.query)]
    return [parts.scheme, host, parts.path, *query]
