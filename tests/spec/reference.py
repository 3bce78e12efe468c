"""The reference pages: every message and object with its fields, from schema and words."""

import json
from collections.abc import Iterator
from typing import Any, Final

from spec.schema import REF, RESULT, Schema, bundle, title
from spec.words import Entry, Field, entries, results

OBJECTS: Final = "events.md"  # where the objects inside messages are described
EXAMPLE_WIDTH: Final = 100


def messages(side: str) -> str:
    """Return all messages of one side as sections."""
    return "\n".join(_message(side, words) for words in entries(side).values())


def objects() -> str:
    """Return the objects and enumerations inside messages as sections."""
    defs = bundle()["$defs"]
    scope = f"### `Scope`\n\n{defs['Scope']['description']} {_type(defs['Scope'])}.\n"
    return "\n".join([*(_object(words) for words in entries("parts").values()), scope])


def contents(side: str) -> str:
    """Return one line a message: what it is for."""
    page = f"{side}.md"
    answered = side == "commands"
    head = ["| command | what it does | answer |", "|---|---|---|"]
    rows = [
        f"| [`{name}`]({page}#{name}) | {words.says} |{f' {words.answer} |' if answered else ''}"
        for name, words in entries(side).items()
    ]
    return "\n".join([*(head if answered else ["| event | what it says |", "|---|---|"]), *rows])


def carried() -> str:
    """Return what the result of each introspection command carries."""
    rows = [f"| `{name}` | {_names(fields) or 'nothing more'} |" for name, fields in _carried()]
    return "\n".join(["| command | its result has |", "|---|---|", *rows]) + "\n"


def _carried() -> Iterator[tuple[str, tuple[str, ...]]]:
    return iter(results().items())


def _names(fields: tuple[str, ...]) -> str:
    return ", ".join(f"`{name.rstrip('?')}`{'?' if name.endswith('?') else ''}" for name in fields)


def _message(side: str, words: Entry) -> str:
    answer = f" *Answer:* {words.answer}." if words.answer else ""
    parts = [f"### `{words.name}`\n", f"{words.says}{answer}\n"]
    parts += _fields(_properties(side, words.name), words)
    example = json.dumps(words.example, ensure_ascii=False, separators=(",", ":"))
    parts.append(f"```json\n{example}\n```\n")
    return "\n".join(parts)


def _properties(side: str, name: str) -> Schema:
    """Return the fields of a message and which are required; of a union, those of all members."""
    defs: dict[str, Schema] = bundle()["$defs"]
    made = defs[title(side, name)]
    if name != RESULT:
        return made
    members = [defs[each["$ref"].removeprefix(REF)] for each in made["oneOf"]]
    properties = {key: value for each in members for key, value in each["properties"].items()}
    properties["ok"] = {"type": "boolean"}
    properties["command"] = {"type": "string"}
    return {"properties": properties, "required": ["command", "ok"]}


def _object(words: Entry) -> str:
    schema: Schema = bundle()["$defs"][words.name]
    parts = [f"### `{words.name}`\n", f"{words.says}\n"]
    if words.values:
        rows = [f"| `{value}` | {says} |" for value, says in words.values.items()]
        parts.append("\n".join(["| value | meaning |", "|---|---|", *rows]) + "\n")
    else:
        parts += _fields(schema, words)
    return "\n".join(parts)


def _fields(schema: Schema, words: Entry) -> Iterator[str]:
    must = schema.get("required", [])
    rows = [
        f"| `{name}` | {_type(schema['properties'][name])} | {_presence(name in must, field)} |"
        f" {field.says} |"
        for name, field in words.fields.items()
    ]
    if rows:
        head = ["| field | type | there | meaning |", "|---|---|---|---|"]
        yield "\n".join([*head, *rows]).replace("\\|", "|").replace("¦", "\\|") + "\n"


def _presence(must: bool, field: Field) -> str:
    if must:
        return "always"
    return f"or {field.default}" if field.default else "maybe"


def _type(schema: Schema) -> str:
    """Return a type as people read it; `¦` stands for a bar that must not end a table cell."""
    match schema:
        case {"$ref": str(ref)}:
            name = ref.removeprefix(REF)
            return f"[{name}]({OBJECTS}#{name.lower()})" if name in _described() else f"`{name}`"
        case {"const": value}:
            return f"`{json.dumps(value)}`"
        case {"enum": [*values]}:
            return " ¦ ".join(f"`{json.dumps(value)}`" for value in values)
        case {"anyOf": [*options]}:
            return " ¦ ".join(_type(each) for each in options if each != {"type": "null"})
        case {"prefixItems": [*items]}:
            return f"[{', '.join(_type(item) for item in items)}]"
        case {"type": "array"}:
            return f"array of {_type(schema['items'])}"
        case {"pattern": _}:
            return "id"
        case {"type": "integer", "minimum": least}:
            return f"integer from {least}"
        case {"type": str(kind)}:
            return kind
        case _:
            return "any JSON"


def _described() -> set[str]:
    return {*entries("parts"), "Scope"}


def requirement_line(each: Any) -> str:
    """Return one requirement as the documents print it."""
    flag = f", flag `{each.capability}`" if each.capability else ""
    flag += f", part {each.part}" if each.part else ""
    anchor = f'<a id="{each.id.lower()}"></a>'
    return f"- {anchor}**{each.id}** {each.level} ({each.side}{flag}): {each.text}"
