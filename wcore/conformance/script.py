"""What the model says in a case: the items of a reply, unfolded. Pure."""

import json
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from wcore.conformance.json_object import JsonObject

#: Items of a reply; `protocol-spec/script-format.md` has the manual.
ITEMS: Final = frozenset("text thinking call error stall stall_ms finish usage".split())
STATUS_OF: Final = {
    "auth_required": 401,
    "auth_invalid": 401,
    "context_overflow": 400,
    "provider_error": 400,
}
RETRYABLE_STATUS: Final = 503
PAD: Final = "{pad}"  # in the arguments of a call that has `pad`: that many times the letter x


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `id` is the model's own, `raw` the arguments as text."""

    id: str
    name: str
    raw: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The provider answers with an HTTP error instead."""

    status: int
    message: str
    code: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing for a while; `for_s` None: until the engine goes away."""

    for_s: float | None


Piece: TypeAlias = Text | Thought | Call | Pause


@dataclass(slots=True)
class Reply:
    """What the model says once."""

    pieces: list[Piece] = field(default_factory=list[Piece])
    failure: Failure | None = None
    finish: str = ""  # stop, length or tools; empty: what fits
    usage: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def reason(self) -> str:
        """How the reply ended."""
        calls = any(isinstance(piece, Call) for piece in self.pieces)
        return self.finish or ("tools" if calls else "stop")


def reply_of(items: tuple[JsonObject, ...], counted: int) -> Reply:
    """Return the reply that `items` describe; ids of calls without one count from `counted`."""
    reply = Reply()
    for item in items:
        for n in range(1, item.get("repeat", 1) + 1):
            one = _replaced(item, "{n}", str(n)) if "repeat" in item else item
            match one:
                case {"finish": finish}:
                    reply.finish = finish
                case {"usage": usage}:
                    reply.usage = usage
                case {"error": error}:
                    reply.failure = _failure(error)
                case _:
                    calls = sum(isinstance(piece, Call) for piece in reply.pieces)
                    reply.pieces.append(_piece(padded(one), counted + calls + 1))
    return reply


def padded(item: JsonObject) -> JsonObject:
    """Return an item with its `pad` in place, also one inside a call."""
    if "call" in item:
        return {**item, "call": padded(item["call"])}
    rest = {key: value for key, value in item.items() if key != "pad"}
    return _replaced(rest, PAD, "x" * item.get("pad", 0))


def _piece(item: JsonObject, number: int) -> Piece:
    match item:
        case {"text": text}:
            return Text(text)
        case {"thinking": text}:
            return Thought(text)
        case {"stall_ms": pause_ms}:
            return Pause(pause_ms / 1000)
        case {"call": call}:
            raw = call["raw"] if "raw" in call else json.dumps(call.get("args", {}))
            return Call(call.get("id", f"call_{number}"), call["name"], raw)
        case _:
            return Pause(None)


def _failure(error: JsonObject) -> Failure:
    code = error.get("code", "provider_error")
    status = RETRYABLE_STATUS if error.get("retryable") else STATUS_OF[code]
    return Failure(status, error["message"], code)


def _replaced(item: JsonObject, slot: str, text: str) -> JsonObject:
    return json.loads(json.dumps(item).replace(slot, text))
