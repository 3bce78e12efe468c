"""TypeScript types from the schema: one interface an object, one union a choice."""

import json
import textwrap
from typing import Any, Final

from spec.requirements import SPEC
from spec.schema import REF, Schema, bundle

PATH: Final = SPEC / "typescript" / "wcore.d.ts"
IN_HOST: Final = SPEC.parent / "hosts" / "typescript" / "src" / "protocol.ts"  # npm packs no links
WIDTH: Final = 100
HEAD: Final = """\
// The wcore protocol. Made from protocol-spec/schema by tests/write_spec.py; not edited by hand.
//
// A line that the engine writes is an Event, a line that it reads is a Command. Newer engines may
// send events and fields that are not listed here: ignore them.

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** The command with this `type`. */
export type CommandOf<T extends Command["type"]> = Extract<Command, { type: T }>;

/** The event with this `type`. */
export type EventOf<T extends Event["type"]> = Extract<Event, { type: T }>;
"""


def text() -> str:
    """Return the whole file."""
    defs: dict[str, Schema] = bundle()["$defs"]
    first = ("Command", "Event")
    order = [*first, *(name for name in defs if name not in first)]
    return "\n".join([HEAD, *(_declared(name, defs[name]) for name in order)])


def _declared(name: str, schema: Schema) -> str:
    comment = _comment(schema.get("description", ""), "")
    if "properties" not in schema:
        return f"{comment}export type {name} ={_alternatives(schema)};\n"
    must = schema.get("required", [])
    lines = [
        f"{_comment(each.get('description', ''), '  ')}  {key}{'' if key in must else '?'}:"
        f" {_type(each)};\n"
        for key, each in schema["properties"].items()
    ]
    return f"{comment}export interface {name} {{\n{''.join(lines)}}}\n"


def _comment(says: str, indent: str) -> str:
    if not says:
        return ""
    lines = textwrap.wrap(says, WIDTH - len(indent) - len("/**  */"))
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return f"{indent}/**\n" + "".join(f"{indent} * {line}\n" for line in lines) + f"{indent} */\n"


def _alternatives(schema: Schema) -> str:
    options = [_type(each) for each in schema.get("oneOf", [])] or _type(schema).split(" | ")
    flat = " " + " | ".join(options)
    if len(flat) < WIDTH // 2:
        return flat
    return "".join(f"\n  | {option}" for option in options)


def _type(schema: Schema) -> str:
    """Return the type of one field. A keyword that is not known here is a mistake of ours."""
    match schema:
        case {"$ref": str(ref)}:
            return ref.removeprefix(REF)
        case {"const": value}:
            return json.dumps(value)
        case {"enum": [*values]}:
            return " | ".join(json.dumps(value) for value in values)
        case {"anyOf": [*options]}:
            return " | ".join(_type(option) for option in options)
        case {"type": "array", "prefixItems": [*items]}:
            return f"[{', '.join(_type(item) for item in items)}]"
        case {"type": "array", "items": dict()}:
            return _many(_type(schema["items"]))
        case {"type": "object", "additionalProperties": dict()}:
            return f"{{ [key: string]: {_type(schema['additionalProperties'])} }}"
        case {"type": "object"}:
            return "JsonObject"
        case {"type": str(kind)}:
            return _PLAIN[kind]
        case _:
            assert set(schema) <= {"description"}, schema
            return "JsonValue"


def _many(item: str) -> str:
    return f"({item})[]" if " | " in item else f"{item}[]"


_PLAIN: Final[dict[Any, str]] = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def write() -> None:
    """Write the file, and the copy that is packed with the TypeScript host."""
    PATH.parent.mkdir(exist_ok=True)
    for path in (PATH, IN_HOST):
        path.write_text(text())
