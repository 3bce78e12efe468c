"""The schema of a tool as providers take it: one that allows the same, or more. Pure.

Who offers the tool checks what a call holds, against the schema it wrote: more may be allowed here.
No hosted model was asked: the rules are from documentation and from reports of refusals. At the top
an object with `properties`, without alternatives, `not`, `enum` or reference; arrays with `items`;
nothing that JSON Schema (2020-12) itself forbids; names that fit.
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
PASSES_MAX: Final = 8  # until no reference leads to what is gone; each takes some away
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
    for _ in range(PASSES_MAX):
        before, found = found, _valid(found, found)
        if found == before:
            return Fit(given if found == given else found, unfit)
    raise UnfitError("its references cannot be followed")


# --- what JSON Schema forbids ---------------------------------------------------------------------

_TYPES: Final = {"array", "boolean", "integer", "null", "number", "object", "string"}
_SCHEMA: Final = {"additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
                  "propertyNames", "then"}  # fmt: skip
_NAMED: Final = {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
_LISTED: Final = {"allOf", "anyOf", "oneOf", "prefixItems"}
_CONDITION: Final = {"else", "if", "then"}
#: Where more inside would allow less outside; these go where they cannot stay as they are, and
#: where they refer to what may be another.
_EXACT: Final = {"contains", "not", "oneOf", *_CONDITION}
#: They go, and more is allowed: what they mean depends on other keys, or on addresses.
_GONE: Final = {"additionalItems", "dependencies", "dependentRequired", "unevaluatedItems",
                "unevaluatedProperties"}  # fmt: skip


def _is_number(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return _is_number(value) and value >= 0 and value // 1 == value


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_type(value: Json) -> bool:
    kinds = value if isinstance(value, list) else [value]
    return bool(kinds) and len(_names(kinds)) == len(kinds) and all(k in _TYPES for k in kinds)


_CHECKS: Final[Mapping[str, Callable[[Json], bool]]] = {
    **dict.fromkeys(("maxContains", "maxItems", "maxLength", "maxProperties"), _is_count),
    **dict.fromkeys(("minContains", "minItems", "minLength", "minProperties"), _is_count),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("contentEncoding", "contentMediaType", "description"), _is_text),
    **dict.fromkeys(("format", "pattern", "title"), _is_text),
    **dict.fromkeys(
        ("deprecated", "readOnly", "uniqueItems", "writeOnly"), lambda v: isinstance(v, bool)
    ),
    "enum": lambda value: isinstance(value, list) and value != [],
    "examples": lambda value: isinstance(value, list),
    "required": lambda value: isinstance(value, list) and len(_names(value)) == len(value),
    "type": _is_type,
}


def _valid(node: Json, root: Mapping[str, Json], depth: int = 0) -> Schema:
    """Return a schema without what is forbidden, and without references that lead nowhere."""
    if not isinstance(node, Mapping) or depth > DEPTH_MAX:
        return {}
    found: Schema = {}
    for key, value in _modern(node).items():
        kept = _kept(key, value, root, depth)
        if kept is UNSET:
            continue
        if key not in _EXACT or (kept == value and "$ref" not in str(value)):
            found[key] = kept
        elif key == "oneOf" and "anyOf" not in node:
            found["anyOf"] = kept
    if not _CONDITION & node.keys() <= found.keys():
        found = {key: value for key, value in found.items() if key not in _CONDITION}
    kinds = _types(found)
    if "array" in kinds:
        found.setdefault("items", {})
    if "object" in kinds:
        found.setdefault("properties", {})
    return found


def _modern(node: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a schema of an older draft with its list of `items` under the newer name."""
    items = node.get("items")
    if not isinstance(items, list):
        return node
    rest = {key: value for key, value in node.items() if key != "items"}
    return rest | {"prefixItems": items, "items": node.get("additionalItems", {})}


def _kept(key: str, value: Json, root: Mapping[str, Json], depth: int) -> "Json | UnsetType":
    """Return the value that a key keeps, if any."""

    def inner(schema: Json) -> Json:
        return schema if schema is False else _valid(schema, root, depth + 1)

    if key in _SCHEMA:
        return value if value is True and key == "additionalProperties" else inner(value)
    if key in _NAMED:
        named = value.items() if isinstance(value, Mapping) else ()
        return {name: inner(schema) for name, schema in named if schema is not False}
    if key in _LISTED:
        listed: Sequence[Json] = value if isinstance(value, list) else ()
        if key == "prefixItems":  # their number counts
            return [_valid(schema, root, depth + 1) for schema in listed] or UNSET
        return [inner(schema) for schema in listed if schema is not False] or UNSET
    if key == "$ref":
        return value if isinstance(value, str) and _target(value, root) is not None else UNSET
    is_valid = _CHECKS.get(key, lambda _: key not in _GONE and not key.startswith("$"))
    return value if is_valid(value) else UNSET


def _types(node: Mapping[str, Json]) -> Sequence[Json]:
    kinds = node.get("type")
    return kinds if isinstance(kinds, list) else [kinds]


def _names(value: Json) -> list[str]:
    listed: Sequence[Json] = value if isinstance(value, list) else ()
    return list(dict.fromkeys(name for name in listed if isinstance(name, str)))


def _target(reference: str, root: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """Return the schema that a reference leads to; `None`: nothing here."""
    if not re.match(r"#(?:/|\Z)", reference):
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

_JOINED: Final = {"$ref", "allOf", "anyOf", "const", "enum", "not", "oneOf"}


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
        reference = node.get("$ref")
        target = _target(reference, self._root) if isinstance(reference, str) else None
        for part in (target or {}, *_schemas(node.get("allOf"))):
            _join(found, self.merged(part, depth + 1))
        for key in ("anyOf", "oneOf"):
            listed = _schemas(node.get(key))
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
