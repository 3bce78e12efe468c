"""A JSON object as the judge reads it; what it holds is checked where it is used."""

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
