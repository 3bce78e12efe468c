"""Names that a server cannot abuse: `mcp__<server>__<tool>`, never anything else.

Every name begins with `mcp__` and the server's own part holds no `__`, so no server can take the
name of a built-in tool or of another server's tool.
"""

import hashlib
import re
from typing import Final

PREFIX: Final = "mcp__"
SEPARATOR: Final = "__"
SERVER_CHARS_MAX: Final = 32  # half of a tool's name
RAW_CHARS_MAX: Final = 128  # of a server's own name; a longer one is no name any more
NAME_CHARS_MAX: Final = 64  # what OpenAI and Anthropic take as a tool's name
HASH_CHARS: Final = 8  # tells apart what has become alike

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")
_OTHERS: Final = re.compile(r"[^A-Za-z0-9-]+")


def server_part(name: str) -> str | None:
    """Return what stands for server `name` in the names of its tools; `None`: it cannot.

    Letters that providers do not take become `_`. Such a part, and one that is cut, ends in a hash
    of the whole name.
    """
    is_edged = SEPARATOR in name or name.strip("_") != name
    is_seen = any(char.isprintable() and not char.isspace() for char in name)
    if is_edged or not is_seen or len(name) > RAW_CHARS_MAX:
        return None
    return _marked(name, SERVER_CHARS_MAX)


def tool_name(server: str, tool: str) -> str | None:
    """Return the name of a server's tool; `None` for one that cannot be offered.

    `server` is from `server_part`; letters and length are as there.
    """
    if not tool:
        return None
    head = f"{PREFIX}{server}{SEPARATOR}"
    return head + _marked(tool, NAME_CHARS_MAX - len(head))


def _marked(text: str, chars_max: int) -> str:
    if len(text) <= chars_max and _PLAIN.fullmatch(text):
        return text
    mark = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:HASH_CHARS]
    kept = _OTHERS.sub("_", text).strip("_")[: chars_max - HASH_CHARS - 1].rstrip("_")
    return f"{kept}_{mark}" if kept else mark
