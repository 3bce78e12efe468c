"""One line, one model: the only place that reads or writes the wire's JSON.

Nothing a host sends makes `decode` raise: what it cannot read comes back as `Malformed`, to be
answered once. What we send is one line of valid UTF-8, or `encode` refuses it whole.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from msgspec import Struct
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, PydanticSerializationError, from_json, to_json

from wcore.errors import WcoreError
from wcore.protocol.commands import FREE_TEXT, AnyCommand
from wcore.protocol.events import KINDS, Event
from wcore.protocol.lines import LINE_BYTES_MAX
from wcore.protocol.scopes import SCOPE_FORMS
from wcore.visible import visible_line, whole

ECHO_BYTES_MAX: Final = 120  # enough to recognise a line, too little to flood a log
MESSAGE_CHARS_MAX: Final = 160  # pydantic's own words can quote the input

_COMMANDS: Final[TypeAdapter[AnyCommand]] = TypeAdapter(
    AnyCommand,
    config=ConfigDict(defer_build=True),  # 12 ms that `ready` need not wait for
)


class Malformed(Struct, frozen=True):
    """A line that is no command; `message` says what is wrong, where, and how it began."""

    message: str


class EventTooLargeError(WcoreError):
    """An event would pass `LINE_BYTES_MAX`; nothing of it was sent."""


def decode(line: bytes) -> AnyCommand | Malformed:
    """Return the command in `line`, or what is wrong with it.

    Half a character in free text, where a host has cut a text, becomes U+FFFD.
    """
    command = _decode(line)
    if not isinstance(command, Malformed) or not (mended := _mended(line)):
        return command
    again = _decode(mended)
    return command if isinstance(again, Malformed) else again


def _decode(line: bytes) -> AnyCommand | Malformed:
    try:
        command = _COMMANDS.validate_json(line)
        if b"NaN" in line or b"Infinity" in line:  # rare words, so parsed again only then
            from_json(line, allow_inf_nan=False)
        return command
    except ValueError as error:
        if not isinstance(error, ValidationError):
            return Malformed(f"not JSON: NaN or Infinity; line begins: {echo(line)}")
        first = error.errors(include_url=False, include_context=True)[0]
        return Malformed(f"{_complaint(first)}; line begins: {echo(line)}")


def _mended(line: bytes) -> bytes:
    """Return `line` with the lone surrogates of its free text replaced; empty if it has none there.

    Others have no UTF-8 form, so that nothing comes of a line that has some elsewhere as well.
    """
    try:
        command = json.loads(line.decode("utf-8", "surrogatepass"), parse_constant=_refuse)
        field = FREE_TEXT[command["type"]]
        text = command[field]
        command[field] = _without_surrogates(text)
        return b"" if command[field] == text else json.dumps(command, ensure_ascii=False).encode()
    except (ValueError, LookupError, TypeError, RecursionError):  # it is no command at all
        return b""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def encode(event: Event) -> bytes:
    """Return `event` as one line. Lone surrogates become U+FFFD; they have no UTF-8 form.

    Raises:
        EventTooLargeError: the line would be longer than `LINE_BYTES_MAX`.
    """
    try:
        body = event.__pydantic_serializer__.to_json(event, exclude_none=True)
    except (PydanticSerializationError, UnicodeEncodeError):
        plain = _without_surrogates(event.model_dump(exclude_none=True))
        body = to_json(plain, inf_nan_mode="null")
    if len(body) >= LINE_BYTES_MAX:
        raise EventTooLargeError(f"the line would have {len(body) + 1} bytes")
    return body + b"\n"


def warm() -> Iterator[None]:
    """Build what reads commands, then what encodes each event; else its first use does.

    The first step takes some ten milliseconds, each other one.

    Not for a thread: pydantic takes a model apart to build it.
    """
    _COMMANDS.rebuild()
    yield
    for kind in KINDS:
        kind.model_rebuild()
        yield


def echo(line: bytes) -> str:
    """Return the beginning of `line`, safe to show, at most `ECHO_BYTES_MAX` bytes."""
    shown = visible_line(line[:ECHO_BYTES_MAX].decode("utf-8", "replace"), ECHO_BYTES_MAX)
    while len(shown.encode("utf-8")) > ECHO_BYTES_MAX:
        shown = shown[:-2] + "…"
    return shown


def _complaint(error: ErrorDetails) -> str:
    where = ".".join(str(part) for part in error["loc"][:2])
    match error["type"]:
        case "json_invalid":
            text = f"not JSON: {error['msg'].removeprefix('Invalid JSON: ')}"
        case "dict_type" | "model_attributes_type" if not where:
            text = "not a JSON object"
        case "union_tag_not_found":
            text = "`type` is missing"
        case "union_tag_invalid" if not isinstance(_type_of(error), str):
            text = "`type` is not a string"
        case "union_tag_invalid":
            text = f"unknown command type {visible_line(str(_type_of(error)), 40)!r}"
        case _ if where.endswith(".scope"):
            text = f"{where} is none of {', '.join(SCOPE_FORMS)}"
        case "string_pattern_mismatch":
            text = f"{where} has a control character"
        case "missing":
            text = f"{where} is required"
        case _:
            text = f"{where}: {error['msg'].removeprefix('Value error, ')}"
    return visible_line(text, MESSAGE_CHARS_MAX)


def _type_of(error: ErrorDetails) -> object:
    value: Any = error["input"]
    return value.get("type") if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]


def _without_surrogates(value: Any) -> Any:
    match value:
        case str():
            return whole(value)
        case dict():
            return {  # pyright: ignore[reportUnknownVariableType]
                _without_surrogates(key): _without_surrogates(each)
                for key, each in value.items()  # pyright: ignore[reportUnknownVariableType]
            }
        case list() | tuple():
            return [_without_surrogates(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value
