"""Raw argument text of a model becomes a `ModelCall`: an object, or a problem in words.

Never raises: what a model sends is the world's fault, and the turn answers it as an error result.
"""

import json
from typing import Any, cast

from pydantic_core import from_json

from wcore.vocabulary import Args, ModelCall


def read_call(model_id: str, name: str, raw: str) -> ModelCall:
    """Return the call; blank text counts as no arguments (providers send it for those tools)."""
    if not raw.strip():
        return ModelCall(model_id, name, {})
    try:
        value: Any = from_json(raw, allow_inf_nan=False)
    except (ValueError, TypeError) as error:  # TypeError: a lone surrogate in the text
        return ModelCall(model_id, name, None, f"the arguments are not valid JSON: {error}")
    if not isinstance(value, dict):
        return ModelCall(model_id, name, None, "the arguments are not a JSON object")
    args = cast("Args", value)
    if not is_finite(args):
        return ModelCall(model_id, name, None, "the arguments hold a number out of range")
    return ModelCall(model_id, name, args)


def is_finite(args: Args) -> bool:
    """Tell whether every number is one that JSON can carry on; `1e999` parses to infinity."""
    try:
        json.dumps(args, allow_nan=False)
    except ValueError:
        return False
    return True
