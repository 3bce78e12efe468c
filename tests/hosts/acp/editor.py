"""An editor, from its side of the wire: a real `wcore-acp` process and every frame it exchanges.

Leaving closes stdin, expects exit code 0 and no engine left behind, and checks every frame of
both directions against ACP's own JSON Schema where that is installed.
"""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import anyio
import waiting
from hosts.places import PYTHON, Place

from hosts.acp import frames

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

Frame = dict[str, Any]
Answer = Callable[[str, Frame], Frame | None]  # method and params to a result; None: no answer yet

BRIDGE: Final = (*PYTHON, "-m", "wcore_host.acp")


class RequestFailedError(Exception):
    """The bridge answered a request with an error."""

    def __init__(self, error: Frame) -> None:
        super().__init__(error["message"])
        self.error = error


def choose(option_id: str) -> Answer:
    """Answer every permission request with one option."""
    return lambda _method, _params: {"outcome": {"outcome": "selected", "optionId": option_id}}


REJECT: Final = choose("reject_once")


class Editor(AbstractAsyncContextManager["Editor"]):
    """A client of ACP. `answers` decides what the bridge's own requests get."""

    def __init__(self, place: Place, *flags: str, answers: Answer = REJECT) -> None:
        self._place = place
        self._flags = flags
        self.answers = answers
        self.frames: list[tuple[str, Frame]] = []
        self.asked: list[tuple[int, str, Frame]] = []  # requests of the bridge
        self._replies: dict[int, Frame] = {}
        self._changed = anyio.Event()
        self._number = 0
        self.exit_code: int | None = None

    async def __aenter__(self) -> Self:
        self.process = await anyio.open_process(
            [*BRIDGE, *self._flags], env=self._place.env, cwd=self._place.workspace, stderr=None
        )
        self._tasks: TaskGroup = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._hear)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None and self.exit_code is None:
                assert await self.leave() == 0
        finally:
            self._tasks.cancel_scope.cancel()
            await self._tasks.__aexit__(None, None, None)
            if self.process.returncode is None:
                self.process.kill()
            with anyio.CancelScope(shield=True):
                await self.process.aclose()
        if kind is None:
            for direction, frame in self.frames:
                frames.check(direction, frame)
            frames.check_answers(self.frames)

    async def leave(self) -> int:
        """Close the bridge's stdin and wait for its end."""
        assert self.process.stdin
        await self.process.stdin.aclose()
        with self.patience("the end of the bridge"):
            self.exit_code = await self.process.wait()
        return self.exit_code

    # --- what the editor says -----------------------------------------------------------------

    async def request(self, method: str, **params: Any) -> Frame:
        """Send a request and return its result."""
        number = await self.begin(method, **params)
        return await self.result(number)

    async def begin(self, method: str, **params: Any) -> int:
        """Send a request; return its number."""
        self._number += 1
        await self._send({"id": self._number, "method": method, "params": params})
        return self._number

    async def result(self, number: int) -> Frame:
        """Wait for the result of a request."""
        reply = await self.until(lambda: self._replies.get(number))
        if "error" in reply:
            raise RequestFailedError(reply["error"])
        result: Frame = reply["result"]
        return result

    async def notify(self, method: str, **params: Any) -> None:
        await self._send({"method": method, "params": params})

    async def answer(self, number: int, result: Frame) -> None:
        """Answer a request of the bridge."""
        await self._send({"id": number, "result": result})

    async def open(self, **capabilities: Any) -> str:
        """Shake hands and open a session; return its id."""
        await self.request(
            "initialize", protocolVersion=1, clientCapabilities=capabilities or {"terminal": True}
        )
        return await self.session()

    async def session(self, **more: Any) -> str:
        params: Frame = {"cwd": str(self._place.workspace), "mcpServers": [], **more}
        opened = await self.request("session/new", **params)
        return str(opened["sessionId"])

    async def prompt(self, session_id: str, *blocks: Frame) -> Frame:
        """Send a prompt and return how the turn ended."""
        content = list(blocks) or [{"type": "text", "text": "go"}]
        return await self.request("session/prompt", sessionId=session_id, prompt=content)

    # --- what it hears ------------------------------------------------------------------------

    async def until(self, found: Callable[[], Any]) -> Any:
        """Return what `found` returns as soon as that is something."""
        with self.patience("what the bridge owes"):
            while not (value := found()):
                await self._changed.wait()
        return value

    def patience(self, what: str) -> AbstractContextManager[None]:
        """Bound a wait for the bridge; it says which frames went to and fro."""
        return waiting.patience(what, seen=lambda: "\n".join(map(str, self.frames)))

    def updates(self, kind: str = "") -> list[Frame]:
        """Return the session updates heard so far, of one kind."""
        sent = [f["params"]["update"] for d, f in self.frames if d == "agent" and "update" in str(f)
                and f.get("method") == "session/update"]  # fmt: skip
        return [u for u in sent if not kind or u["sessionUpdate"] == kind]

    def said(self) -> str:
        """Return the agent's text so far."""
        return "".join(u["content"]["text"] for u in self.updates("agent_message_chunk"))

    def call(self, call_id: str) -> Frame:
        """Return a call as the editor would show it now: the last word about each field."""
        shown: Frame = {}
        for update in self.updates():
            if update.get("toolCallId") == call_id:
                shown |= {k: v for k, v in update.items() if v is not None}
        return shown

    def cards(self) -> list[Frame]:
        """Return the permission requests heard so far."""
        return [
            params for _, method, params in self.asked if method == "session/request_permission"
        ]

    # --- inside -------------------------------------------------------------------------------

    async def _send(self, frame: Frame) -> None:
        assert self.process.stdin
        frame = {"jsonrpc": "2.0", **frame}
        self.frames.append(("client", frame))
        await self.process.stdin.send(json.dumps(frame).encode() + b"\n")

    async def _hear(self) -> None:
        assert self.process.stdout
        rest = b""
        async for data in self.process.stdout:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                await self._take(json.loads(line))
            self._changed.set()
            self._changed = anyio.Event()

    async def _take(self, frame: Frame) -> None:
        self.frames.append(("agent", frame))
        if "method" not in frame:
            self._replies[frame["id"]] = frame
        elif "id" in frame:
            self.asked.append((frame["id"], frame["method"], frame["params"]))
            result = self.answers(frame["method"], frame["params"])
            if result is not None:
                await self.answer(frame["id"], result)
