"""Names that a server cannot abuse: `mcp__<server>__<tool>`, never anything else.

Every name begins with `mcp__` and the server's own part holds no `__`, so no server can take the
name of a built-in tool or of another server's tool.
"""

import hashlib
import re
from typing import Final

PREFIX: Final = "mcp__"
SEPARATOR: Final = "__"
SAMPLING: Final = "sampling"  # the name under which a server's own requests to the model ask
SERVER_CHARS_MAX: Final = 32  # half of a tool's name
NAME_CHARS_MAX: Final = 64  # what OpenAI and Anthropic take as a tool's name
HASH_CHARS: Final = 8  # tells apart what a cut has made alike

_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")


def server_part(name: str) -> str | None:
    """Return what stands for server `name` in the names of its tools; `None`: it cannot.

    Spaces, dots and the like become `_`.
    """
    safe = _OTHER.sub("_", name)
    if SEPARATOR in safe or safe.strip("_") != safe or not 0 < len(safe) <= SERVER_CHARS_MAX:
        return None
    return safe


def tool_name(server: str, tool: str) -> str | None:
    """Return the name of a server's tool; `None` for one that cannot be offered.

    `server` is from `server_part`. A name too long for providers ends in a hash of the whole.
    """
    safe = _OTHER.sub("_", tool)
    if not safe or safe == SAMPLING:
        return None
    name = f"{PREFIX}{server}{SEPARATOR}{safe}"
    if len(name) <= NAME_CHARS_MAX:
        return name
    mark = hashlib.sha256(tool.encode(errors="replace")).hexdigest()[:HASH_CHARS]
    return f"{name[: NAME_CHARS_MAX - HASH_CHARS - 1]}_{mark}"


def sampling_name(server: str) -> str:
    """Return the name under which a server's requests to the model are gated."""
    return f"{PREFIX}{server}{SEPARATOR}{SAMPLING}"
