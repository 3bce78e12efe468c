"""Effects on the user's machine: `prepare` shows, the gate decides, `run` does.

`tool.py` is the contract, `builtin` has one file a tool, `mcp` the tools of other
people's servers; `fs`, `process` and `search` are what tools are made of.
"""

from wcore.tools.tool import RunContext, Tool, ToolEnvironment

__all__ = ["RunContext", "ToolEnvironment", "Tool"]
