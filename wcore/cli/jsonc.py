"""JSON with comments and trailing commas, as settings files have it."""

import json
import re
from typing import Any, Final

from wcore.errors import ConfigError

_PIECES: Final = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*")|(?P<comment>//[^\n]*|/\*.*?\*/)', re.DOTALL
)
_LAST_COMMA: Final = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


def loads(text: str, path: str) -> Any:
    """Return the value that `text`, the content of the file `path`, spells.

    Raises:
        ConfigError: it is no JSON, even without its comments.
    """
    plain = _PIECES.sub(lambda found: found["text"] or _blank(found[0]), text)
    plain = _LAST_COMMA.sub(lambda found: found[1] or " ", plain)
    try:
        return json.loads(plain)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}:1: not JSON: {error}") from error


def _blank(comment: str) -> str:
    """Return as many lines as the comment has: errors name a line."""
    return "\n" * comment.count("\n") or " "
