"""What a foreign file holds, checked: an object, a list of texts, or an error with the place."""

from collections.abc import Mapping
from typing import Any, cast

from wcore.policy.importers.draft import ForeignError


def as_object(value: object, where: str) -> Mapping[str, Any]:
    """Return an object; nothing is an empty one.

    Raises:
        ForeignError: it is something else.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ForeignError(f"`{where}` is no object")
    return cast("dict[str, Any]", value)


def as_texts(value: object, where: str) -> list[str]:
    """Return a list of texts; nothing is an empty one, a text a list of one.

    Raises:
        ForeignError: it is something else.
    """
    if isinstance(value, str):
        return [value]
    found = cast("list[object]", value) if isinstance(value, list) else []
    texts = [each for each in found if isinstance(each, str)]
    if (value is not None and not isinstance(value, list)) or len(texts) < len(found):
        raise ForeignError(f"`{where}` is no list of texts")
    return texts


def literal_name(name: str) -> str:
    """Return the glob over names in which only `*` is a wildcard."""
    return name.replace("[", "[[]").replace("?", "[?]")
