"""The channel as AsyncAPI 3 describes it: stdin, stdout, and what goes through them."""

import json
from collections.abc import Iterator
from typing import Any, Final

from spec.requirements import SPEC
from spec.schema import RESULT, title
from spec.words import Entry, entries, results
from wcore import __version__

PATH: Final = SPEC / "asyncapi.yaml"
HEAD: Final = "# Made from the code by tests/write_spec.py; not edited by hand.\n"
ABOUT: Final = (
    "A host runs the engine as a child process. Commands are lines on its stdin, events are lines"
    " on its stdout: one JSON object a line, UTF-8, at most 8 MiB. The log goes to stderr."
)
REPLIES: Final = {"ping": "pong", **dict.fromkeys(results(), RESULT)}


def document() -> dict[str, Any]:
    """Return the document, seen from the engine: it receives commands and sends events."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "wcore",
            "version": __version__,
            "description": ABOUT,
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {
            "child": {
                "host": "localhost",
                "protocol": "stdio",
                "description": "Pipes to a child process; nothing listens on a network.",
            }
        },
        "channels": {
            "stdin": _channel("commands", "Commands of the host, one a line."),
            "stdout": _channel("events", "Events of the engine, one a line."),
        },
        "operations": {**_asked(), "say": _operation("send", "stdout", entries("events"))},
        "components": {"messages": dict(_messages())},
    }


def _channel(side: str, says: str) -> dict[str, Any]:
    messages = {title(side, name): _at(side, name) for name in entries(side)}
    address = "stdin" if side == "commands" else "stdout"
    return {"address": address, "description": says, "messages": messages}


def _at(side: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/messages/{title(side, name)}"}


def _asked() -> dict[str, Any]:
    """Return the operations that receive: those with one answer name it."""
    plain = [name for name in entries("commands") if name not in REPLIES]
    made = {"obey": _operation("receive", "stdin", plain)}
    for name, reply in REPLIES.items():
        made[name] = {
            **_operation("receive", "stdin", [name]),
            "reply": {
                "channel": {"$ref": "#/channels/stdout"},
                "messages": [{"$ref": f"#/channels/stdout/messages/{title('events', reply)}"}],
            },
        }
    return made


def _operation(action: str, channel: str, names: Any) -> dict[str, Any]:
    side = "commands" if channel == "stdin" else "events"
    found = [{"$ref": f"#/channels/{channel}/messages/{title(side, name)}"} for name in names]
    return {"action": action, "channel": {"$ref": f"#/channels/{channel}"}, "messages": found}


def _messages() -> Iterator[tuple[str, dict[str, Any]]]:
    for side in ("commands", "events"):
        for name, words in entries(side).items():
            yield title(side, name), _message(side, name, words)


def _message(side: str, name: str, words: Entry) -> dict[str, Any]:
    return {
        "name": name,
        "summary": words.says,
        "payload": {"$ref": f"./schema/{side}/{name}.json"},
        "examples": [{"payload": words.example}],
    }


def text() -> str:
    """Return the document as YAML."""
    return HEAD + "\n".join(_yaml(document(), 0)) + "\n"


def _yaml(value: dict[str, Any], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for key, each in value.items():
        match each:
            case dict() if each and key != "payload":
                yield f"{indent}{key}:"
                yield from _yaml(each, depth + 1)  # pyright: ignore[reportUnknownArgumentType]
            case list() if key != "examples":
                yield f"{indent}{key}:"
                yield from (f"{indent}  - {_flow(item)}" for item in each)  # pyright: ignore[reportUnknownVariableType]
            case _:
                yield f"{indent}{key}: {_flow(each)}"


def _flow(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def write() -> None:
    """Write the document."""
    PATH.write_text(text())
