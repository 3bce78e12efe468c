"""Raw argument text of a model becomes a `ModelCall`: an object, or a problem in words.

Never raises: what a model sends is the world's fault, and the turn answers it as an error result.
"""

import json
from typing import Any, Final, cast

from pydantic_core import from_json

from wcore.visible import whole
from wcore.vocabulary import Args, ModelCall

CUT: Final = (
    "the reply met its output limit inside the arguments of this call, so that it was not made; "
    "send less at once: a shorter text, or parts of it in several calls"
)


def read_call(model_id: str, name: str, raw: str, *, is_last_of_cut: bool = False) -> ModelCall:
    """Return the call; blank text counts as no arguments (providers send it for those tools).

    `is_last_of_cut`: the reply was cut at its output limit, in this call if it is not whole.
    """
    model_id, name, raw = whole(model_id), whole(name), whole(raw)
    if is_last_of_cut and not raw.strip():
        return ModelCall(model_id, name, None, CUT)
    if not raw.strip():
        return ModelCall(model_id, name, {})
    try:
        value: Any = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        problem = CUT if is_last_of_cut else f"the arguments are not valid JSON: {error}"
        return ModelCall(model_id, name, None, problem)
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
