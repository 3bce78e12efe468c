"""The calls that are under way, as the editor sees them: announced, running, streaming, ended."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio
from acp import start_tool_call, update_tool_call
from acp.interfaces import Client
from acp.schema import ToolCallStatus, ToolCallUpdate

from wcore_host import events
from wcore_host.acp import showing
from wcore_host.acp.markup import block, span
from wcore_host.acp.showing import Announced, Content, Shown
from wcore_host.events import Event

TAIL_CHARS_MAX: Final = 16 * 1024  # every update repeats the whole output, so only its end is sent
STREAM_PAUSE_S: Final = 0.2  # between two updates of running calls: as smooth as people need


@dataclass
class _Call:
    shown: Shown
    is_running: bool = False
    tail: str = ""
    cut: bool = False
    unsent: bool = False

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

    async def announce(self, event: Announced) -> None:
        """Tell of a call that asks, runs at once or is refused."""
        shown = showing.call(event, self._cwd)
        self._calls[event.call_id] = _Call(shown)
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
            content=showing.card(request, shown),
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
            case events.ToolChunk(call_id=call_id, chunk=chunk) if call_id in self._calls:
                self._calls[call_id].add(chunk)
                self._chunks.set()
            case events.ToolResult(call_id=call_id) if call_id in self._calls:
                shown = self._calls.pop(call_id).shown
                worked = event.status == "success"
                content = showing.outcome(shown, event.output, event.output_type)
                await self._end(call_id, content, worked=worked)
            case events.ToolCancelled(call_id=call_id, reason=reason) if call_id in self._calls:
                shown = self._calls.pop(call_id).shown
                content = [*shown.body, showing.text(f"did not run: {span(reason, 400)}")]
                await self._end(call_id, content, worked=False)
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
                        await self._update(call_id, content=[*call.shown.body, *_tail(call)])
                await anyio.sleep(STREAM_PAUSE_S)

    async def _run(self, call_id: str, call: _Call) -> None:
        if not call.is_running:  # it is repeated as a sign of life
            call.is_running = True
            await self._update(call_id, status="in_progress", content=call.shown.body)

    async def _end(self, call_id: str, content: list[Content] | None, *, worked: bool) -> None:
        status = "completed" if worked else "failed"
        await self._update(call_id, status=status, content=content)

    async def _update(
        self, call_id: str, *, content: list[Content] | None, status: ToolCallStatus | None = None
    ) -> None:
        update = update_tool_call(call_id, status=status, content=content)
        await self._editor.session_update(self._session_id, update)


def _tail(call: _Call) -> list[Content]:
    lead = "…\n" if call.cut else ""
    return [showing.text(block(lead + call.tail))]
