"""Lines a hostile host sends: commands made from the published schema, and what is left of them.

Pure: a `Random` in, bytes out. What a line should be answered with is `judged` by the schema.
"""

import json
from functools import cache
from random import Random
from typing import Any, Final, cast

from spec.requirements import SPEC
from spec.validating import complaint, mended

Command = dict[str, Any]

DEPTH: Final = 100_000  # deeper than any reader of JSON goes
LINE_BYTES: Final = 8 * 1024 * 1024  # what the specification lets an engine refuse
WORDS: Final = (
    *("main", "general", "Bash", "Read", "Write", "touch ", ".", "..", "/", "~/x", "m1", "r1"),
    *("", " ", "\u0000", "\u202eabc", "\U0001f600", "é" * 40, "x" * 300, "{}", "null", '"\\n'),
)
PIECES: Final = (
    *(b"\xff\xfe", b"\xc3(", b"\xed\xa0\x80", b"\x00", b"\x1b[2J", b'"', b"\\", b"{", b"}", b"["),
    *(b"]", b":", b",", b"NaN", b"-0", b"null", b"true", b"\\ud800", b"\r", b"\xef\xbb\xbf"),
)
JUNK: Final[tuple[Any, ...]] = (None, True, -1, 0, 1.5, 2**40, "", "x" * 129, "a\nb", [], {}, [[]])


@cache
def definitions() -> dict[str, Any]:
    """Return the definitions of the published schema."""
    return json.loads((SPEC / "schema" / "wcore.schema.json").read_text())["$defs"]


@cache
def commands() -> tuple[str, ...]:
    """Return the names of the schemas of all commands."""
    names = {name for name in definitions() if name.endswith("Command")}
    return tuple(sorted(names - {"Command"}))


def made(schema: dict[str, Any], chance: Random) -> Any:
    """Return a value that fits a schema, most of the time."""
    if "$ref" in schema:
        return made(definitions()[schema["$ref"].rpartition("/")[2]], chance)
    if "anyOf" in schema:
        return made(chance.choice(schema["anyOf"]), chance)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return chance.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return _object(schema, chance)
        case "array":
            return [made(schema["items"], chance) for _ in range(chance.randrange(4))]
        case "integer":
            return chance.choice((schema.get("minimum", 0), 7, schema.get("maximum", 99)))
        case "boolean":
            return chance.random() < 0.5
        case "null":
            return None
        case _:
            return chance.choice(WORDS)


def _object(schema: dict[str, Any], chance: Random) -> Command:
    required = schema.get("required", ())
    return {
        name: made(each, chance)
        for name, each in schema.get("properties", {}).items()
        if name in required or chance.random() < 0.5
    }


def mutated(command: Command, chance: Random) -> bytes:
    """Return a line (without its end) made of a command, and broken, perhaps."""
    line = json.dumps(command, ensure_ascii=chance.random() < 0.5).encode()
    match chance.randrange(8):
        case 0:
            return json.dumps({**command, chance.choice([*command]): chance.choice(JUNK)}).encode()
        case 1:
            gone = chance.choice([*command])
            return json.dumps({k: v for k, v in command.items() if k != gone}).encode()
        case 2:
            return line[: chance.randrange(len(line))]
        case 3:
            return b'{"type":"ping","deep":' + b"[" * DEPTH + b"]" * DEPTH + b"}"
        case 4:
            return json.dumps(chance.choice((JUNK, "ping", 1, [command]))).encode()
        case 5:
            return line[:-1] + b',"unknown":' + json.dumps(chance.choice(WORDS)).encode() + b"}"
        case _:
            for _ in range(chance.randint(1, 3)):
                at = chance.randrange(len(line) + 1)
                line = line[:at] + chance.choice(PIECES) + line[at + chance.randrange(2) :]
            return line.replace(b"\n", b" ")


def judged(line: bytes, end: bytes = b"\n") -> Command | None:
    """Return the command that a line is by the specification; `None` if it is none."""
    if len(line + end) > LINE_BYTES:
        return None
    try:
        found: Any = json.loads(line.decode("utf-8", "surrogatepass"), parse_constant=_refuse)
        if isinstance(found, dict):
            found = mended(cast("Command", found))
        json.dumps(found, ensure_ascii=False).encode()  # finds other lone surrogates
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    command = cast("Command", found)
    return None if complaint("commands", command) else command


def _refuse(text: str) -> float:
    raise ValueError(text)
