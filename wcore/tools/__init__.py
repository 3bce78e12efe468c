"""Effects on the user's machine, one file a tool: `prepare` shows, the gate decides, `run` does.

This front door holds the interface only; `catalog.py` makes the built-in tools. A tool never
sees the gate or the wire, and never prints.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from wcore.vocabulary import Args, Prepared, ToolOutput, ToolSpec


@dataclass(frozen=True, slots=True)
class Place:
    """Where tools work. Paths are absolute and real (no symlink left in them).

    `hidden` tells whether a real path is protected: listings and searches leave such files
    out and say how many. `environ` is the environment for children, free of provider keys.
    """

    workspace: str
    home: str
    environ: Mapping[str, str]
    hidden: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Live:
    """What a running call may use besides its plan.

    `chunk` sends output to the host while the tool runs; it waits when the host does not read
    and must not be called after `run` has returned. `answer` is a person's answer, only ever
    set for AskUserQuestion.
    """

    call_id: str
    chunk: Callable[[str], Awaitable[None]]
    answer: str | None = None


class Tool(Protocol):
    """One tool. Both steps may be cancelled at any await and then leave nothing behind."""

    @property
    def spec(self) -> ToolSpec:
        """Name, category, description and JSON Schema of the arguments."""
        ...

    def targets(self, args: Args) -> frozenset[str]:
        """Real paths of the files this call is about, before anything is checked.

        The turn uses it to keep calls on one file in order. Never raises: empty on bad input.
        """
        ...

    async def prepare(self, args: Args) -> Prepared:
        """Validate, resolve and preview; touch nothing.

        Raises:
            ToolError: the arguments are wrong, or the effect cannot happen; text for the model.
        """
        ...

    async def run(self, prepared: Prepared, live: Live) -> ToolOutput:
        """Do exactly what was prepared.

        When cancelled, every process it started is dead before the cancellation leaves.

        Raises:
            ToolError: it failed, or the world changed since `prepare`; nothing was done then.
        """
        ...
