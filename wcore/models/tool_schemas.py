"""The schema of a tool as providers take it: one that allows the same, or more. Pure.

Who offers the tool checks what a call holds, against the schema it wrote: more may be allowed here.
No hosted model was asked: the rules are from documentation and from reports of refusals. At the top
an object with `properties`, without alternatives, `enum` or reference; arrays with `items`; nothing
that JSON Schema (2020-12) itself forbids; names that fit. Where a part that allows more would make
the whole allow less (`not`, `if`, `contains`, `oneOf`), the keyword goes, or `anyOf` stands for it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, TypeGuard
from urllib.parse import unquote

from msgspec import UNSET, Struct, UnsetType

from wcore.models.providers import ToolRules
from wcore.vocabulary import Json

DEPTH_MAX: Final = 16  # of schemas in one another; what is below may be anything
MERGED_MAX: Final = 1_000  # alternatives that are looked at; further ones may be anything
UNNAMEABLE: Final = "the provider does not take the names of some parameters"

Schema: TypeAlias = dict[str, Json]


class UnfitError(Exception):
    """The provider takes no such tool; the message says why."""


class Fit(Struct, frozen=True):
    """A schema to send. `without` are the optional parameters that it had to leave out."""

    schema: Mapping[str, Json]
    without: tuple[str, ...] = ()


def fit(given: Mapping[str, Json], rules: ToolRules) -> Fit:
    """Return the schema to send; the one that is given, if it is valid.

    Alternatives at the top are merged. Each is read as if it had no parameters but those that it
    names: then the merged one allows what any of them does.

    Raises:
        UnfitError: it cannot be written for this provider.
    """
    whole = _valid(given, given)
    found = _Merging(whole).merged(whole)
    properties, required = _properties(found), _required(found)
    properties |= {name: {} for name in required if name not in properties}
    pattern = re.compile(rules.parameter_names or r"(?s:.*)")
    unfit = tuple(name for name in properties if not pattern.fullmatch(name))
    if needed := [name for name in unfit if name in required]:
        raise UnfitError(f"{UNNAMEABLE} that it needs: {', '.join(needed)}")
    kept = {name: schema for name, schema in properties.items() if name not in unfit}
    found |= {"type": "object", "properties": kept}
    if unfit:
        found.pop("additionalProperties", None)
    if required:
        found["required"] = required
    found = _valid(found, found)  # references may have led to what has gone
    return Fit(given if found == given else found, unfit)


# --- what stays of a schema -----------------------------------------------------------------------

_TYPES: Final = {"array", "boolean", "integer", "null", "number", "object", "string"}
_SCHEMA: Final = {"additionalProperties", "items"}
_NAMED: Final = {"$defs", "definitions", "patternProperties", "properties"}
_LISTED: Final = {"allOf", "anyOf", "prefixItems"}


def _is_number(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return _is_number(value) and value >= 0 and value // 1 == value


def _is_type(value: Json) -> bool:
    kinds = value if isinstance(value, list) else [value]
    return bool(kinds) and len(_names(kinds)) == len(kinds) and all(k in _TYPES for k in kinds)


#: Of each other keyword that stays, what JSON Schema (2020-12) lets it be.
_CHECKS: Final[Mapping[str, Callable[[Json], bool]]] = {
    **dict.fromkeys(("maxItems", "maxLength", "maxProperties"), _is_count),
    **dict.fromkeys(("minItems", "minLength", "minProperties"), _is_count),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"), _is_number),
    **dict.fromkeys(("description", "format", "pattern", "title"), lambda v: isinstance(v, str)),
    **dict.fromkeys(("const", "default"), lambda _: True),
    "enum": lambda value: isinstance(value, list) and value != [],
    "examples": lambda value: isinstance(value, list),
    "required": lambda value: isinstance(value, list) and len(_names(value)) == len(value),
    "type": _is_type,
    "uniqueItems": lambda value: isinstance(value, bool),
}


def _valid(node: Json, root: Mapping[str, Json], depth: int = 0) -> Schema:
    """Return what stays of a schema, without references that lead nowhere."""
    if not isinstance(node, Mapping) or depth > DEPTH_MAX:
        return {}
    kept = {key: _kept(key, value, root, depth + 1) for key, value in _modern(node).items()}
    found: Schema = {key: value for key, value in kept.items() if value is not UNSET}
    kinds = _types(found)
    if "array" in kinds:
        found.setdefault("items", {})
    if "object" in kinds:
        found.setdefault("properties", {})
    return found


def _modern(node: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a schema with `anyOf` for `oneOf`, and the older drafts' list of `items` renamed."""
    found = dict(node)
    if "oneOf" in found:
        found.setdefault("anyOf", found.pop("oneOf"))
    if isinstance(found.get("items"), list):
        found |= {"prefixItems": found["items"], "items": found.get("additionalItems", {})}
    return found


def _kept(key: str, value: Json, root: Mapping[str, Json], depth: int) -> "Json | UnsetType":
    """Return the value that a key keeps, if any."""
    if key == "$ref":
        return value if _target(value, root) is not None else UNSET
    if key in _NAMED and isinstance(value, Mapping):
        return {name: _valid(schema, root, depth) for name, schema in value.items()}
    if key in _LISTED and isinstance(value, list):
        return [_valid(schema, root, depth) for schema in value] or UNSET
    if key in _SCHEMA:
        is_said = key == "additionalProperties" and isinstance(value, bool)
        return value if is_said else _valid(value, root, depth)
    return value if key in _CHECKS and _CHECKS[key](value) else UNSET


def _types(node: Mapping[str, Json]) -> Sequence[Json]:
    kinds = node.get("type")
    return kinds if isinstance(kinds, list) else [kinds]


def _names(value: Json) -> list[str]:
    listed: Sequence[Json] = value if isinstance(value, list) else ()
    return list(dict.fromkeys(name for name in listed if isinstance(name, str)))


def _target(reference: Json, root: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """Return the schema that a reference leads to; `None`: nothing here."""
    if not isinstance(reference, str) or not re.match(r"#(?:/|\Z)", reference):
        return None
    found: Json = root
    for part in reference.split("/")[1:]:
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(name)
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found if isinstance(found, Mapping) else None


# --- one object of many ---------------------------------------------------------------------------

_JOINED: Final = {"$ref", "allOf", "anyOf", "const", "enum"}


class _Merging:
    """Makes one schema of an object out of a reference and alternatives."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._left = MERGED_MAX

    def merged(self, node: Mapping[str, Json], depth: int = 0) -> Schema:
        self._left -= 1
        if depth > DEPTH_MAX or self._left < 0:
            return {}
        found = {key: value for key, value in node.items() if key not in _JOINED}
        target = _target(node.get("$ref"), self._root)
        for part in (target or {}, *_schemas(node.get("allOf"))):
            _join(found, self.merged(part, depth + 1))
        listed = _schemas(node.get("anyOf"))
        objects = [s for s in listed if "object" in _types(s) or "type" not in s]
        if objects:
            _join(found, _either([self.merged(schema, depth + 1) for schema in objects]))
        return found


def _join(found: Schema, part: Mapping[str, Json]) -> None:
    """Add what another schema demands as well; where both name a parameter, the first counts."""
    properties, required = _properties(part) | _properties(found), _required(found)
    required += [name for name in _required(part) if name not in required]
    if properties:
        found["properties"] = properties
    if required:
        found["required"] = required


def _either(branches: Sequence[Mapping[str, Json]]) -> Schema:
    """Return what one of several schemas demands."""
    properties: dict[str, Json] = {}
    for name in dict.fromkeys(name for branch in branches for name in _properties(branch)):
        named = [_properties(branch)[name] for branch in branches if name in _properties(branch)]
        unlike = [one for at, one in enumerate(named) if one not in named[:at]]
        properties[name] = unlike[0] if len(unlike) == 1 else {"anyOf": unlike}
    first, *others = map(_required, branches)
    required = [name for name in first if all(name in other for other in others)]
    return {"properties": properties, "required": required}


def _schemas(value: Json) -> list[Mapping[str, Json]]:
    listed = value if isinstance(value, list) else []
    return [schema for schema in listed if isinstance(schema, Mapping)]


def _properties(node: Mapping[str, Json]) -> dict[str, Json]:
    properties = node.get("properties")
    return dict(properties) if isinstance(properties, Mapping) else {}


def _required(node: Mapping[str, Json]) -> list[str]:
    return _names(node.get("required"))
