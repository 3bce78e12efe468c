"""Holds real lines against the published schema, closed: what is not written down is wrong."""

import json
from functools import cache
from typing import Any, Final

import jsonschema_rs

from spec.requirements import SPEC
from spec.schema import REF, title
from wcore.protocol.commands import FREE_TEXT

COMPLAINT_CHARS_MAX: Final = 500  # it quotes the message
BUNDLE: Final = SPEC / "schema" / "wcore.schema.json"


def complaint(side: str, message: dict[str, Any]) -> str:
    """Return what the schema has against a message of `commands` or `events`; "" if nothing."""
    if side == "commands":
        message = mended(message)
    name = title(side, str(message.get("type")))
    if name not in _definitions(side):
        return f"{message.get('type')} is not in the schema"
    try:
        _validator(side, name).validate(message)
    except jsonschema_rs.ValidationError as error:
        return f"{message['type']}: {error.message[:COMPLAINT_CHARS_MAX]} at {error.instance_path}"
    except UnicodeEncodeError:
        return f"{message['type']}: a lone surrogate"
    return ""


def mended(command: dict[str, Any]) -> dict[str, Any]:
    """Return a command with its free text as an engine takes it: lone surrogates are replaced."""
    field = FREE_TEXT.get(str(command.get("type")), "")
    if field not in command:
        return command
    text = json.dumps(command[field], ensure_ascii=False)
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return {**command, field: json.loads(whole)}


@cache
def _validator(side: str, name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"$ref": REF + name, "$defs": _definitions(side)})


@cache
def _definitions(side: str) -> dict[str, Any]:
    """Return the definitions; events closed, because an engine sends only what is written down."""
    defs: dict[str, Any] = json.loads(BUNDLE.read_text())["$defs"]
    return defs if side == "commands" else {name: _closed(each) for name, each in defs.items()}


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "additionalProperties": False} if "properties" in schema else schema
