"""How tests talk: a real engine process, raw lines in and out, every wait bounded.

Every conversation also checks what no conversation may break: each stdout line is an event as
the published schema has it, calls are announced once and end once, turns too; and the engine
finds fault with exactly those commands that the schema finds fault with.
"""

import json
import os
import signal
import sys
from collections import Counter, deque
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import anyio
import waiting
from spec.validating import complaint

ROOT = Path(__file__).parent.parent

Event = dict[str, Any]


def write_script(folder: Path, replies: tuple[list[object], ...]) -> Path:
    """Write model replies to a script file; each is a list of items."""
    path = folder / f"script-{len(list(folder.iterdir()))}.jsonl"
    path.write_text("".join(json.dumps({"say": reply}) + "\n" for reply in replies))
    return path


def call(name: str, /, call_id: str = "", **args: object) -> dict[str, object]:
    """Return a script item that calls a tool."""
    named: dict[str, object] = {"id": call_id} if call_id else {}
    return {"call": {"name": name, **named, "args": args}}


class Conversation:
    """One engine process and everything it said. Leaving closes stdin and expects exit 0."""

    def __init__(
        self,
        workspace: Path,
        flags: list[str],
        env: dict[str, str],
        home: Path | None = None,
        program: tuple[str, ...] = ("-m", "wcore"),
    ) -> None:
        self.workspace = workspace
        self.heard: list[Event] = []
        self._program = [*program, *flags]
        self._env = {**os.environ, **env}
        if home is not None:
            home.mkdir(exist_ok=True)
            self._env = {"HOME": str(home), **{k: v for k, v in self._env.items() if k != "HOME"}}
        self.log: IO[bytes] | None = (
            None  # where its stderr goes; ours, unless set before it starts
        )
        self.pass_fds: tuple[int, ...] = ()  # what it has open beside the standard streams
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._stdout = -1
        self.exit_code: int | None = None
        self._faulty = 0  # commands said that are none
        self._raw = False  # whether lines were said that nobody has judged
        self.killed = False

    async def __aenter__(self) -> Self:
        self._stdout, theirs = os.pipe()  # ours, so that a test can really close it
        self.process = await anyio.open_process(
            [sys.executable, *self._program],
            cwd=self.workspace,
            env=self._env,
            stdout=theirs,
            stderr=self.log,
            pass_fds=self.pass_fds,
        )
        os.close(theirs)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        try:
            if kind is None and self.exit_code is None:
                assert await self.finish() == 0, "the engine ends with 0 at end of file"
                self._check_refusals()
            if kind is None and not self.killed:
                check_invariants(self.heard)
        finally:
            if self.process.returncode is None:
                self.process.kill()
            with anyio.CancelScope(shield=True):
                await self.process.aclose()
            self.close_stdout()

    # --- the host's side ----------------------------------------------------------------------

    async def say(self, **command: object) -> None:
        """Send one command."""
        self._faulty += bool(complaint("commands", command))
        await self._send(json.dumps(command).encode() + b"\n")

    async def say_raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._raw = True
        await self._send(data)

    async def _send(self, data: bytes) -> None:
        assert self.process.stdin
        await self.process.stdin.send(data)

    def _check_refusals(self) -> None:
        if not self._raw:
            refused = [e for e in self.of("error") if e["error"]["code"] == "protocol_error"]
            assert len(refused) == self._faulty, "engine and schema agree on what a command is"

    async def message(self, text: str = "go", msg_id: str = "m1") -> None:
        await self.say(type="message", msg_id=msg_id, content=text)

    async def approve(self, call_id: str, **more: object) -> None:
        await self.say(type="tool_approve", call_id=call_id, **more)

    async def deny(self, call_id: str, **more: object) -> None:
        await self.say(type="tool_deny", call_id=call_id, **more)

    # --- the engine's side --------------------------------------------------------------------

    async def next(self) -> Event:
        """Return the next event, whatever it is."""
        with self.patience("the next event"):
            while not self._lines:
                await anyio.wait_readable(self._stdout)
                data = os.read(self._stdout, 1024 * 1024)
                if not data:
                    assert not self._rest or self.killed, "the last line is cut off"
                    raise anyio.EndOfStream
                *lines, self._rest = (self._rest + data).split(b"\n")
                self._lines.extend(lines)
        event: Event = json.loads(self._lines.popleft())
        assert not (wrong := complaint("events", event)), wrong
        self.heard.append(event)
        return event

    def patience(self, what: str) -> AbstractContextManager[None]:
        """Bound a wait for the engine; it says what was heard so far."""
        return waiting.patience(what, seen=lambda: "\n".join(map(str, [*self.heard, self._rest])))

    async def hear(self, kind: str, **fields: object) -> Event:
        """Return the next event of this type (with these fields); others are passed over."""
        while True:
            event = await self.next()
            if event["type"] == kind and all(event.get(k) == v for k, v in fields.items()):
                return event
            assert event["type"] != "stream_end" or kind == "info", (
                f"the turn ended before {kind} {fields}: {self.kinds()}"
            )

    async def ready(self) -> Event:
        event = await self.next()
        assert event["type"] == "ready", event
        return event

    async def turn(self, text: str = "go", msg_id: str = "m1") -> list[Event]:
        """Send a message and return the events up to the turn's end."""
        start = len(self.heard)
        await self.message(text, msg_id)
        await self.hear("stream_end", msg_id=msg_id)
        return self.heard[start:]

    async def quiet(self) -> list[Event]:
        """Return what came until a ping is answered: proof that nothing else was coming."""
        start = len(self.heard)
        await self.say(type="ping")
        await self.hear("pong")
        return self.heard[start:-1]

    async def finish(self) -> int:
        """Close stdin, hear the rest, return the exit code."""
        assert self.process.stdin
        await self.process.stdin.aclose()
        return await self.ended()

    async def ended(self) -> int:
        """Hear everything up to the engine's own end; return the exit code."""
        with self.patience("the engine's end"):
            try:
                while True:
                    await self.next()
            except anyio.EndOfStream:
                pass
            self.exit_code = await self.process.wait()
        return self.exit_code

    async def kill(self) -> None:
        """End the engine as a power cut would, and hear what it had said."""
        self.killed = True
        self.process.kill()
        await self.ended()

    def close_stdout(self) -> None:
        """Go away as a reader."""
        if self._stdout >= 0:
            os.close(self._stdout)
            self._stdout = -1

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kinds(self, *only: str) -> list[str]:
        """Return the types heard so far, in order."""
        return [e["type"] for e in self.heard if not only or e["type"] in only]

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.heard if event["type"] == kind]


def check_invariants(heard: list[Event]) -> None:
    """Assert what hosts of the protocol family rely on in every conversation."""
    announced: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    starts: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    for event in heard:
        kind = event["type"]
        if kind in ("tool_request", "call_announced"):
            announced[event["call_id"]] += 1
        elif kind in ("tool_running", "tool_chunk", "tool_result", "tool_cancelled"):
            assert announced[event["call_id"]] == 1, f"{kind} before its announcement"
            assert not ended[event["call_id"]], f"{kind} after the call's end"
            ended[event["call_id"]] += kind in ("tool_result", "tool_cancelled")
        elif kind == "stream_start":
            starts[event["msg_id"]] += 1
        elif kind == "stream_end":
            ends[event["msg_id"]] += 1
        assert None not in event.values(), f"a null stands for an absent field in {kind}"
    assert set(announced.values()) <= {1}, "announced more than once"
    assert starts == ends, "every stream_start has its stream_end"
    assert set(ended) == set(announced), "every announced call ends exactly once"
    asked = [e["call_id"] for e in heard if e["type"] == "tool_request"]
    assert sorted(asked) == sorted(e["call_id"] for e in heard if e["type"] == "call_settled")
