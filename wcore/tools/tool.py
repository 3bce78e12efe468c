"""Effects on the user's machine, one file a tool: `prepare` shows, the gate decides, `run` does.

This module is the interface only; `builtin/catalog.py` makes the built-in tools. A tool never
sees the gate or the wire, and never prints.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from wcore.agents import Assignment
from wcore.errors import ToolError
from wcore.vocabulary import Args, Named, Prepared, ToolOutput, ToolSpec

if TYPE_CHECKING:
    from wcore.sandbox.sandbox import Sandbox
    from wcore.supervisor.client import Held, Program, Supervisor

#: Asks a model: system prompt, messages as (role, text), most tokens; the text of its reply.


class ToolEnvironment(Struct, frozen=True):
    """Where tools work. Paths are absolute and real (no symlink left in them).

    `hidden` tells whether a real path is protected: listings and searches leave such files
    out and say how many, unless a folder of them was named; `denied` whether it is left out even
    then. `environ` is the environment for children, free of provider keys.
    `named` tells the paths and programs that a shell text names in an environment; it reads the
    disk.
    `supervisor` starts them; without one nothing can be started. Commands run in `sandbox`, if
    there is one.
    """

    workspace: str
    home: str
    environ: Mapping[str, str]
    hidden: Callable[[str], bool]
    denied: Callable[[str], bool] = lambda _: False
    named: Callable[[str, Mapping[str, str]], Named] | None = None
    supervisor: "Supervisor | None" = None
    sandbox: "Sandbox | None" = None

    async def start(self, program: "Program") -> "Held":
        """Start a program; see `Supervisor.start` for the errors."""
        if self.supervisor is None:
            raise ToolError("nothing can be started here: there is no supervisor")
        return await self.supervisor.start(program)


async def _refuse(tool: "Tool", args: Args) -> None:
    """Ask nobody: what a tool is run with outside of a turn."""


class RunContext(Struct, frozen=True):
    """What a running call may use besides its plan.

    `chunk` sends output to the host while the tool runs; it waits when the host does not read
    and must not be called after `run` has returned. `answer` is a person's answer, only ever
    set for AskUserQuestion. `spawn` lets a sub-agent work; it is there for Spawn. `ask` puts a
    further call, the tool's own and not the model's, before the gate and runs it if it may; it
    returns when that call has ended. Cancelling withdraws it. `denial` says why the rules deny the
    call as the tool has found it now, `None` if they do not. `leave` takes whole lines: what the
    model is told that a call has given, when it was cancelled.
    """

    call_id: str
    chunk: Callable[[str], Awaitable[None]]
    answer: str | None = None
    spawn: Callable[[Assignment], Awaitable[ToolOutput]] | None = None
    ask: "Callable[[Tool, Args], Awaitable[None]]" = _refuse
    denial: Callable[[Prepared], str | None] = lambda _: None
    leave: Callable[[str], None] = lambda _: None


class Tool(Protocol):
    """One tool. Both steps may be cancelled at any await; no process is left behind then."""

    @property
    def spec(self) -> ToolSpec:
        """Name, category, description and JSON Schema of the arguments."""
        ...

    def target_paths(self, args: Args) -> frozenset[str]:
        """Real paths of the files this call is about, before anything is checked.

        A name without a folder stands for every file of that name. The turn uses it to keep calls
        on one file in order. Never raises: empty on bad input.
        """
        ...

    async def prepare(self, args: Args) -> Prepared:
        """Validate, resolve and preview; touch nothing.

        Raises:
            ToolError: the arguments are wrong, or the effect cannot happen; text for the model.
        """
        ...

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        """Do exactly what was prepared.

        When cancelled, every process it started is dead before the cancellation leaves.

        Raises:
            ToolError: it failed, or the world changed since `prepare`; nothing was done then.
        """
        ...
