"""A JSON object of a case or an engine; what it holds is checked where it is used."""

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
