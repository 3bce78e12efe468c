"""Spawn: another agent works on a task, with its own context, and reports back.

The tool only lays the work out; who runs it is handed in, and judges every call of the agent.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct
from pydantic import Field

from wcore.agents import GENERAL, AgentDefinition, Assignment
from wcore.errors import ToolError
from wcore.tools.arguments import Arguments, parse, schema_of
from wcore.tools.digests import call_digest
from wcore.tools.fs.paths import description_line
from wcore.tools.tool import RunContext, ToolEnvironment
from wcore.tools.truncate import truncate
from wcore.visible import visible
from wcore.vocabulary import (
    PREVIEW_BYTES_MAX,
    Args,
    Category,
    Prepared,
    Preview,
    ToolOutput,
    ToolSpec,
)

NAME: Final = "Spawn"
TASK_CHARS_MAX: Final = 32 * 1024  # a task is a page; what is longer belongs in a file
LISTED_MAX: Final = 32  # agents named in the description, which goes along with every request


class SpawnArguments(Arguments):
    task: str = Field(
        min_length=1,
        max_length=TASK_CHARS_MAX,
        description="All that the agent needs to know; it sees nothing of this conversation.",
    )
    agent: str = Field(default=GENERAL.name, description="The kind of agent.")


class Spawn(Struct, frozen=True):
    """Starts sub-agents. `agents` are those that have a definition, as of this turn."""

    environment: ToolEnvironment
    agents: Callable[[], Mapping[str, AgentDefinition]]

    @property
    def spec(self) -> ToolSpec:
        """What the model is shown."""
        known = [GENERAL, *self.agents().values()][:LISTED_MAX]
        listed = "; ".join(f"{each.name}: {each.description or 'no description'}" for each in known)
        return ToolSpec(
            NAME,
            Category.EXEC,
            "Give a task to another agent, which works in the same folder with tools of its own "
            "and reports what it did. Several can work at a time. It can do no more than you. "
            f"Kinds of agents: {listed}.",
            schema_of(SpawnArguments),
        )

    def target_paths(self, args: Args) -> frozenset[str]:
        """Nobody knows which files a task is about; its calls are judged one by one."""
        return frozenset()

    async def prepare(self, args: Args) -> Prepared:
        """Find the agent and lay out what it will be told."""
        given, args = parse(NAME, SpawnArguments, args)
        agent = GENERAL if given.agent == GENERAL.name else self.agents().get(given.agent)
        if agent is None:
            known = ", ".join([GENERAL.name, *self.agents()])
            raise ToolError(f"there is no agent `{given.agent}`; there are {known}")
        note = "[task cut here: it is longer than can be shown]"
        text, cut = truncate(visible(_laid_out(agent, given.task)), PREVIEW_BYTES_MAX, note)
        return Prepared(
            tool=NAME,
            category=Category.EXEC,
            args=args,
            description=description_line(f"Spawn: {given.task}"),
            digest=call_digest(
                NAME, args, self.environment.workspace, depends={agent.name: agent.digest}
            ),
            preview=Preview("text", text, truncated=cut),
            plan=Assignment(agent, given.task),
        )

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        """Let the agent work. Cancelled, it has ended, with all its calls, when this leaves."""
        assert isinstance(prepared.plan, Assignment)
        if live.spawn is None:
            raise ToolError("no agent can be started here")
        return await live.spawn(prepared.plan)


def _laid_out(agent: AgentDefinition, task: str) -> str:
    tools = "all of its parent" if agent.tools is None else ", ".join(sorted(agent.tools)) or "none"
    lines = [f"agent: {agent.name}", f"tools: {tools}"]
    lines += [f"model: {agent.model}"] if agent.model else []
    lines += [f"{tool}: {status}" for tool, status in sorted(agent.tiers.items())]
    lines += ["", "instructions:", agent.prompt] if agent.prompt else []
    return "\n".join([*lines, "", "task:", task])
