"""Whether an event is the one a step waits for, and if not, why not. Pure."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from wcore.conformance.json_object import JsonObject

MISSING: Final = object()
_SLOT: Final = re.compile(r"\{([a-z_][a-z0-9_]*(?:\.[A-Za-z0-9_]+)*)\}")
_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "bool": bool,
    "number": (int, float),
    "object": dict,
    "array": list,
}


def filled(value: Any, known: Mapping[str, Any]) -> Any:
    """Return `value` with every `{name.path}` whose first name is known replaced.

    A string that is nothing but one slot takes the value with its type. Unknown names stay.
    """
    if isinstance(value, str):
        if (whole := _SLOT.fullmatch(value)) and _root(whole[1]) in known:
            return found(known, whole[1])
        return _SLOT.sub(lambda slot: _text(slot, known), value)
    if isinstance(value, dict):
        table = cast("JsonObject", value)
        return {filled(k, known): filled(v, known) for k, v in table.items()}
    if isinstance(value, list):
        return [filled(item, known) for item in cast("list[Any]", value)]
    return value


def found(value: Any, path: str) -> Any:
    """Return what lies at `a.b.0.c` in `value`, or `MISSING`."""
    for part in path.split("."):
        if isinstance(value, Mapping) and part in value:
            value = cast("JsonObject", value)[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(cast("Any", value)):
            value = cast("list[Any]", value)[int(part)]
        else:
            return MISSING
    return value


def difference(event: JsonObject, step: JsonObject) -> str | None:
    """Return why `event` is not what `step` (`hear` and the matchers beside it) asks for."""
    pattern = step["hear"]
    wanted: JsonObject = {"type": pattern} if isinstance(pattern, str) else pattern
    if (why := _unlike(event, wanted, "")) is not None:
        return why
    for name, check in _CHECKS.items():
        given = step.get(name)
        if isinstance(given, list):
            reasons = [check(found(event, path), None) for path in cast("list[str]", given)]
            paths = cast("list[str]", given)
        else:
            table = cast("JsonObject", given or {})
            reasons = [check(found(event, path), want) for path, want in table.items()]
            paths = list(table)
        for path, reason in zip(paths, reasons, strict=True):
            if reason:
                return f"{path} {reason}"
    return None


def _unlike(actual: Any, wanted: Any, path: str) -> str | None:
    if isinstance(wanted, dict):
        table = cast("JsonObject", wanted)
        for key, want in table.items():
            if (why := _unlike(found(actual, key), want, f"{path}.{key}".strip("."))) is not None:
                return why
        return None if isinstance(actual, dict) else f"{path or 'it'} is no object"
    if actual is MISSING:
        return f"{path} is not there"
    same = type(actual) is type(wanted) or not isinstance(actual, bool | None)
    return None if same and actual == wanted else f"{path} is {actual!r}, not {wanted!r}"


def _root(path: str) -> str:
    return path.split(".", 1)[0]


def _text(slot: re.Match[str], known: Mapping[str, Any]) -> str:
    return str(found(known, slot[1])) if _root(slot[1]) in known else slot[0]


def _contains(actual: Any, want: Any) -> str | None:
    held = isinstance(actual, str | list | dict) and want in cast("Any", actual)
    return None if held else f"is {_shown(actual)}, which does not contain {want!r}"


def _begins(actual: Any, want: Any) -> str | None:
    held = isinstance(actual, str) and actual.startswith(want)
    return None if held else f"is {_shown(actual)}, which does not begin with {want!r}"


def _kind(actual: Any, want: Any) -> str | None:
    held = isinstance(actual, _KINDS[want]) and (want == "bool" or not isinstance(actual, bool))
    return None if held else f"is {_shown(actual)}, not of kind {want}"


def _size(actual: Any) -> float:
    return actual if isinstance(actual, int | float) else float("nan")


def _length(actual: Any) -> float:
    return len(cast("Any", actual)) if isinstance(actual, str | list | dict) else -1


def _shown(actual: Any) -> str:
    return "not there" if actual is MISSING else repr(actual)[:200]


_CHECKS: Final[Mapping[str, Callable[[Any, Any], str | None]]] = {
    "has": lambda actual, _: "is not there" if actual is MISSING else None,
    "lacks": lambda actual, _: None if actual is MISSING else "is there",
    "contains": _contains,
    "begins": _begins,
    "differs": lambda actual, want: f"is {want!r}" if actual == want else None,
    "one_of": lambda actual, want: None if actual in want else f"is {_shown(actual)}",
    "at_most": lambda actual, want: None if _size(actual) <= want else f"is {_shown(actual)}",
    "at_least": lambda actual, want: None if _size(actual) >= want else f"is {_shown(actual)}",
    "kinds": _kind,
    "longest": lambda actual, want: (
        None if 0 <= _length(actual) <= want else f"has a length of {_length(actual)}"
    ),
    "length": lambda actual, want: None if _length(actual) == want else f"is {_shown(actual)}",
}
