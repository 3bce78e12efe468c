"""What a server may ask a person for: a flat form. Checked by us, without the server's help.

Only what the protocol allows in a form is understood; no regular expression of a server is run.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from wcore.errors import ToolError
from wcore.visible import visible, visible_line
from wcore.vocabulary import Json

FIELDS_MAX: Final = 64  # of a form; nobody fills in more
SCHEMA_CHARS_MAX: Final = 64 * 1024  # of a form, as text
ANSWER_CHARS_MAX: Final = 64 * 1024  # of what a person writes
OPTIONS_MAX: Final = 20  # what a card can show
SHOWN_CHARS_MAX: Final = 80  # of a name in an error message

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "array": (list,),
}  # fmt: skip


def shown(schema: Mapping[str, Any]) -> Json:
    """Return the form for a card: nothing in it is invisible.

    Raises:
        ToolError: it is larger than a card can be, or no form.
    """
    if len(json.dumps(schema)) > SCHEMA_CHARS_MAX or len(_fields(schema)) > FIELDS_MAX:
        raise ToolError("the form is too large to be shown")
    return _visible(schema)


def options(schema: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return answers that can simply be picked; each label is a whole answer."""
    fields = _fields(schema)
    found = [{name: value} for name, each in fields.items() for value in _values(each)]
    if len(fields) != 1 or len(found) > OPTIONS_MAX:
        found = []
    defaults = {name: each["default"] for name, each in fields.items() if "default" in each}
    if not found and set(_required(schema)) <= set(defaults):
        found = [defaults]
    return [{"label": visible(json.dumps(each, ensure_ascii=False))} for each in found]


def read(schema: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return the answer `text`, a JSON object, with the form's defaults filled in.

    Raises:
        ToolError: it does not fit the form; says where.
    """
    if len(text) > ANSWER_CHARS_MAX:
        raise ToolError(f"the answer is longer than {ANSWER_CHARS_MAX} characters")
    try:
        given: object = json.loads(text)
    except (ValueError, RecursionError):
        raise ToolError("the answer must be a JSON object") from None
    if not isinstance(given, dict):
        raise ToolError("the answer must be a JSON object")
    fields = _fields(schema)
    answer = cast("dict[str, Any]", given)
    for name, value in answer.items():
        problem = _problem(fields[name], value) if name in fields else "is not in the form"
        if problem:
            raise ToolError(f"{_quoted(name)} {problem}")
    for name, each in fields.items():
        if name not in answer and "default" in each and not _problem(each, each["default"]):
            answer[name] = each["default"]
    for name in _required(schema):
        if name not in answer:
            raise ToolError(f"{_quoted(name)} is missing")
    return answer


def _problem(field: Mapping[str, Any], value: object) -> str:
    """Return what is wrong with a value, or nothing."""
    kinds = _KINDS.get(str(field.get("type", "string")))
    if kinds is None:
        return "is of a kind that forms do not have"
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds != (bool,)):
        return f"must be of type {field.get('type', 'string')}"
    if isinstance(value, str):
        problem = _out_of(field, len(value), "minLength", "maxLength", "characters")
    elif isinstance(value, list):
        items = cast("list[object]", value)
        problem = _out_of(field, len(items), "minItems", "maxItems", "choices")
        allowed = _values(_object(field.get("items")))
        if any(not isinstance(item, str) or item not in allowed for item in items):
            problem = f"must hold some of {_listed(allowed)}"
        return problem
    elif isinstance(value, int | float) and not isinstance(value, bool):
        problem = _out_of(field, value, "minimum", "maximum", "")
    else:
        problem = ""
    allowed = _values(field)
    if not problem and allowed and value not in allowed:
        problem = f"must be one of {_listed(allowed)}"
    return problem


def _out_of(field: Mapping[str, Any], size: float, least: str, most: str, unit: str) -> str:
    for key, wrong in ((least, float.__lt__), (most, float.__gt__)):
        limit = field.get(key)
        if isinstance(limit, int | float) and wrong(float(size), float(limit)):
            return f"must have {key} {limit:g} {unit}".rstrip()
    return ""


def _values(field: Mapping[str, Any]) -> list[Any]:
    """Return what a field may be, where it says so."""
    if field.get("type") == "boolean":
        return [True, False]
    if isinstance(field.get("enum"), list):
        return cast("list[Any]", field["enum"])
    listed = field.get("oneOf") or field.get("anyOf")
    choices = cast("Sequence[object]", listed) if isinstance(listed, list) else ()
    return [_object(each)["const"] for each in choices if "const" in _object(each)]


def _fields(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {name: _object(field) for name, field in _object(schema.get("properties")).items()}


def _required(schema: Mapping[str, Any]) -> list[str]:
    listed = schema.get("required")
    return [str(name) for name in cast("list[object]", listed)] if isinstance(listed, list) else []


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _visible(node: Any) -> Json:
    if isinstance(node, Mapping):
        pairs = cast("Mapping[str, Any]", node).items()
        return {visible(str(key)): _visible(value) for key, value in pairs}
    if isinstance(node, list):
        return [_visible(item) for item in cast("list[Any]", node)]
    return visible(node) if isinstance(node, str) else node


def _quoted(name: str) -> str:
    return f"`{visible_line(name, SHOWN_CHARS_MAX)}`"


def _listed(values: Sequence[object]) -> str:
    return visible_line(", ".join(map(str, values)), 4 * SHOWN_CHARS_MAX)
