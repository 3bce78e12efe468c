"""What OpenRouter, and who speaks like it, wants back of a reply's thinking, as it came. Pure.

It comes in pieces, which must go back as the wholes that they were cut from: a provider behind it
may have signed them. That, and how the pieces are told apart, is from documentation and from
reports of refusals.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from wcore.models.provider_json import fields
from wcore.vocabulary import Json

_GROWING: Final = ("text", "summary")  # come in pieces; everything else comes whole


class _Detail:
    """One detail while it streams in."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self._pieces: dict[str, list[str]] = {}

    def goes_on(self, piece: Mapping[str, Any]) -> bool:
        """Whether `piece`, of the same kind and number, belongs to this one."""
        ours, theirs = self.fields.get("id"), piece.get("id")
        is_same = not (ours and theirs) or ours == theirs
        is_signed = bool(self.fields.get("signature"))
        grows = any(piece.get(field) for field in _GROWING)
        return is_same and not piece.get("data") and not (is_signed and grows)

    def take(self, piece: Mapping[str, Any]) -> None:
        for field, value in piece.items():
            if field in _GROWING and isinstance(value, str):
                self._pieces.setdefault(field, []).append(value)
            if value not in (None, "") or field not in self.fields:
                self.fields[field] = value

    def whole(self) -> dict[str, Json]:
        return self.fields | {field: "".join(pieces) for field, pieces in self._pieces.items()}


class ReasoningDetails:
    """Puts the details of one reply together."""

    def __init__(self) -> None:
        self._found: list[_Detail] = []
        self._last: dict[str, _Detail] = {}  # by kind and number

    def take(self, given: object) -> None:
        """Take the details of one piece of the reply; what is none is passed over."""
        pieces = cast("Sequence[object]", given) if isinstance(given, list) else ()
        for piece in map(fields, pieces):
            if not piece:
                continue
            place = f"{piece.get('type')} {piece.get('index')}"
            detail = self._last.get(place)
            if detail is None or not detail.goes_on(piece):
                detail = self._last[place] = _Detail()
                self._found.append(detail)
            detail.take(piece)

    def whole(self) -> list[Json]:
        """Return the details, in the order of their beginning."""
        return [detail.whole() for detail in self._found]
