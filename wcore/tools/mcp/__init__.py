"""MCP servers: other people's programs whose tools the model may ask for.

Everything a server says is hostile: names, descriptions, schemas, results, questions. Nothing
of it decides anything here; each of its tools is a `Tool` like any other and passes the gate.

`server_config` says what a server is, `life` is the table of its states, `server` keeps one of them
connected, `tool` is one tool of it. Only `connection`, `stdio`, `http` and `results` know the SDK;
they are loaded when the first server is connected, never before.
"""

from functools import cache
from importlib.util import find_spec

MISSING = "MCP servers need the extra: pip install 'wcore[mcp]'"


@cache
def is_installed() -> bool:
    """Tell whether the SDK is there, without loading it."""
    return find_spec("mcp") is not None
