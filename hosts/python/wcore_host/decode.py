"""One line, one event: the only place that reads the engine's JSON. Never raises on its input."""

import json
from collections.abc import Callable, Mapping
from typing import Final, cast

from wcore_host import events
from wcore_host.events import Event, Json, JsonObject

LINE_BYTES_MAX: Final = 8 * 1024 * 1024  # the protocol's limit, newline included
GARBLED_CHARS_SHOWN: Final = 120


class _WrongFieldError(Exception):
    """A field that this event cannot be without is missing or of another type."""


class Fields:
    """Reads typed fields of one JSON object; `null` counts as absent."""

    def __init__(self, raw: JsonObject) -> None:
        self.raw = raw

    def need(self, name: str) -> str:
        """Return a text field that must be there."""
        value = self.raw.get(name)
        if not isinstance(value, str):
            raise _WrongFieldError(f"{name} should be text")
        return value

    def text(self, name: str, default: str = "") -> str:
        value = self.raw.get(name)
        return value if isinstance(value, str) else default

    def flag(self, name: str) -> bool:
        return self.raw.get(name) is True

    def number(self, name: str) -> int | None:
        value = self.raw.get(name)
        return int(value) if isinstance(value, int | float) else None

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(item for item in self.items(name) if isinstance(item, str))

    def items(self, name: str) -> list[Json]:
        value = self.raw.get(name)
        return value if isinstance(value, list) else []

    def objects(self, name: str) -> list["Fields"]:
        return [Fields(item) for item in self.items(name) if isinstance(item, dict)]

    def part(self, name: str) -> "Fields":
        """Return an object field; absent reads as empty."""
        value = self.raw.get(name)
        return Fields(value if isinstance(value, dict) else {})


def line(data: bytes) -> Event:
    """Return the event on one line; whatever is wrong with it becomes `GarbledLine`."""
    try:
        value = cast("Json", json.loads(data.decode()))
    except (ValueError, RecursionError) as error:
        return garbled(type(error).__name__, data)
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return garbled("not an object with a type", data)
    try:
        return event(value)
    except _WrongFieldError as error:
        return garbled(f"{value['type']}: {error}", data)


def garbled(problem: str, data: bytes) -> events.GarbledLine:
    """Return the report about a line that is no event."""
    return events.GarbledLine(problem, data[:GARBLED_CHARS_SHOWN].decode(errors="replace"))


def event(raw: JsonObject) -> Event:
    """Return the typed event of one JSON object."""
    kind = str(raw.get("type", ""))
    build = _BUILDERS.get(kind)
    return events.UnknownEvent(kind, raw=raw) if build is None else build(Fields(raw))


def grant(f: Fields) -> events.Grant:
    """Return one entry of `list_grants`."""
    return events.Grant(
        f.text("grant_id"),
        f.text("kind"),
        f.text("tool"),
        f.text("prefix") or f.text("root") or f.text("command") or f.text("host"),
        f.text("persist", "session"),
        f.text("agent"),
        f.number("uses") or 0,
        _sandbox(f.part("sandbox")),
    )


def tool_request(f: Fields) -> events.ToolRequest:
    """Return a waiting call, as sent by `tool_request` and listed by `list_pending`."""
    return events.ToolRequest(
        **vars(_call(f)),
        suggestions=_suggestions(f),
        digest=f.text("digest"),
        expires_in_s=f.number("expires_in_s"),
    )


def _capabilities(f: Fields) -> events.Capabilities:
    return events.Capabilities(
        f.texts("modes"),
        f.text("current_mode", "default"),
        f.text("current_model"),
        frozenset(name for name, value in f.raw.items() if value is True),
        max(0, f.number("context_limit") or 0),
    )


def _call(f: Fields) -> events.CallEvent:
    return events.CallEvent(
        f.need("msg_id"),
        f.need("call_id"),
        _tool(f.part("tool")),
        _why(f.part("why")),
        _preview(f.part("preview")),
        f.texts("agent"),
        f.text("task"),
        _sandbox(f.part("sandbox")),
        raw=f.raw,
    )


def _tool(f: Fields) -> events.Tool:
    return events.Tool(
        f.need("name"), f.text("category", "exec"), f.part("args").raw, f.text("description")
    )


def _why(f: Fields) -> events.Why:
    span = f.items("span")
    start, end = (span[0], span[1]) if len(span) == 2 else (None, None)
    return events.Why(
        f.text("row"),
        f.text("detail"),
        f.text("rule"),
        f.text("source"),
        f.text("code"),
        (start, end) if isinstance(start, int) and isinstance(end, int) else None,
    )


def _preview(f: Fields) -> events.Preview | None:
    if "text" not in f.raw:
        return None
    return events.Preview(f.text("kind", "text"), f.text("text"), f.flag("truncated"))


def _sandbox(f: Fields) -> events.SandboxView | None:
    if not f.raw:
        return None
    return events.SandboxView(f.text("view"), f.texts("hosts"), f.texts("proposed"))


def _suggestions(f: Fields) -> tuple[events.Scope, ...] | None:
    if not isinstance(f.raw.get("suggestions"), list):
        return None
    return tuple(item for item in f.items("suggestions") if isinstance(item, str | dict))


def _ready(f: Fields) -> Event:
    capabilities = _capabilities(f.part("capabilities"))
    return events.Ready(f.text("version"), f.text("session_id"), capabilities, raw=f.raw)


def _error(f: Fields) -> Event:
    problem = f.part("error")
    return events.Error(
        problem.text("code"),
        problem.text("message"),
        problem.flag("retryable"),
        f.text("msg_id"),
        problem.text("mcp_server"),
        raw=f.raw,
    )


def _stream_end(f: Fields) -> Event:
    unasked = f.number("denied_unasked") or 0
    return events.StreamEnd(f.need("msg_id"), f.text("finish_reason"), unasked, raw=f.raw)


def _call_settled(f: Fields) -> Event:
    outcome, by, args = f.text("outcome"), f.text("by"), f.raw.get("args")
    changed = args if isinstance(args, dict) else None
    return events.CallSettled(f.text("msg_id"), f.need("call_id"), outcome, by, changed, raw=f.raw)


def _tool_running(f: Fields) -> Event:
    name = f.text("tool_name")
    return events.ToolRunning(f.text("msg_id"), f.need("call_id"), name, raw=f.raw)


def _tool_chunk(f: Fields) -> Event:
    name, chunk = f.text("tool_name"), f.text("chunk")
    return events.ToolChunk(f.text("msg_id"), f.need("call_id"), name, chunk, raw=f.raw)


def _tool_result(f: Fields) -> Event:
    return events.ToolResult(
        f.text("msg_id"),
        f.need("call_id"),
        f.text("tool_name"),
        f.text("status"),
        f.text("output"),
        f.text("output_type", "text"),
        raw=f.raw,
    )


def _tool_cancelled(f: Fields) -> Event:
    return events.ToolCancelled(f.text("msg_id"), f.need("call_id"), f.text("reason"), raw=f.raw)


def _command_result(f: Fields) -> Event:
    problem = f.part("error")
    return events.CommandResult(
        f.text("command"),
        f.flag("ok"),
        f.text("request_id"),
        problem.text("code"),
        problem.text("message"),
        raw=f.raw,
    )


_BUILDERS: Final[Mapping[str, Callable[[Fields], Event]]] = {
    "ready": _ready,
    "config_changed": lambda f: events.ConfigChanged(
        _capabilities(f.part("capabilities")), raw=f.raw
    ),
    "pong": lambda f: events.Pong(raw=f.raw),
    "info": lambda f: events.Info(f.text("message"), f.text("msg_id"), f.text("digest"), raw=f.raw),
    "error": _error,
    "stream_start": lambda f: events.StreamStart(f.need("msg_id"), raw=f.raw),
    "text_delta": lambda f: events.TextDelta(f.text("msg_id"), f.need("text"), raw=f.raw),
    "thinking": lambda f: events.Thinking(f.text("msg_id"), f.need("text"), raw=f.raw),
    "stream_end": _stream_end,
    "tool_request": tool_request,
    "call_announced": lambda f: events.CallAnnounced(**vars(_call(f))),
    "call_settled": _call_settled,
    "tool_running": _tool_running,
    "tool_chunk": _tool_chunk,
    "tool_result": _tool_result,
    "tool_cancelled": _tool_cancelled,
    "command_result": _command_result,
}
