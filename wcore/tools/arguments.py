"""From the model's JSON to checked values, or one sentence the model can learn from.

Each tool declares its arguments as a small frozen model; the JSON Schema shown to the language
model is made from the same model, so the two cannot drift apart.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Final, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from wcore.errors import ToolError
from wcore.visible import visible_line
from wcore.vocabulary import Args, Json

PROBLEMS_MAX: Final = 3  # one sentence, not a report
PLACE_CHARS_MAX: Final = 80  # the model chose the field name it is told about


class Arguments(BaseModel):
    """Base of every tool's arguments: no unknown fields; `2.0`, `"2"` and `"true"` are read."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


FilePath = Annotated[
    str, Field(min_length=1, description="The file: absolute, or relative to the workspace.")
]
A = TypeVar("A", bound=Arguments)


def parse(tool: str, model: type[A], args: Args) -> tuple[A, Args]:
    """Check `args` against `model`; return what was read, and the arguments that say just that.

    A top-level `null` counts as absent. Only the second is ever shown and approved.

    Raises:
        ToolError: they do not fit; says which field and what is allowed.
    """
    given = {name: value for name, value in args.items() if value is not None}
    try:
        read = model.model_validate_json(canonical(given))
    except ValidationError as error:
        problems = "; ".join(_sentences(error))
        allowed = ", ".join(model.model_fields)
        raise ToolError(
            f"bad arguments for {tool}: {problems} (arguments are: {allowed})"
        ) from None
    return read, {**args, **read.model_dump(mode="json", exclude_unset=True)}


def canonical(value: object) -> str:
    """One JSON text per value: keys sorted, ASCII only.

    Raises:
        ToolError: nested too deeply, or not JSON.
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)
    except (RecursionError, TypeError, ValueError):
        raise ToolError("the arguments are nested too deeply or are not JSON") from None


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    raise TypeError


def _sentences(error: ValidationError) -> list[str]:
    return [
        _sentence(problem["type"], problem["loc"], problem["msg"])
        for problem in error.errors(include_url=False, include_input=False)[:PROBLEMS_MAX]
    ]


def _sentence(kind: str, loc: tuple[int | str, ...], message: str) -> str:
    place = visible_line(".".join(map(str, loc)), PLACE_CHARS_MAX)
    match kind:
        case "missing":
            return f"`{place}` is missing"
        case "extra_forbidden":
            return f"`{place}` is not an argument of this tool"
        case "json_invalid":
            return "a text is not valid Unicode"
        case _:
            return f"`{place}`: {message.removeprefix('Value error, ')}"


class _Untitled(GenerateJsonSchema):
    """Field titles repeat field names and cost the model tokens."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


@cache
def schema_of(model: type[Arguments]) -> Mapping[str, Json]:
    """Return the JSON Schema of `model`, without titles and references; it takes 1 ms to make."""
    made = model.model_json_schema(schema_generator=_Untitled)
    definitions = cast("dict[str, Json]", made.pop("$defs", {}))
    return cast("Mapping[str, Json]", _inlined(made, definitions))


def _inlined(node: Json, definitions: Mapping[str, Json]) -> Json:
    """Replace `$ref`: not every provider follows references. Our models are not recursive."""
    if isinstance(node, Mapping):
        target = node.get("$ref")
        if isinstance(target, str):
            return _inlined(definitions[target.rsplit("/", 1)[-1]], definitions)
        return {
            key: _inlined(value, definitions)
            for key, value in node.items()
            if not (key == "title" and isinstance(value, str))
        }
    if isinstance(node, (list, tuple)):
        return [_inlined(item, definitions) for item in node]
    return node
