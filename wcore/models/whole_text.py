"""Characters that a provider sent in two halves, at the border of two pieces of a reply."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from wcore.models.model import Delta, Finished, Text, Thinking
from wcore.models.provider_json import dump, parse
from wcore.visible import whole


class WholeText:
    """Joins halves over the pieces of one reply; what stays alone becomes U+FFFD."""

    def __init__(self) -> None:
        self._held: Text | Thinking | None = None  # a first half, which the next piece may end

    def joined(self, deltas: Sequence[Delta]) -> Iterator[Delta]:
        """Yield the pieces with whole characters only."""
        for delta in deltas:
            held, self._held = self._held, None
            match delta:
                case Text(text) | Thinking(text):
                    if held is not None and type(held) is type(delta):
                        held, text = None, held.text + text
                    if "\ud800" <= text[-1:] <= "\udbff":
                        self._held, text = replace(delta, text=text[-1]), text[:-1]
                    found = replace(delta, text=whole(text)) if text else None
                case Finished(sealed=sealed) if sealed is not None:
                    found = replace(delta, sealed=parse(dump(sealed)))
                case _:
                    found = delta
            if held is not None:
                yield replace(held, text="\ufffd")
            if found is not None:
                yield found
