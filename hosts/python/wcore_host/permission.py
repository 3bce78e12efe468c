"""`can_use_tool`: the host's program answers instead of a person. Every card gets an answer.

Whatever the callback does (raise, return nonsense, never return), the call ends: with what it
said, or denied. An answer goes to the call it was asked about and to no other.
"""

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import anyio
from anyio.abc import TaskGroup

from wcore_host.errors import CommandTooLongError
from wcore_host.events import Json, JsonObject, Preview, Scope, ToolRequest, Why

SETTLE_S: Final = 10.0  # an approval is taken at once; edited arguments are prepared first
NOBODY: Final = "this host has nobody to ask"
FAILED: Final = "the host's permission callback failed"
REFUSED: Final = "the engine did not take the approval"
CANNOT_EDIT: Final = "this engine cannot take edited arguments"

log = logging.getLogger("wcore_host")


@dataclass(frozen=True)
class Allow:
    """Let the call run; `args` replaces its arguments, `scope` says how long the yes lasts.

    `answer` is what the person would have answered, for AskUserQuestion only.
    """

    args: JsonObject | None = None
    scope: Scope = "once"
    persist: str | None = None
    answer: str | None = None


@dataclass(frozen=True)
class Deny:
    """Refuse the call; the model is told `message`. `stop` also ends the turn."""

    message: str
    stop: bool = False


@dataclass(frozen=True)
class ToolContext:
    """What is known about a call beyond its name and arguments."""

    request: ToolRequest

    @property
    def call_id(self) -> str:
        return self.request.call_id

    @property
    def category(self) -> str:
        return self.request.tool.category

    @property
    def why(self) -> Why:
        return self.request.why

    @property
    def preview(self) -> Preview | None:
        return self.request.preview

    @property
    def suggestions(self) -> tuple[Scope, ...]:
        return self.request.suggestions or ()

    @property
    def agent(self) -> tuple[str, ...]:
        """Names below the main agent; empty for the main agent."""
        return self.request.agent


Verdict: TypeAlias = Allow | Deny
CanUseTool: TypeAlias = Callable[[str, JsonObject, ToolContext], Awaitable[Verdict]]
Send: TypeAlias = Callable[[JsonObject], Awaitable[None]]


async def deny_all(_tool: str, _args: JsonObject, _context: ToolContext) -> Verdict:
    """Deny: the callback of a host that has neither a callback nor a person."""
    return Deny(NOBODY)


class CallbackRunner:
    """Runs one callback per waiting call, side by side, and sends what it decided."""

    def __init__(self, callback: CanUseTool, send: Send, tasks: TaskGroup) -> None:
        self._callback = callback
        self._send = send
        self._tasks = tasks
        self._open: dict[str, anyio.CancelScope] = {}

    def ask(self, request: ToolRequest, flags: frozenset[str]) -> None:
        """Start deciding `request`; returns at once."""
        scope = self._open[request.call_id] = anyio.CancelScope()
        self._tasks.start_soon(self._answer, request, flags, scope)

    def settle(self, call_id: str) -> None:
        """The call has ended by itself: what is still being decided about it is cancelled."""
        scope = self._open.pop(call_id, None)
        if scope is not None:
            scope.cancel()

    def close(self) -> None:
        """The engine is gone: nothing is left to decide."""
        for call_id in list(self._open):
            self.settle(call_id)

    async def _answer(
        self, request: ToolRequest, flags: frozenset[str], scope: anyio.CancelScope
    ) -> None:
        with scope:
            verdict = await self._decide(request, "edit_args" in flags)
            if scope.cancel_called:
                return  # settled while deciding: a late answer would only confuse
            await self._send_verdict(request, verdict)
            if isinstance(verdict, Allow) and "call_settled" in flags:
                await anyio.sleep(SETTLE_S)  # cut short by `settle`
                await self._send(command(request, Deny(REFUSED)))
        self._open.pop(request.call_id, None)

    async def _send_verdict(self, request: ToolRequest, verdict: Verdict) -> None:
        try:
            await self._send(command(request, verdict))
        except (ValueError, CommandTooLongError) as error:
            log.exception("the verdict of can_use_tool cannot be sent")
            await self._send(command(request, Deny(f"{FAILED} ({type(error).__name__})")))

    async def _decide(self, request: ToolRequest, can_edit: bool) -> Verdict:  # noqa: FBT001
        tool = request.tool
        try:
            verdict = _checked(await self._callback(tool.name, tool.args, ToolContext(request)))
        except Exception as error:
            log.exception("can_use_tool failed")
            return Deny(f"{FAILED} ({type(error).__name__})")
        if isinstance(verdict, Deny):
            return verdict
        if verdict.args is not None and verdict.args != tool.args and not can_edit:
            return Deny(CANNOT_EDIT)
        return verdict


def command(call: ToolRequest | str, verdict: Verdict) -> JsonObject:
    """Return the command that carries `verdict` to exactly this call, or the call of this id."""
    call_id = call if isinstance(call, str) else call.call_id
    if isinstance(verdict, Deny):
        denied: dict[str, Json] = {"type": "tool_deny", "call_id": call_id}
        if verdict.message:
            denied["reason"] = verdict.message
        return denied | ({"stop": True} if verdict.stop else {})
    approved: dict[str, Json] = {"type": "tool_approve", "call_id": call_id}
    if verdict.scope != "once":
        approved["scope"] = _plain(verdict.scope)
    if verdict.persist is not None:
        approved["persist"] = verdict.persist
    if verdict.answer is not None:
        approved["answer"] = verdict.answer
    if isinstance(call, ToolRequest) and verdict.args not in (None, call.tool.args):
        approved |= {"args": dict(verdict.args), "digest": call.digest}
    return approved


def _plain(scope: Scope) -> Json:
    return scope if isinstance(scope, str) else dict(scope)


def _checked(verdict: object) -> Verdict:
    """Return what a careless callback returned, if it is a verdict that can be sent.

    Raises:
        TypeError: it is no verdict, or parts of it have the wrong type.
        ValueError: something in it cannot become JSON or UTF-8.
    """
    if isinstance(verdict, Deny):
        return Deny(_text(verdict.message), verdict.stop is True)
    if not isinstance(verdict, Allow):
        raise TypeError(f"{verdict!r} is neither Allow nor Deny")
    if verdict.args is not None:
        _object(verdict.args)
    if verdict.scope not in ("once", "always"):
        _object(verdict.scope)
    for text in (verdict.persist, verdict.answer):
        if text is not None:
            _text(text)
    return verdict


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} should be text")
    value.encode()
    return value


def _object(value: object) -> None:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} should be a dict")
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
