"""The bodies of records without secrets, and as JSON can say them. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence

from wcore.vocabulary import Json


def redacted(body: Mapping[str, Json], strip: Callable[[str], str]) -> dict[str, Json]:
    """Return `body` with every text stripped; what JSON cannot say becomes text."""
    return {strip(name): _clean(value, strip) for name, value in body.items()}


def _clean(value: Json, strip: Callable[[str], str]) -> Json:
    match value:
        case str():
            return strip(value)
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else str(value)  # JSON has no other numbers
        case dict() | Mapping():  # the first is quick to tell
            return redacted(value, strip)
        case list() | tuple() | Sequence():
            return [_clean(each, strip) for each in value]
