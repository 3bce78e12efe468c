"""What a sub-agent does, shown inside the call that started it. Pure.

Its words are not the answer of the turn, so they never become a message of their own. Its calls
have entries of their own, since only those can ask; here they are lines that say which and how.
"""

from dataclasses import dataclass, field
from typing import Final

from wcore_host.acp.markup import block, span
from wcore_host.acp.tool_call_content import Content, text
from wcore_host.decode import Fields

SPAWN: Final = "Spawn"
GENERAL: Final = "general"  # the agent that a call without `agent` starts
CHARS_MAX: Final = 16 * 1024  # every update repeats all of it, so only its end is kept
RUNS: Final = "runs"
SAID, THOUGHT, NOTE = "said", "thought", "note"
CUT: Final = "(what came before is not shown)"


@dataclass
class _Words:
    kind: str
    text: str


@dataclass
class _Call:
    title: str
    state: str = "asked"


@dataclass
class SubAgentLog:
    """What the agent at `path` (names below the main agent) has done, as far as it is kept."""

    path: tuple[str, ...]
    _parts: list[_Words | _Call] = field(default_factory=list["_Words | _Call"])
    _calls: dict[str, _Call] = field(default_factory=dict[str, _Call])
    _cut: bool = False

    def hear(self, inner: Fields) -> bool:
        """Take in what a `sub_agent_event` carries; `True` if something is to be shown."""
        match inner.text("type"):
            case "text_delta":
                return self._say(SAID, inner.text("text"))
            case "thinking":
                return self._say(THOUGHT, inner.text("text"))
            case "info":
                return self._say(NOTE, inner.text("message") + "\n")
            case "error":
                return self._say(NOTE, inner.part("error").text("message") + "\n")
            case _:
                return False

    def call(self, call_id: str, title: str) -> None:
        """The agent wants this call; `title` is Markdown of our own."""
        made = self._calls[call_id] = _Call(title)
        self._parts.append(made)
        self._bound()

    def call_is(self, call_id: str, state: str) -> None:
        """A call of the agent runs or has ended."""
        if made := self._calls.get(call_id):
            made.state = state
        if state != RUNS:
            self._calls.pop(call_id, None)

    def content(self, report: str = "") -> list[Content]:
        """Return everything that is kept; words that are the `report` as well are left out."""
        parts = list(self._parts)
        last = parts[-1] if parts else None
        if report and isinstance(last, _Words) and last.text.strip() == report.strip():
            parts.pop()
        return [*([text(CUT)] if self._cut else []), *map(_shown, parts)]

    def _say(self, kind: str, words: str) -> bool:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, _Words) and last.kind == kind:
            last.text += words
        elif words:
            self._parts.append(_Words(kind, words))
        self._bound()
        return bool(words)

    def _bound(self) -> None:
        """Drop the oldest parts, and the beginning of the oldest one left."""
        over = sum(map(_size, self._parts)) - CHARS_MAX
        while over > 0:
            oldest, self._cut = self._parts[0], True
            if isinstance(oldest, _Words) and _size(oldest) > over:
                oldest.text = oldest.text[over:]
                return
            over -= _size(self._parts.pop(0))


def _size(part: _Words | _Call) -> int:
    return len(part.text if isinstance(part, _Words) else part.title)


def _shown(part: _Words | _Call) -> Content:
    if isinstance(part, _Call):
        return text(f"{part.title}: {part.state}")
    if part.kind == NOTE:
        return text(span(part.text.strip(), 1000))
    return text(("thinks:\n" if part.kind == THOUGHT else "") + block(part.text))
