"""The built-in tools, in the order in which the model is shown them."""

from collections.abc import Callable, Mapping

from wcore.agents import AgentDefinition
from wcore.tools import Place, Tool
from wcore.tools.ask import AskUserQuestion
from wcore.tools.bash import Bash
from wcore.tools.delete import Delete
from wcore.tools.edit import Edit
from wcore.tools.glob import Glob
from wcore.tools.grep import Grep
from wcore.tools.ls import Ls
from wcore.tools.multi_edit import MultiEdit
from wcore.tools.read import Read
from wcore.tools.spawn import Spawn
from wcore.tools.write import Write


def builtin_tools(
    place: Place, agents: Callable[[], Mapping[str, AgentDefinition]] = dict
) -> dict[str, Tool]:
    """Make all tools for one place. `agents` are those that Spawn can start, by name."""
    tools: tuple[Tool, ...] = (
        Read(place),
        Ls(place),
        Glob(place),
        Grep.at(place),
        Write(place),
        Edit(place),
        MultiEdit(place),
        Delete(place),
        Bash.at(place),
        AskUserQuestion(place),
        Spawn(place, agents),
    )
    return {tool.spec.name: tool for tool in tools}
