"""JSON Schema 2020-12 of the wire, from the models and the words of `messages.toml`.

Objects stay open: hosts ignore fields they do not know, and so does the engine. A field that is
never `null` on the wire has no `null` in its type.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from spec.requirements import SPEC
from spec.words import Entry, entries, results
from wcore.protocol import commands, events
from wcore.vocabulary import MODE_ALIASES

Schema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
REF: Final = "#/$defs/"
SCOPES: Final[list[Schema]] = [
    {"enum": ["once", "always"], "type": "string"},
    {"$ref": f"{REF}PrefixScope"},
    {"$ref": f"{REF}PrefixesScope"},
    {"$ref": f"{REF}ExactScope"},
    {"$ref": f"{REF}PathScope"},
    {"$ref": f"{REF}ServerScope"},
    {"$ref": f"{REF}HostScope"},
]
ANY: Final = "JsonValue"
RESULT: Final = "command_result"
FAILED: Final = "FailedResult"


@cache
def bundle() -> Schema:
    """Return the schema of every message; `$defs` has `Command`, `Event` and all their parts."""
    defs = {**_parts(), **_messages("events"), **_results(), **_messages("commands")}
    defs = {name: _scoped(each) for name, each in defs.items()}
    defs["Scope"] = {"title": "Scope", "description": "How far a yes reaches.", "anyOf": SCOPES}
    defs["Command"] = _union("commands", "Command", "What a host may say.")
    defs["Event"] = _union("events", "Event", "What the engine says.")
    return {
        "$schema": DIALECT,
        "$id": "urn:wcore:schema",
        "title": "The wcore protocol",
        "description": "A line on stdin is a Command, a line on stdout an Event.",
        "anyOf": [{"$ref": f"{REF}Command"}, {"$ref": f"{REF}Event"}],
        "$defs": dict(sorted(defs.items())),
    }


def files() -> dict[str, str]:
    """Return every file of `schema/` by its path below it."""
    found = {"wcore.schema.json": _text(bundle())}
    for side in ("commands", "events"):
        for name in entries(side):
            found[f"{side}/{name}.json"] = _text(single(side, name))
    return found


def single(side: str, name: str) -> Schema:
    """Return the schema of one message, with the parts it needs and no others."""
    defs: dict[str, Schema] = bundle()["$defs"]
    root = title(side, name)
    head = {"$schema": DIALECT, "$id": f"urn:wcore:{side}:{name}", "title": root}
    inside = {key: defs[key] for key in sorted(_reached(defs[root], defs))}
    return {**head, **defs[root], **({"$defs": inside} if inside else {})}


def title(side: str, name: str) -> str:
    """Return the name of a message's definition: `tool_approve` is `ToolApproveCommand`."""
    ending = side.removesuffix("s")
    return camel(name.removesuffix(f"_{ending}")) + camel(ending)


def camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _text(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _union(side: str, name: str, says: str) -> Schema:
    members = [{"$ref": REF + title(side, each)} for each in entries(side)]
    return {"title": name, "description": says, "oneOf": members}


def _scoped(value: Any) -> Any:
    """Return `value` with the union of scopes under its name."""
    match value:
        case {"anyOf": [*options], **rest} if options[: len(SCOPES)] == SCOPES:
            left = options[len(SCOPES) :]
            named = {"$ref": f"{REF}Scope"}
            return {**({"anyOf": [named, *left]} if left else named), **rest}
        case dict():
            return {key: _scoped(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case list():
            return [_scoped(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


# --- from the models ------------------------------------------------------------------------------


@cache
def models(side: str) -> dict[str, Schema]:
    """Return pydantic's definitions for one side, normalised; messages under their class name."""
    if side == "commands":
        made = TypeAdapter(commands.AnyCommand).json_schema(mode="validation")
    else:
        _, made = models_json_schema([(kind, "serialization") for kind in events.KINDS])
    defs: dict[str, Schema] = made["$defs"]
    refs = {
        name: REF + title(side, each["properties"]["type"]["const"])
        for name, each in defs.items()
        if "type" in each.get("properties", {})
    }
    return {name: _tidy(_mended(each, refs), side) for name, each in defs.items()}


def _mended(value: Any, refs: dict[str, str]) -> Any:
    """Return `value` with messages under their titles, and any JSON as the empty schema."""
    match value:
        case {"$ref": str(ref), **rest}:
            name = ref.removeprefix(REF)
            return rest if name == ANY else {"$ref": refs.get(name, ref), **rest}
        case dict():
            mended: Schema = {key: _mended(each, refs) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
            if mended.get("additionalProperties") in (True, False, {}):
                del mended["additionalProperties"]
            return mended
        case list():
            return [_mended(each, refs) for each in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


def _tidy(schema: Schema, side: str) -> Schema:
    """Drop what is pydantic's own; make optional mean what it means on the wire."""
    if "properties" not in schema:
        return {key: value for key, value in schema.items() if key != "description"}
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for name, given in schema["properties"].items():
        optional = {"type": "null"} in given.get("anyOf", [])
        is_event = side == "events"
        properties[name] = _bare(given, keep_null=not is_event)
        if name == "type" or (not optional if is_event else name in schema.get("required", [])):
            required.append(name)
    tidied = {"title": schema["title"], "type": "object", "properties": properties}
    return {**tidied, "required": required} if required else tidied


def _bare(schema: Schema, *, keep_null: bool) -> Schema:
    kept = {key: value for key, value in schema.items() if key not in ("title", "default")}
    if "anyOf" in kept and not keep_null:
        options = [each for each in kept["anyOf"] if each != {"type": "null"}]
        rest = {key: value for key, value in kept.items() if key != "anyOf"}
        kept = {**rest, **(options[0] if len(options) == 1 else {"anyOf": options})}
    return kept


def _parts() -> dict[str, Schema]:
    """Return the objects and enumerations inside messages; shared ones as commands take them."""
    both = {**models("events"), **models("commands")}
    return {name: _worded(both[name], words) for name, words in entries("parts").items()}


def _messages(side: str) -> dict[str, Schema]:
    made = {each["properties"]["type"]["const"]: each for each in _typed(side)}
    return {
        title(side, name): {**_worded(made[name], words), "title": title(side, name)}
        for name, words in entries(side).items()
    }


def _typed(side: str) -> Iterator[Schema]:
    return (each for each in models(side).values() if "type" in each.get("properties", {}))


def _worded(schema: Schema, words: Entry) -> Schema:
    """Return `schema` with the words, and with the values that the type leaves open."""
    worded: Schema = {"title": schema.get("title", words.name), "description": words.says}
    worded.update({key: value for key, value in schema.items() if key != "title"})
    properties: dict[str, Schema] = {}
    for name, given in schema.get("properties", {}).items():
        field = words.fields.get(name)
        text = {} if field is None else {"description": field.says}
        values = {"enum": list(field.values)} if field and field.values else {}
        if words.name == "set_mode" and name == "mode":
            values = {"enum": list(MODE_ALIASES)}
        properties[name] = {**given, **values, **text}
    return {**worded, "properties": properties} if properties else worded


# --- command_result: one shape for each command ---------------------------------------------------


def _results() -> dict[str, Schema]:
    """Return `command_result` as a union: each command's own success, and failure."""
    whole = _messages("events")[title("events", RESULT)]
    made = {_result_title(name): _success(whole, name, carries) for name, carries in _carried()}
    failed = _variant(whole, ("error",), {"ok": {"const": False, "type": "boolean"}})
    failed["properties"]["command"]["enum"] = list(results())
    made[FAILED] = {**failed, "title": FAILED}
    made[title("events", RESULT)] = {
        "title": whole["title"],
        "description": whole["description"],
        "oneOf": [{"$ref": REF + name} for name in made],
    }
    return made


def _carried() -> Iterator[tuple[str, tuple[str, ...]]]:
    return iter(results().items())


def _result_title(name: str) -> str:
    return camel(name) + "Result"


def _success(whole: Schema, name: str, carries: tuple[str, ...]) -> Schema:
    fixed = {
        "command": {"const": name, "type": "string"},
        "ok": {"const": True, "type": "boolean"},
    }
    return {**_variant(whole, carries, fixed), "title": _result_title(name)}


def _variant(whole: Schema, carries: tuple[str, ...], fixed: dict[str, Schema]) -> Schema:
    names = ["type", "request_id", "command", "ok", *(name.rstrip("?") for name in carries)]
    properties = {name: {**whole["properties"][name], **fixed.get(name, {})} for name in names}
    must = ["type", "command", "ok", *(name for name in carries if not name.endswith("?"))]
    return {"type": "object", "properties": properties, "required": must}


# --- one file a message ---------------------------------------------------------------------------


def _reached(schema: Schema, defs: dict[str, Schema]) -> set[str]:
    """Return the names of all definitions that `schema` needs."""
    found: set[str] = set()
    left = [schema]
    while left:
        for name in re.findall(rf'"{re.escape(REF)}(\w+)"', json.dumps(left.pop())):
            if name not in found:
                found.add(name)
                left.append(defs[name])
    return found


def write() -> None:
    """Write `schema/`; files that no message has any more go."""
    folder = SPEC / "schema"
    made = files()
    for old in folder.rglob("*.json"):
        if str(old.relative_to(folder)) not in made:
            old.unlink()
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
