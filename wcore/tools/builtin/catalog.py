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
from wcore.tools.tool import Tool, ToolEnvironment


def builtin_tools(
    environment: ToolEnvironment, agents: Callable[[], Mapping[str, AgentDefinition]] = dict
) -> dict[str, Tool]:
    """Make all tools for one place. `agents` are those that Spawn can start, by name."""
    tools: tuple[Tool, ...] = (
        Read(environment),
        Ls(environment),
        Glob(environment),
        Grep.at(environment),
        Write(environment),
        Edit(environment),
        MultiEdit(environment),
        Delete(environment),
        Bash.at(environment),
        AskUserQuestion(environment),
        Spawn(environment, agents),
    )
    return {tool.spec.name: tool for tool in tools}
