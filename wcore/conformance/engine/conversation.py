"""The host's side of one case: says, hears, keeps the transcript."""

import json
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from wcore.conformance.engine.invariants import InvariantChecker, ViolationError
from wcore.conformance.engine.patterns import difference
from wcore.conformance.json_object import JsonObject
from wcore.conformance.process import Child, LineError, parsed

PATIENCE_S: Final = 20.0  # for anything that has no limit of its own
GRACE_S: Final = 3.0  # for an engine to end after a case is over
#: What comes only where a step asks for it; whatever else comes is passed over.
COUNTING: Final = frozenset(
    "ready stream_start stream_end tool_request tool_running tool_result tool_cancelled error"
    " config_changed mcp_ready mcp_failed pong command_result".split()
)


class MismatchError(Exception):
    """What a step asks for is not what came."""


@dataclass(slots=True)
class EngineConversation:
    """One process and the conversation with it."""

    child: Child
    watch: InvariantChecker
    slack: float
    never: tuple[JsonObject, ...]
    transcript: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    heard: list[tuple[JsonObject, str]] = field(default_factory=list[tuple[JsonObject, str]])
    input_open: bool = True

    # --- the host's side ----------------------------------------------------------------------

    async def say(self, command: JsonObject) -> None:
        """Send one command."""
        self.watch.said(command)
        await self.say_bytes(json.dumps(command, ensure_ascii=False).encode() + b"\n")

    async def say_bytes(self, data: bytes) -> None:
        """Send bytes as they are.

        Raises:
            MismatchError: the engine does not read them.
        """
        self.transcript.append(("→", data.decode(errors="backslashreplace").rstrip("\n")))
        try:
            with anyio.fail_after(PATIENCE_S * self.slack):
                await self.child.send(data)
        except TimeoutError:
            raise MismatchError("the engine does not read its stdin") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise MismatchError(f"the engine has ended{self._how()}") from None

    async def end_input(self) -> None:
        """Close the engine's stdin."""
        self.note("end of file on stdin")
        self.input_open = False
        with suppress(anyio.BrokenResourceError):
            await self.child.close_stdin()

    # --- the engine's side --------------------------------------------------------------------

    async def next(self, within_s: float) -> JsonObject:
        """Return the next event, whatever it is; it has been judged.

        Raises:
            MismatchError: nothing comes, or something that must never come.
            ViolationError: it breaks an invariant.
        """
        try:
            with anyio.fail_after(within_s * self.slack):
                line = await self.child.line()
        except TimeoutError:
            raise MismatchError(f"nothing comes for {within_s * self.slack:g} s") from None
        except anyio.EndOfStream:
            raise MismatchError(f"stdout has ended{self._how()}") from None
        except LineError as error:
            self.transcript.append(("←", error.line.decode(errors="backslashreplace")))
            raise ViolationError("lines", str(error)) from None
        return self._judged(line)

    async def hear(
        self, steps: list[JsonObject], within_s: float | None, passing: Sequence[str] = ()
    ) -> list[JsonObject]:
        """Return the events that `steps` ask for, in any order; types of `passing` do not count."""
        wanted = dict(enumerate(steps))
        found: dict[int, JsonObject] = {}
        began = anyio.current_time()
        while wanted:
            try:
                event = await self.next(self._left_s(within_s, began))
            except MismatchError as error:
                raise MismatchError(f"{error}; expected {_shown(wanted.values())}") from None
            for index, step in list(wanted.items()):
                if difference(event, step) is None:
                    found[index] = event
                    del wanted[index]
                    break
            else:
                self._pass_over(event, list(wanted.values()), passing)
        return [found[index] for index in sorted(found)]

    async def hear_text(self, text: str) -> None:
        """Hear text deltas that together are `text`."""
        so_far = 0  # characters; the text may have millions, a delta of it a few
        while so_far < len(text):
            event = await self.next(PATIENCE_S)
            if event["type"] == "text_delta":
                delta = event["text"]
                if not text.startswith(delta, so_far):
                    heard = text[:so_far] + delta
                    raise MismatchError(f"the text is {heard[-200:]!r}, not {text[-200:]!r}")
                so_far += len(delta)
            else:
                self._pass_over(event, [{"hear": f"text_delta … {text!r}"}])

    async def quiet(
        self, strict: list[str], within_s: float | None, passing: Sequence[str] = ()
    ) -> None:
        """Prove by a ping that nothing else was coming."""
        self.watch.said({"type": "ping"})
        await self.say_bytes(b'{"type":"ping"}\n')
        while (event := await self.next(within_s or PATIENCE_S))["type"] != "pong":
            if event["type"] in strict:
                raise MismatchError(f"{event['type']} comes, and nothing was expected")
            self._pass_over(event, [{"hear": "pong"}], passing)

    async def exit_code(self, within_s: float | None) -> int:
        """Hear the rest, whatever it is, and return how the engine ended."""
        wait_s = (within_s or PATIENCE_S) * self.slack
        try:
            with anyio.fail_after(wait_s):
                await self._drain()
                code = await self.child.wait()
        except TimeoutError:
            raise MismatchError(f"the engine does not end within {wait_s:g} s") from None
        self.note(f"the engine {ending(code)}")
        self.watch.over()
        return code

    async def finish(self) -> None:
        """End politely after the last step; how it ends is another case's business."""
        if self.input_open:
            await self.end_input()
        with anyio.move_on_after(GRACE_S * self.slack):
            await self._drain()
            await self.child.wait()
            if self.child.exit_code == 0:
                self.watch.over()

    def note(self, text: str) -> None:
        """Put a remark into the transcript."""
        self.transcript.append(("·", text))

    def look_ahead(self) -> list[str]:
        """Return lines that have come and were not looked at."""
        return [line.decode(errors="backslashreplace") for line in self.child.waiting()]

    async def _drain(self) -> None:
        while not self.child.at_end:
            try:
                line = await self.child.line()
            except anyio.EndOfStream:
                return
            except LineError as error:
                raise ViolationError("lines", str(error)) from None
            self._judged(line)

    def _left_s(self, within_s: float | None, began: float) -> float:
        """Return what is left of a time limit, before `slack`, that counts since `began`."""
        if within_s is None:
            return PATIENCE_S
        gone_s = (anyio.current_time() - began) / self.slack
        return max(0.001, within_s - gone_s)

    def _judged(self, line: bytes) -> JsonObject:
        text = line.decode(errors="backslashreplace")
        self.transcript.append(("←", text))
        try:
            event = parsed(line)
        except LineError as error:
            raise ViolationError("lines", str(error)) from None
        repeated = self.watch.is_repeated(event)
        self.watch.hear(event, line)
        for step in self.never:
            if difference(event, step) is None:
                raise MismatchError(f"{event['type']} must never come here")
        self.heard.append((event, text))
        if repeated:
            event = {**event, "type": "tool_running again"}
        return event

    def _pass_over(
        self, event: JsonObject, wanted: list[JsonObject], passing: Sequence[str] = ()
    ) -> None:
        kind = event["type"]
        if kind not in COUNTING or kind in passing:
            return
        near = [why for step in wanted if (why := difference(event, step)) and _type(step) == kind]
        why = f": {near[0]}" if near else f" comes instead of {_shown(wanted)}"
        raise MismatchError(f"{kind}{why}")

    def _how(self) -> str:
        code = self.child.exit_code
        return f" (exit code {code})" if code is not None else ""


def ending(code: int) -> str:
    """Return how a process ended, in words; `code` is negative after a signal."""
    if code >= 0:
        return f"ended with {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"was ended by {names.get(-code, f'signal {-code}')}"


def _type(step: JsonObject) -> str:
    pattern = step["hear"]
    return pattern if isinstance(pattern, str) else pattern.get("type", "")


def _shown(steps: Any) -> str:
    return ", ".join(
        s["hear"] if isinstance(s["hear"], str) else json.dumps(s["hear"]) for s in steps
    )
