"""Bytes of a file to text and back, without changing what was not meant to change."""

import codecs
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


class Encoding(Struct, frozen=True):
    """How a text file is stored."""

    name: str
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        """Return the bytes to store."""
        return self.bom + text.encode(self.name)


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


def decode(data: bytes) -> tuple[str, Encoding]:
    """Return the text of `data` and how to store it again exactly.

    Raises:
        ToolError: it is binary, or in an encoding that cannot be told.
    """
    encoding = encoding_of(data)
    if looks_binary(data):
        raise ToolError("the file is binary")
    try:
        text = data[len(encoding.bom) :].decode(encoding.name)
    except UnicodeDecodeError:
        raise ToolError(f"the file is not valid {encoding.name.upper()}") from None
    return text, encoding


def crlf(text: str) -> str:
    """Return `text` with every line end as CR LF."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def all_crlf(text: str) -> bool:
    """Tell whether `text` has line ends and every one is CR LF."""
    return "\r\n" in text and text.count("\n") == text.count("\r\n")
