"""What a text file is: its text, its encoding and its line ends, and back to the same bytes.

Whoever writes over a text keeps what the file had, unless the new text says otherwise.
"""

import codecs
import re
from functools import cache
from typing import Final

from msgspec import Struct

from wcore.errors import ToolError

_BOMS: Final = (  # UTF-32 little endian starts like UTF-16: it has to be looked for first
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
BYTES_KEPT: Final = "latin-1"  # every byte is a character of it: nothing is lost on the way back
CODING_LINES: Final = 2  # where PEP 263, Emacs, XML and HTML put it
_CODING: Final = re.compile(rb"(?:coding|charset)[ \t]*[:=][ \t]*[\"']?([-\w.]{1,40})")
#: Bytes that no text has, in whatever encoding keeps ASCII as it is. ESC, BEL, BS, FF are met.
_NO_TEXT: Final = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_ASCII: Final = bytes(range(128)).replace(b"\\", rb"\u0041\x41 +AGE- =41 &#65; %41 ~{")


class Encoding(Struct, frozen=True):
    """How a text file is stored. `is_guess`: nothing says so, and other bytes would fit as well."""

    name: str
    bom: bytes = b""
    is_guess: bool = False

    def encode(self, text: str) -> bytes:
        """Return the bytes to store.

        Raises:
            ToolError: a character has no place in this encoding; says which and what to do.
        """
        try:
            return self.bom + text.encode(self.name)
        except UnicodeEncodeError as error:
            char = text[error.start]
            raise ToolError(
                f"the file is stored as {self.shown}, which has no U+{ord(char):04X}; to store it "
                f"as UTF-8, Write it whole, without a line that names {self.shown}"
            ) from None

    @property
    def shown(self) -> str:
        """The name, for people and models."""
        if self.is_guess:
            return "something that nothing names"
        name = self.name.upper()
        return f"{name} with a byte order mark" if self.bom and name == "UTF-8" else name


class Text(Struct, frozen=True):
    """The content of a text file."""

    text: str
    encoding: Encoding

    def encode(self) -> bytes:
        """Return the bytes to store. Raises as `Encoding.encode`."""
        return self.encoding.encode(self.text)


UTF8: Final = Encoding("utf-8")


def encoding_of(head: bytes) -> Encoding:
    """Read the byte order mark, if there is one; else UTF-8."""
    for bom, name in _BOMS:
        if head.startswith(bom):
            return Encoding(name, bom)
    return UTF8


def looks_binary(head: bytes) -> bool:
    """Tell whether a file that starts like this is no text: NUL bytes without a wide encoding."""
    return not encoding_of(head).name.startswith(("utf-16", "utf-32")) and b"\0" in head


def declared(head: bytes) -> str | None:
    """Return the encoding that the first lines name, if it is one that can be kept."""
    found = _CODING.search(b"\n".join(head.split(b"\n", CODING_LINES)[:CODING_LINES]))
    return kept_codec(found[1].decode("ascii", "replace")) if found else None


def decode(data: bytes, charset: str | None = None) -> Text:
    """Return the text of `data` and how to store it again, to the byte.

    What is not UTF-8 is in the encoding that its first lines name, or else `charset` (what the
    project says of such files), or else it is read byte by byte as Latin-1.

    Raises:
        ToolError: it is no text.
    """
    encoding = encoding_of(data)
    if looks_binary(data):
        raise ToolError("the file is binary")
    try:
        return Text(data[len(encoding.bom) :].decode(encoding.name), encoding)
    except UnicodeDecodeError:
        if encoding.bom:
            raise ToolError(f"the file is not valid {encoding.name.upper()}") from None
    for name in (declared(data), charset):
        if name and (text := _exactly(data, name)) is not None:
            return Text(text, Encoding(name))
    if _NO_TEXT.search(data):
        raise ToolError("the file is binary")
    return Text(data.decode(BYTES_KEPT), Encoding(BYTES_KEPT, is_guess=True))


def rewritten(before: Text | None, text: str, charset: str | None = None) -> Text:
    """Return the whole new content of a file as it is stored: like `before`, if it was text.

    A new text that names an encoding in its first lines, or has a CR in it, says otherwise. What
    was only guessed is not kept: Latin-1 would be wrong for every other encoding.
    """
    if before is None:
        return Text(text, UTF8)
    end = line_end(before.text)
    if end and "\r" not in text:
        text = with_line_end(text, end)
    if before.encoding.bom:
        return Text(text.removeprefix("\ufeff"), before.encoding)
    if before.encoding == UTF8 or before.encoding.is_guess:
        return Text(text, UTF8)
    if named := declared(text.encode(errors="replace")):
        return Text(text, Encoding(named))
    fits = charset is not None and _exactly(text.encode(charset, "replace"), charset) == text
    return Text(text, Encoding(charset) if charset and fits else UTF8)


def line_end(text: str) -> str | None:
    """Return what ends every line of `text`, or `None` if there are several or no line ends."""
    pairs = text.count("\r\n")
    counts = {"\r\n": pairs, "\n": text.count("\n") - pairs, "\r": text.count("\r") - pairs}
    found = [end for end, count in counts.items() if count]
    return found[0] if len(found) == 1 else None


def with_line_end(text: str, end: str) -> str:
    """Return `text` with every line end as `end`."""
    return text.replace("\r\n", "\n").replace("\n", end)


def _exactly(data: bytes, name: str) -> str | None:
    try:
        text = data.decode(name)
        return text if text.encode(name) == data else None
    except UnicodeError:
        return None


@cache
def kept_codec(name: str) -> str | None:
    """Return the codec's own name if ASCII stands for itself in it; else `None`.

    Escapes would be a disguise: what a card shows would not be what is stored.
    """
    try:
        codec = codecs.lookup(name)
        plain = _ASCII.decode(codec.name) == _ASCII.decode("ascii")
    except (LookupError, ValueError, TypeError, AssertionError):
        return None
    return codec.name if plain else None
