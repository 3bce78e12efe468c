"""JSON as providers take and send it. What is parsed may have halves of characters in it."""

import json
import re
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from wcore.visible import whole

TOOL_NAME_CHARS_MAX: Final = 64  # what OpenAI and Anthropic take back
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def parse(data: bytes | str) -> Any:
    """Return the value.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        return from_json(data, allow_inf_nan=False)
    except ValueError:
        # Slower, and takes half an emoji, which some servers send at the border of two deltas.
        try:
            return json.loads(data)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


def fields(value: object) -> dict[str, Any]:
    """Return the object that `value` should be, or an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def dump(value: Any) -> bytes:
    """Return compact UTF-8, with whole characters only."""
    try:
        return to_json(value)
    except PydanticSerializationError:
        return whole(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).encode()


def tool_name(name: str) -> str:
    """Return the name of a call as providers take it back, also if the model made it up."""
    if _NAME.fullmatch(name):
        return name
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:TOOL_NAME_CHARS_MAX] or "unnamed"
