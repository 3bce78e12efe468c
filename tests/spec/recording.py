"""A conversation that is written down as it happens: notes, commands, events."""

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from talking import Conversation, Event, write_script

HELD_BACK: Final = "…"
NORMAL: Final[
    tuple[tuple[str, str], ...]
] = (  # what differs from run to run, and what stands for it
    (r"(sha256|v2):[0-9a-f]{64}", r"\1:4f1c…"),
    (r'"session_id":"[0-9a-f-]{32,}"', '"session_id":"6e0d…"'),
    (r'"version":"[^"]+"', '"version":"1.0.0"'),
    (r'"created_at":"[^"]+"', '"created_at":"2026-11-22T09:00:00Z"'),
    (r"\bg-[0-9a-f]+\b", "g-1b2c"),
    (r'("resume_token"|"correlation_id"):"[^"]+"', r'\1:"9f1c…"'),
    (r'"current_model":"[^"]+"', '"current_model":"a-model"'),
    (r'"model":"[^"]+"', '"model":"a-model"'),
    (r'"expires_in_s":(29\d|300)\b', '"expires_in_s":300'),
    (r'"expires_in_s":[01]\b', '"expires_in_s":1'),
)


CHUNK: Final = '{"type":"tool_chunk"'


@dataclass
class Transcript:
    """What was said, in order: `#` notes, `→` commands, `←` events."""

    workspace: Path
    whole: bool = False  #: whether `ready` is shown with all its capabilities
    lines: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def note(self, text: str) -> None:
        """Explain what comes next."""
        self.lines.append(("#", text))

    def add(self, mark: str, message: dict[str, Any]) -> None:
        """Add a command or an event; pieces of one output are put together."""
        if message["type"] == "tool_chunk" and self.lines[-1][1].startswith(CHUNK):
            before = json.loads(self.lines.pop()[1])
            message = {**message, "chunk": before["chunk"] + message["chunk"]}
        text = self._normal(message)
        if message["type"] == "ready" and not self.whole:
            text = re.sub(r'"capabilities":\{.*?\}', '"capabilities":{…}', text)
        self.lines.append((mark, text))

    def as_markdown(self, name: str, about: str) -> str:
        """Return the page: the notes as text, the lines between them as code."""
        parts = [f"# {name}\n", f"{about}\n"]
        block: list[str] = []
        for mark, text in [*self.lines, ("#", "")]:
            if mark != "#":
                block.append(f"{mark} {text}")
                continue
            if block:
                parts.append("```\n" + "\n".join(block) + "\n```\n")
                block.clear()
            if text:
                parts.append(f"{text}\n")
        return "\n".join(parts)

    def _normal(self, message: dict[str, Any]) -> str:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        text = text.replace(str(self.workspace), "/home/ada/project")
        text = text.replace(sys.executable, "/usr/bin/python3")
        for pattern, stands_for in NORMAL:
            text = re.sub(pattern, stands_for, text)
        return text


class Recorded(Conversation):
    """A conversation whose lines go into a transcript."""

    def __init__(self, transcript: Transcript, flags: list[str], home: Path) -> None:
        super().__init__(transcript.workspace, flags, {}, home=home)
        self._transcript = transcript
        self._home = home
        self.note = transcript.note

    def again(self, *replies: list[object], flags: tuple[str, ...]) -> "Recorded":
        """Return the next engine of the same person, in the same folder and on the same page."""
        script = write_script(self._home.parent, replies)
        model = ["--model", f"script:{script}"]
        return Recorded(self._transcript, [*model, *flags], self._home)

    async def say(self, **command: object) -> None:
        """Send one command, and write it down."""
        self._transcript.add("→", command)
        await super().say(**command)

    async def next(self) -> Event:
        """Return the next event, and write it down."""
        event = await super().next()
        self._transcript.add("←", event)
        return event

    async def close(self) -> None:
        """Close stdin, and write down what follows."""
        code = await self.finish()
        self._transcript.note(f"The engine exits with {code}.")
