"""Some lines out of a stream of bytes of any length, in bounded memory."""

import codecs
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from msgspec import Struct, field

from wcore.tools.fs.text_encoding import BYTES_KEPT
from wcore.vocabulary import OUTPUT_BYTES_MAX

LINE_BYTES_MAX: Final = 16 * 1024  # a longer line is machine-made; its start says what it is
WINDOW_BYTES_MAX: Final = OUTPUT_BYTES_MAX - 1024  # room for the notes
NUMBER_BYTES: Final = 12  # of a line number, its tab and line end


class Window(Struct):
    """The lines that were asked for; `passed` counts all lines seen, `more` says: some follow.

    `fallback` is the encoding that was used because they are not UTF-8.
    """

    lines: list[str] = field(default_factory=list[str])
    passed: int = 0
    more: bool = False
    fallback: str = ""


def window(
    chunks: Iterable[bytes], encoding: str, offset: int, limit: int, fallback: str
) -> Window:
    """Return at most `limit` lines from line `offset` (1-based) on, within the output limit.

    What is not valid UTF-8 is read as `fallback`, or else as Latin-1.
    """
    found = _Found(offset, limit, fallback)
    for chunk in chunks if encoding == "utf-8" else _as_utf8(chunks, encoding):
        if not found.take(chunk):
            break
    else:
        found.finish()
    return found.window()


def _as_utf8(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode(errors="replace")
    yield decoder.decode(b"", final=True).encode()


class _Found:
    """Collects raw lines; each keeps at most `LINE_BYTES_MAX` and its full length."""

    def __init__(self, offset: int, limit: int, fallback: str) -> None:
        self._encodings = ("utf-8", fallback, BYTES_KEPT)
        self._skip = offset - 1
        self._limit = limit
        self._room = WINDOW_BYTES_MAX
        self._lines: list[tuple[bytes, int]] = []
        self._start = bytearray()  # of the line being read
        self._length = 0
        self._passed = 0
        self._more = False

    def take(self, chunk: bytes) -> bool:
        """Take the next bytes; false when nothing more is wanted."""
        at = self._skipped(chunk)
        while at < len(chunk):
            if self._full():
                self._more = True
                return False
            end = chunk.find(b"\n", at)
            self._extend(chunk[at : end if end >= 0 else len(chunk)])
            if end < 0:
                return True
            self._end_line()
            at = end + 1
        return True

    def finish(self) -> None:
        """Take the last line if it has no line end."""
        if self._length and self._passed >= self._skip:
            self._end_line()
        elif self._length:
            self._passed += 1

    def window(self) -> Window:
        """Decode what was kept, all of it in the same encoding."""
        for encoding in self._encodings:
            with suppress(UnicodeDecodeError):
                lines = [_line(start, length, encoding) for start, length in self._lines]
                fallback = "" if encoding == "utf-8" else encoding
                return Window(lines, self._passed, self._more, fallback)
        raise AssertionError("every byte is a character of the last one")

    def _skipped(self, chunk: bytes) -> int:
        """Pass over lines before the offset; return where the wanted part starts."""
        if self._passed >= self._skip:
            return 0
        ends = chunk.count(b"\n")
        if self._passed + ends < self._skip:
            self._passed += ends
            self._length = int(not chunk.endswith(b"\n"))
            return len(chunk)
        at = 0
        while self._passed < self._skip:
            at = chunk.index(b"\n", at) + 1
            self._passed += 1
        self._length = 0
        return at

    def _full(self) -> bool:
        return not self._length and (len(self._lines) >= self._limit or self._room <= 0)

    def _extend(self, part: bytes) -> None:
        self._start += part[: LINE_BYTES_MAX - len(self._start)]
        self._length += len(part)

    def _end_line(self) -> None:
        line = bytes(self._start)
        if len(line) + NUMBER_BYTES > self._room and self._lines:
            self._room, self._more = 0, True
        else:
            self._room -= (
                2 * len(line) + NUMBER_BYTES if not line.isascii() else len(line) + NUMBER_BYTES
            )
            self._lines.append((line, self._length))
        self._start.clear()
        self._length = 0
        self._passed += 1


def _line(start: bytes, length: int, encoding: str) -> str:
    if length <= len(start):
        return start.removesuffix(b"\r").decode(encoding)
    text = codecs.getincrementaldecoder(encoding)().decode(start)
    return f"{text} [line cut here: {length} bytes in all]"
