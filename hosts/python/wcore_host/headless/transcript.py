"""Events become blocks, one after another. Pure: the time is handed in.

The story is bounded: text of a block, output of a call, and the whole. What is dropped is the
oldest, and its place says so.
"""

from typing import Final

from wcore_host import decode, events
from wcore_host.errors import HostLibraryError
from wcore_host.events import Event, JsonObject
from wcore_host.headless.paragraphs import BLOCK_CHARS_MAX, split_at
from wcore_host.headless.transcript_blocks import (
    AssistantBlock,
    Block,
    CallBlock,
    CallState,
    FoldableBlock,
    NoteBlock,
    ThinkingBlock,
    UserBlock,
    gist,
)

BLOCKS_MAX: Final = 50_000  # five times a session of 10,000 calls
BLOCKS_DROPPED: Final = 5_000  # dropped together, so that dropping is rare
CHUNK_CHARS_MAX: Final = 256 * 1024  # live output kept of one call; its result replaces it
OUTPUT_CHARS_MAX: Final = 64 * 1024 * 1024  # of all calls together, about 64 MB of memory
FORGOTTEN: Final = "(this output is no longer kept here; `wcore sessions show` has it)"


class Transcript:
    """The transcript of one session, growing."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.dropped = 0  # blocks that were dropped at the beginning
        self.calls: dict[str, CallBlock] = {}
        self._changed: dict[int, None] = {}  # numbers of blocks, in order of change
        self._kept: list[CallBlock] = []  # with output, oldest first
        self._kept_chars = 0

    def take_changed(self) -> list[int]:
        """Return the numbers of the blocks that have changed since the last time."""
        changed, self._changed = list(self._changed), {}
        return changed

    def tick(self) -> None:
        """Time has passed: what shows its time has changed."""
        for call in self.calls.values():
            if call.state is CallState.RUNNING:
                self._touch(call)

    def say(self, text: str) -> None:
        """Add what the person said."""
        self._add(UserBlock(text))

    def note(self, text: str, *, alarming: bool = False) -> None:
        """Add a line of our own, or of the engine."""
        self._add(NoteBlock(text, alarming))

    def crashed(self, failure: HostLibraryError, now: float) -> None:
        """Say how the engine ended; whatever was open has ended with it."""
        self._end_thought(now)
        for call in self.calls.values():
            if call.is_open:
                waited = call.state is CallState.WAITING
                self._finish(call, CallState.CANCELLED, now)
                end = "it had not run" if waited else "nobody knows what became of it"
                call.reason = f"the engine is gone: {end}"
        self.calls.clear()
        self.note(str(failure), alarming=True)

    def take(self, event: Event, now: float) -> None:
        """Take in one event."""
        match event:
            case events.TextDelta(text=text):
                self._speak(text, now)
            case events.Thinking(text=text):
                self._think(text, now)
            case events.CallEvent():
                self._announce(event, now)
            case _ if isinstance(event, events.EndsCard | events.ToolChunk):
                self._follow(event, now)
            case events.StreamEnd():
                self._turn_over(event, now)
            case events.Info(message=message):
                self.note(message)
            case events.Error(code=code, message=message):
                self.note(f"{message} ({code})", alarming=True)
            case events.GarbledLine(problem=problem, line=line):
                self.note(f"the engine sent a line that is no event ({problem}): {line}")
            case events.UnknownEvent(type="sub_agent_event"):
                self._sub_agent(decode.Fields(event.raw), now)
            case _:
                pass

    def recall(self, messages: list[JsonObject]) -> None:
        """Add the messages of an earlier conversation, oldest first."""
        for message in map(decode.Fields, messages):
            match message.text("role"):
                case "user":
                    self.say(message.text("text"))
                case "assistant":
                    self._recall_reply(message)
                case "tool":
                    self._recall_result(message)
                case _:
                    pass
        self.calls.clear()

    # --- text -------------------------------------------------------------------------------------

    def _speak(self, text: str, now: float) -> None:
        self._end_thought(now)
        last = self.blocks[-1] if self.blocks else None
        if not isinstance(last, AssistantBlock):
            last = AssistantBlock("")
            self._add(last)
        last.text += text
        self._touch(last)
        while ("\n" in text or len(last.text) > BLOCK_CHARS_MAX) and (cut := split_at(last.text)):
            at, again = cut
            rest = AssistantBlock(again + last.text[at:])
            last.text = last.text[:at]
            self._touch(last)
            self._add(rest)
            last = rest

    def _think(self, text: str, now: float) -> None:
        if not text:  # a sign of life, nothing to show
            return
        last = self.blocks[-1] if self.blocks else None
        if not isinstance(last, ThinkingBlock) or last.took_s is not None:
            last = ThinkingBlock(now)
            self._add(last)
        last.text += text
        self._touch(last)

    def _end_thought(self, now: float) -> None:
        last = self.blocks[-1] if self.blocks else None
        if isinstance(last, ThinkingBlock) and last.took_s is None:
            last.took_s = now - last.began
            self._touch(last)

    # --- calls ------------------------------------------------------------------------------------

    def _announce(self, event: events.CallEvent, now: float) -> None:
        self._end_thought(now)
        self._end_speech("/".join(event.agent))
        tool, asks = event.tool, isinstance(event, events.ToolRequest)
        call = CallBlock(
            event.call_id,
            tool.name,
            tool.category,
            tool.description,
            tool.args,
            event.agent,
            event.why,
            CallState.WAITING if asks else CallState.ANNOUNCED,
        )
        self.calls[event.call_id] = call
        self._add(call)

    def _follow(self, event: events.EndsCard | events.ToolChunk, now: float) -> None:
        call = self.calls.get(event.call_id)
        if call is None:
            return
        match event:
            case events.ToolRunning() if call.began is None:
                call.state, call.began = CallState.RUNNING, now
            case events.ToolChunk(chunk=chunk):
                call.output = (call.output + chunk)[-CHUNK_CHARS_MAX:]
            case events.CallSettled(outcome="approved", args=args):
                call.state = CallState.ANNOUNCED
                if args is not None:
                    call.args, call.is_changed = args, True
                    call.about = gist(args)
            case events.ToolResult(status=status, output=output, output_type=output_type):
                good = status == "success"
                self._finish(call, CallState.DONE if good else CallState.FAILED, now)
                call.output, call.output_type = output, output_type
                self._keep(call)
            case events.ToolCancelled(reason=reason):
                self._finish(call, CallState.CANCELLED, now)
                call.reason = reason
                self._keep(call)
            case _:
                return
        self._touch(call)

    def _finish(self, call: CallBlock, state: CallState, now: float) -> None:
        call.state = state
        call.took_s = None if call.began is None else now - call.began
        self._touch(call)

    def _keep(self, call: CallBlock) -> None:
        """Keep the output of an ended call, at the expense of the oldest ones."""
        del self.calls[call.call_id]
        self._kept.append(call)
        self._kept_chars += len(call.output)
        while self._kept_chars > OUTPUT_CHARS_MAX and len(self._kept) > 1:
            oldest = self._kept.pop(0)
            self._kept_chars -= len(oldest.output)
            if oldest.output:
                oldest.output, oldest.output_type = FORGOTTEN, "text"
                self._touch(oldest)

    def _sub_agent(self, event: decode.Fields, now: float) -> None:
        """Show what a sub-agent says, behind its name, under the call that started it."""
        call = self.calls.get(event.text("parent_call_id"))
        inner = event.part("inner")
        if call is None or inner.text("type") != "text_delta":
            return
        text, speaker = inner.text("text"), event.text("agent_name")
        if speaker != call.speaker:
            call.speaker = speaker
            text = ("\n" if call.output else "") + f"{speaker}: {text}"
        self._follow(events.ToolChunk("", call.call_id, call.name, text), now)

    def _end_speech(self, speaker: str) -> None:
        """A sub-agent makes a call: what it says after that is another paragraph."""
        for call in self.calls.values():
            if call.speaker == speaker:
                call.speaker = ""

    def _turn_over(self, event: events.StreamEnd, now: float) -> None:
        self._end_thought(now)
        self.calls.clear()
        if event.ended_early:
            self.note(f"the turn ended early: {event.finish_reason}")
        if event.denied_unasked:
            self.note(f"{event.denied_unasked} calls were refused because nobody can be asked")

    # --- an earlier conversation ------------------------------------------------------------------

    def _recall_reply(self, message: decode.Fields) -> None:
        if thinking := message.text("thinking"):
            self._add(ThinkingBlock(0.0, thinking, 0.0))
        if text := message.text("text"):
            self._speak(text, 0.0)
        for item in message.objects("calls"):
            args = item.part("args").raw
            name, about = item.text("tool"), gist(args)
            about = about if "command" in args else f"{name} {about}".rstrip()
            call = CallBlock(item.text("call_id"), name, "", about, args)
            self.calls[call.call_id] = call
            self._add(call)

    def _recall_result(self, message: decode.Fields) -> None:
        call_id = message.text("call_id")
        name, output = message.text("tool_name"), message.text("output")
        kind = message.text("output_type", "text")
        result = events.ToolResult("", call_id, name, message.text("status"), output, kind)
        self._follow(result, 0.0)

    def _touch(self, block: Block) -> None:
        block.version += 1
        self._changed[block.number] = None

    def _add(self, block: Block) -> None:
        block.number = self.dropped + len(self.blocks)
        self.blocks.append(block)
        if len(self.blocks) > BLOCKS_MAX:
            gone, self.blocks = self.blocks[:BLOCKS_DROPPED], self.blocks[BLOCKS_DROPPED:]
            self.dropped += len(gone)


def folding(block: Block) -> FoldableBlock | None:
    """Return `block` if it can be folded."""
    return block if isinstance(block, FoldableBlock) else None
