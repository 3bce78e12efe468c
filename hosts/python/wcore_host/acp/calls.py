"""The calls that are under way, as the editor sees them: announced, running, streaming, ended."""

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import anyio
from acp import start_tool_call, update_tool_call
from acp.interfaces import Client
from acp.schema import ToolCallStatus, ToolCallUpdate

from wcore_host import events
from wcore_host.acp import tool_call_content
from wcore_host.acp.agents import GENERAL, RUNS, SPAWN, SubAgentLog
from wcore_host.acp.markup import block, span
from wcore_host.acp.tool_call_content import Content, Shown
from wcore_host.decode import Fields
from wcore_host.events import Event, JsonObject

TAIL_CHARS_MAX: Final = 16 * 1024  # every update repeats the whole output, so only its end is sent
STREAM_PAUSE_S: Final = 0.2  # between two updates of running calls: as smooth as people need


@dataclass
class _Call:
    shown: Shown
    is_running: bool = False
    tail: str = ""
    cut: bool = False
    unsent: bool = False
    work: SubAgentLog | None = None  # of the sub-agent that this call starts
    parent: "_Call | None" = None  # the call whose sub-agent made this one, where that is clear

    def add(self, chunk: str) -> None:
        joined = self.tail + chunk
        self.cut = self.cut or len(joined) > TAIL_CHARS_MAX
        self.tail, self.unsent = joined[-TAIL_CHARS_MAX:], True


class Calls:
    """What the editor has been told of each call that has not ended."""

    def __init__(self, editor: Client, session_id: str, cwd: str) -> None:
        self._editor = editor
        self._session_id = session_id
        self._cwd = cwd
        self._calls: dict[str, _Call] = {}
        self._chunks = anyio.Event()

    async def announce(self, event: events.CallEvent) -> None:
        """Tell of a call that asks, runs at once or is refused."""
        shown = tool_call_content.call(event, self._cwd)
        made = self._calls[event.call_id] = _Call(shown)
        self._place(event, made)
        update = start_tool_call(
            event.call_id,
            shown.title,
            kind=shown.kind,
            status="pending",
            content=shown.body,
            locations=shown.locations,
            raw_input=shown.raw_input,
        )
        update.field_meta = shown.meta
        await self._editor.session_update(self._session_id, update)

    def card(self, request: events.ToolRequest) -> ToolCallUpdate:
        """Return what the permission request shows of a call that was announced."""
        shown = self._calls[request.call_id].shown
        update = update_tool_call(
            request.call_id,
            title=shown.title,
            kind=shown.kind,
            status="pending",
            content=tool_call_content.card(request, shown),
            locations=shown.locations,
            raw_input=shown.raw_input,
        )
        update.field_meta = shown.meta
        return update

    async def follow(self, event: Event) -> None:
        """Tell how a call goes on or ends; events of other kinds and unknown calls are nothing."""
        match event:
            case events.ToolRunning(call_id=call_id) if call_id in self._calls:
                await self._run(call_id, self._calls[call_id])
            case events.CallSettled(call_id=call_id, raw={"args": dict(args)}) if (
                call_id in self._calls
            ):
                await self._edited(call_id, self._calls[call_id], args)
            case events.ToolChunk(call_id=call_id, chunk=chunk) if call_id in self._calls:
                self._calls[call_id].add(chunk)
                self._chunks.set()
            case events.ToolResult(call_id=call_id) if call_id in self._calls:
                call = self._calls.pop(call_id)
                worked = event.status == "success"
                self._tell_parent(call, call_id, "done" if worked else "failed")
                content = tool_call_content.outcome(call.shown, event.output, event.output_type)
                if call.work is not None and content is not None:
                    content = [*call.work.content(report=event.output), *content]
                await self._end(call_id, content, worked=worked)
            case events.ToolCancelled(call_id=call_id, reason=reason) if call_id in self._calls:
                call = self._calls.pop(call_id)
                self._tell_parent(call, call_id, "did not run")
                content = [
                    *_live(call),
                    tool_call_content.text(f"did not run: {span(reason, 400)}"),
                ]
                await self._end(call_id, content, worked=False)
            case events.UnknownEvent(type="sub_agent_event", raw=raw):
                told = Fields(raw)
                parent = self._calls.get(told.text("parent_call_id"))
                if parent is not None and parent.work and parent.work.hear(told.part("inner")):
                    self._show_soon(parent)
            case _:
                pass

    async def stream(self) -> None:
        """Send the output of running calls as it comes, until the editor is gone."""
        with suppress(ConnectionError):  # whoever reads the events hears of it too
            while True:
                await self._chunks.wait()
                self._chunks = anyio.Event()
                for call_id, call in list(self._calls.items()):
                    if call.unsent:
                        call.unsent = False
                        await self._update(call_id, content=_live(call))
                await anyio.sleep(STREAM_PAUSE_S)

    async def _edited(self, call_id: str, call: _Call, args: JsonObject) -> None:
        """Show what runs instead of what was shown."""
        told = block(json.dumps(args, ensure_ascii=False, indent=1))
        body = [
            tool_call_content.text("the arguments were changed before it ran:"),
            tool_call_content.text(told),
        ]
        call.shown = replace(call.shown, body=body, raw_input=args, is_edited=True)
        update = update_tool_call(call_id, content=body, raw_input=args)
        await self._editor.session_update(self._session_id, update)

    def _place(self, event: events.CallEvent, made: _Call) -> None:
        """Find out whose call it is; of two agents at one path that run, nobody can tell."""
        if event.tool.name == SPAWN:
            name = event.tool.args.get("agent")
            made.work = SubAgentLog((*event.agent, str(name or GENERAL)))
        if event.agent:
            above = [
                (call_id, call, call.work)
                for call_id, call in self._calls.items()
                if call.work and call.is_running and call.work.path == event.agent
            ]
            if len(above) == 1:
                parent_id, made.parent, work = above[0]
                made.shown.facts["parent_call_id"] = parent_id
                work.call(event.call_id, tool_call_content.told(event))
                self._show_soon(made.parent)

    def _tell_parent(self, call: _Call, call_id: str, state: str) -> None:
        if call.parent is not None and call.parent.work is not None:
            call.parent.work.call_is(call_id, state)
            self._show_soon(call.parent)

    def _show_soon(self, call: _Call) -> None:
        call.unsent = True
        self._chunks.set()

    async def _run(self, call_id: str, call: _Call) -> None:
        if not call.is_running:  # it is repeated as a sign of life
            call.is_running = True
            self._tell_parent(call, call_id, RUNS)
            await self._update(call_id, status="in_progress", content=call.shown.body)

    async def _end(self, call_id: str, content: list[Content] | None, *, worked: bool) -> None:
        status = "completed" if worked else "failed"
        await self._update(call_id, status=status, content=content)

    async def _update(
        self, call_id: str, *, content: list[Content] | None, status: ToolCallStatus | None = None
    ) -> None:
        update = update_tool_call(call_id, status=status, content=content)
        await self._editor.session_update(self._session_id, update)


def _live(call: _Call) -> list[Content]:
    """Return what a call shows while it runs: what it does, and what came of it so far."""
    lead = "…\n" if call.cut else ""
    tail = [tool_call_content.text(block(lead + call.tail))] if call.tail else []
    return [*call.shown.body, *(call.work.content() if call.work else []), *tail]
