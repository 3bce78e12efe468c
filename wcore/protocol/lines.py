"""Bytes to lines, bounded: a line longer than the cap costs one error and no memory."""

from typing import Final

from msgspec import Struct

LINE_BYTES_MAX: Final = 8 * 1024 * 1024  # newline included; a 5 MB image is 6.7 MB as base64

BOM: Final = "\ufeff".encode()  # some write it before the first line of a stream; it is none of it


class Overlong(Struct, frozen=True):
    """Stands for a line that was longer than the cap; its bytes are gone."""

    bytes_max: int = LINE_BYTES_MAX


class LineSplitter:
    """Cuts a byte stream at newlines, and leaves out a byte order mark at its beginning.

    Holds at most one unfinished line of `bytes_max` bytes.
    """

    def __init__(self, bytes_max: int = LINE_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._rest = bytearray()
        self._dropping = False
        self._ended = 0  # lines

    def feed(self, data: bytes) -> list[bytes | Overlong]:
        """Return the lines that `data` completes, without their newline."""
        *ended, rest = data.split(b"\n")
        lines = [self._end_line(piece) for piece in ended]
        self._keep(rest)
        return lines

    def finish(self) -> list[bytes | Overlong]:
        """Return an unterminated last line, if there is one."""
        return [self._end_line(b"")] if self._rest or self._dropping else []

    def _end_line(self, piece: bytes) -> bytes | Overlong:
        self._keep(piece)
        line: bytes | Overlong = bytes(self._rest)
        if self._dropping or len(self._rest) >= self._bytes_max:
            line = Overlong(self._bytes_max)
        elif not self._ended:
            line = line.removeprefix(BOM)
        self._ended += 1
        self._rest.clear()
        self._dropping = False
        return line

    def _keep(self, piece: bytes) -> None:
        if self._dropping:
            return
        if len(self._rest) + len(piece) > self._bytes_max:
            self._dropping = True
            self._rest.clear()
        else:
            self._rest += piece
