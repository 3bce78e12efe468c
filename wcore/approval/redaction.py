"""Live secrets are taken out of everything a tool prints, before it is cut and across chunks.

What a library says may hold a secret escaped, in Python's, JSON's, a URL's or HTML's way; `redact`
knows it all the same, so that whatever is said, logged or kept passes here and nowhere else.

Secrets are resume tokens until their turn has ended, and provider keys for as long as we live.
A token is used up before that, but what was said while it was alive may still have to be written.
A chunk that ends in the beginning of a secret is held back by that many characters, so no secret
can slip through in two halves.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from wcore.vocabulary import Json

MARKER: Final = "[REDACTED]"
HELD_CHARS_MAX: Final = 64 * 1024  # a secret that repeats for ever must not be held for ever
FRAGMENT_CHARS: Final = 12  # 9 hex digits of a token: 92 of its 128 bits stay unknown
SECRET_CHARS_MIN: Final = 8  # shorter values would blank out ordinary words
PARTS_MAX: Final = 512  # of a secret that is looked for escaped as well; keys have a few

_PLAIN: Final = re.compile(r"[A-Za-z0-9._~-]+")  # whoever escapes leaves these as they are
_PARTS: Final = re.compile(r"[A-Za-z0-9._~-]+|\\+|.", re.DOTALL)
_NAMED: Final = {  # what has an escape of its own
    **{"\n": ("n",), "\r": ("r",), "\t": ("t",), "\b": ("b",), "\f": ("f",), " ": (r"\+",)},
    **{"&": ("&amp;",), "<": ("&lt;",), ">": ("&gt;",), '"': ("&quot;",), "'": ("&apos;",)},
}


class Secrets:
    """The set of values that must not be shown; it changes while tools run."""

    def __init__(self) -> None:
        self._values: list[str] = []
        self._escaped: list[re.Pattern[str]] = []  # of those that escaping changes
        self._tokens: set[str] = set()

    def add(self, value: str) -> None:
        """Hide `value` from now on; values too short to be secrets are ignored."""
        if len(value) >= SECRET_CHARS_MIN and value not in self._values:
            self._values.append(value)
            self._values.sort(key=len, reverse=True)
            if (pattern := _escaped(value)) is not None:
                self._escaped.append(pattern)

    def add_token(self, token: str) -> None:
        """Hide a resume token until `forget_tokens`."""
        self._tokens.add(token)
        self.add(token)

    def forget_tokens(self) -> None:
        """Hide the resume tokens no longer: their turn has ended, and all of it is written down."""
        self._values = [value for value in self._values if value not in self._tokens]
        self._tokens.clear()

    def redact(self, text: str) -> str:
        """Return `text` with every live secret replaced; overlapping ones by one marker."""
        spans = self.spans(text)
        if not spans:  # nearly always, and every text of every record comes by
            return text
        pieces: list[str] = []
        at = 0
        for start, end in spans:
            pieces += [text[at:start], MARKER]
            at = end
        return "".join([*pieces, text[at:]])

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where secrets stand in `text`, overlapping places merged, in order."""
        found: list[tuple[int, int]] = []
        for value in self._values:
            at = text.find(value)
            while at >= 0:
                found.append((at, at + len(value)))
                at = text.find(value, at + 1)
        for pattern in self._escaped:
            found += [match.span() for match in pattern.finditer(text)]
        if not found:
            return found
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def redact_truncated(self, text: str) -> str:
        """Return `text`, which may have been cut anywhere, without secrets and their fragments.

        A cut through a secret leaves its beginning or its end; from `FRAGMENT_CHARS` on that is
        replaced as well, so that what remains is too little to guess the rest.
        """
        text = self.redact(text)
        for value in self._values:
            if len(value) >= 2 * FRAGMENT_CHARS:
                text = _without_beginnings(text, value)
                text = _without_beginnings(text[::-1], value[::-1], MARKER[::-1])[::-1]
        return text

    def held_back(self, text: str) -> int:
        """Return how many last characters of `text` could be the beginning of a secret."""
        return max((_overlap(text, value) for value in self._values), default=0)


class StreamRedactor(Struct):
    """Strips secrets from text that arrives in pieces; holds back what may still become one."""

    secrets: Secrets
    rest: str = ""  # what was held back

    def feed(self, piece: str) -> str:
        """Return what is safe to show now."""
        text = self.rest + piece
        safe = len(text) - self.secrets.held_back(text)
        for start, end in reversed(self.secrets.spans(text)):
            if end > safe and len(text) - start <= HELD_CHARS_MAX:
                safe = min(safe, start)  # what follows may belong to a longer secret
        self.rest = text[safe:]
        return self.secrets.redact(text[:safe])

    def finish(self) -> str:
        """Return what was held back and turned out to be no secret."""
        rest, self.rest = self.rest, ""
        return self.secrets.redact(rest)


def redacted(body: Mapping[str, Json], strip: Callable[[str], str]) -> dict[str, Json]:
    """Return `body` with every text stripped; what JSON cannot say becomes text."""
    return {strip(name): _clean(value, strip) for name, value in body.items()}


def _clean(value: Json, strip: Callable[[str], str]) -> Json:
    match value:
        case str():
            return strip(value)
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else str(value)  # JSON has no other numbers
        case dict() | Mapping():  # the first is quick to tell
            return redacted(value, strip)
        case list() | tuple() | Sequence():
            return [_clean(each, strip) for each in value]


def _escaped(value: str) -> re.Pattern[str] | None:
    """Return what finds `value` escaped, in whatever way and more than once; `None`: never is."""
    parts = _PARTS.findall(value)
    if len(parts) > PARTS_MAX or _PLAIN.fullmatch(value):
        return None
    return re.compile("".join(map(_spellings, parts)))


def _spellings(part: str) -> str:
    """Return the pattern of plain characters, of a run of backslashes, or of one other."""
    if _PLAIN.fullmatch(part):
        return re.escape(part)
    if part[0] == "\\":
        least = len(part)
        escaped = r"(?i:%(?:25)*5c|\\{1,4}(?:x|u00)5c|&#(?:92|x5c);)"
        return rf"(?>\\{{{least},{16 * least}}}|{escaped}{{{least}}})"
    code = ord(part)
    bytes_ = [f"{byte:02x}" for byte in part.encode(errors="surrogatepass")]
    units = re.findall("....", part.encode("utf-16-be", "surrogatepass").hex())
    forms = {  # each once, so that no text can be read in many ways, which takes for ever
        r"\\{1,4}".join(f"x{byte}" for byte in bytes_),
        r"\\{1,4}".join(f"u{unit}" for unit in units),
        "".join(f"%(?:25)*{byte}" for byte in bytes_),
        f"x{code:02x}",  # of Latin-1
        f"U{code:08x}",
        f"&#(?:{code}|x{code:x});",
        *_NAMED.get(part, ()),
    }
    plain = re.escape(part)  # last: `%25` is one character, not a `%` before a number
    return rf"\\{{0,4}}+(?i:{'|'.join([*sorted(forms - {plain}), plain])})"


def _without_beginnings(text: str, value: str, marker: str = MARKER) -> str:
    """Replace every run of `text` that is a beginning of `value` and long enough to matter."""
    pieces: list[str] = []
    at = 0
    while (found := text.find(value[:FRAGMENT_CHARS], at)) >= 0:
        end = found + FRAGMENT_CHARS
        while end < len(text) and end - found < len(value) and text[end] == value[end - found]:
            end += 1
        pieces += [text[at:found], marker]
        at = end
    return "".join([*pieces, text[at:]])


def _overlap(text: str, secret: str) -> int:
    for size in range(min(len(text), len(secret) - 1), 0, -1):
        if text.endswith(secret[:size]):
            return size
    return 0
