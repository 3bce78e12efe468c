"""The built-in tools, in the order in which the model is shown them."""

from collections.abc import Callable, Mapping

from wcore.agents import AgentDefinition
from wcore.tools.builtin.ask_user_question import AskUserQuestion
from wcore.tools.builtin.bash import Bash
from wcore.tools.builtin.delete import Delete
from wcore.tools.builtin.edit import Edit
from wcore.tools.builtin.glob import Glob
from wcore.tools.builtin.grep import Grep
from wcore.tools.builtin.ls import Ls
from wcore.tools.builtin.multi_edit import MultiEdit
from wcore.tools.builtin.read import Read
from wcore.tools.builtin.spawn import Spawn
from wcore.tools.builtin.write import Write
from wcore.tools.tool import Place, Tool


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
