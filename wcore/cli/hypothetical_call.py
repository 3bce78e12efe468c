"""A call that nobody made, for explaining and testing rules: what the engine would decide about.

Only names are resolved on disk, as the tools do it; no file is opened and none has to exist.
"""

import os
from typing import Final

from wcore.errors import ToolError, UsageError
from wcore.policy import shell
from wcore.policy.facts import Facts, gather
from wcore.policy.protected import Places
from wcore.policy_files.named_paths import finder
from wcore.tools.builtin.catalog import builtin_tools
from wcore.tools.fs.paths import resolve
from wcore.tools.process.child_environment import child_environment
from wcore.tools.tool import ToolEnvironment
from wcore.vocabulary import Access, Args, Category, PathAccess, Prepared

SHELL_TOOL: Final = "Bash"
MCP_PREFIX: Final = "mcp__"
SEARCHES: Final = frozenset({"LS", "Glob", "Grep"})
ARGUMENT: Final = {SHELL_TOOL: "command", "AskUserQuestion": "question", "Spawn": "prompt"}


def main_argument(tool: str) -> str:
    """Return the argument that a call of `tool` is mostly about."""
    return "path" if tool in SEARCHES else ARGUMENT.get(tool, "file_path")


def facts_of(tool: str, args: Args, places: Places) -> Facts:
    """Return the facts of the call that the engine would gather.

    Raises:
        UsageError: such a call could not even be prepared.
    """
    prepared = _prepared(tool, args, places)
    analysis = shell.analyse(prepared.command) if prepared.command is not None else None
    return gather(prepared, analysis, places)


def category_of(tool: str, places: Places) -> Category:
    """Return the category that the engine gives to `tool`."""
    known = builtin_tools(_place(places)).get(tool)
    return known.spec.category if known else _category(tool)


def _place(places: Places) -> ToolEnvironment:
    return ToolEnvironment(places.workspace, places.home, os.environ, lambda _: False)


def _prepared(tool: str, args: Args, places: Places) -> Prepared:
    tool_environment = _place(places)
    known = builtin_tools(tool_environment).get(tool)
    category = category_of(tool, places)
    access = Access.READ if category is Category.INFO else Access.WRITE
    paths: frozenset[str] = frozenset()
    command: str | None = None
    if tool == SHELL_TOOL:
        command = _text(tool, args, "command")
    elif tool in SEARCHES:
        paths = frozenset({_resolved(tool_environment, str(args.get("path") or "."))})
    elif known is not None and tool not in ARGUMENT:
        _resolved(tool_environment, _text(tool, args, "file_path"))
        paths = known.target_paths(args)
    accesses = tuple(PathAccess(path, access) for path in sorted(paths))
    prepared = Prepared(tool, category, args, tool, "", accesses, command)
    if command is None:
        return prepared
    return prepared.naming(finder(places)(command, child_environment(os.environ)))


def _category(tool: str) -> Category:
    return Category.MCP if tool.startswith(MCP_PREFIX) else Category.EXEC


def _text(tool: str, args: Args, name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str):
        raise UsageError(f"{tool} needs the argument {name!r}")
    return value


def _resolved(tool_environment: ToolEnvironment, path: str) -> str:
    try:
        return resolve(tool_environment, path)
    except (ToolError, OSError, ValueError) as error:
        raise UsageError(f"no call could be made with it: {error}") from error
