"""What a transcript is made of. Pure: no block knows how it is drawn, or what time it is.

Text in a block is what engine, model, tool or person wrote, untouched; making it visible is the
painter's job, and the painter's alone.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from wcore_host.events import JsonObject, Why

#: What a row of a call names.
GISTS: Final = ("command", "file_path", "path", "pattern", "url", "question")


class CallState(StrEnum):
    """How far a call has come."""

    ANNOUNCED = "announced"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(eq=False, slots=True)
class Block:
    """One thing in the transcript; `version` rises with every change that can be seen.

    `number` counts the blocks of a story from its beginning, those it has dropped included.
    """

    version: int = field(default=0, kw_only=True)
    number: int = field(default=-1, kw_only=True)


@dataclass(eq=False, slots=True)
class UserBlock(Block):
    """A message of the person."""

    text: str


@dataclass(eq=False, slots=True)
class AssistantBlock(Block):
    """Markdown of the model: one or more paragraphs."""

    text: str


@dataclass(eq=False, slots=True)
class FoldableBlock(Block):
    """A block that can be shown as one row or in full."""

    folded: bool = field(default=True, kw_only=True)

    def fold(self) -> None:
        """Fold or unfold it."""
        self.folded = not self.folded
        self.version += 1


@dataclass(eq=False, slots=True)
class ThinkingBlock(FoldableBlock):
    """What the model thought before it spoke; times are seconds of a monotonic clock."""

    began: float
    text: str = ""
    took_s: float | None = None


@dataclass(eq=False, slots=True)
class CallBlock(FoldableBlock):
    """One tool call from its announcement to its end."""

    call_id: str
    name: str
    category: str
    about: str
    args: JsonObject
    agent: tuple[str, ...] = ()
    why: Why = field(default_factory=Why)
    state: CallState = CallState.ANNOUNCED
    began: float | None = None
    took_s: float | None = None
    output: str = ""
    output_type: str = "text"
    reason: str = ""
    is_changed: bool = False  # a person has changed the arguments
    speaker: str = ""  # the sub-agent that spoke last in the output

    @property
    def is_open(self) -> bool:
        """Whether its end is still to come."""
        return self.state in (CallState.ANNOUNCED, CallState.WAITING, CallState.RUNNING)


def gist(args: JsonObject) -> str:
    """Return the argument that says most of what a call does."""
    return next((v for n in GISTS if isinstance(v := args.get(n), str)), "")


@dataclass(eq=False, slots=True)
class NoteBlock(Block):
    """A line of the host or the engine: advice, or an error if `alarming`."""

    text: str
    alarming: bool = False
