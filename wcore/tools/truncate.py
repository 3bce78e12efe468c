"""Text with a limit: what is left out is said, and the cut does not fall inside a word.

A secret cut in half would escape the redaction that happens later, so cuts prefer blanks.
"""

from collections import deque
from typing import Final

CUT_BYTES_MAX: Final = 4096  # how far a cut moves to find a blank; longer words are cut inside


def head_of(text: str, bytes_max: int) -> str:
    """Return the longest start of `text` within `bytes_max` that ends at a blank."""
    data = text[:bytes_max].encode()
    if len(data) <= bytes_max and len(text) <= bytes_max:
        return text
    return _head_of(data[:bytes_max]).decode(errors="ignore")


def truncate(text: str, bytes_max: int, note: str) -> tuple[str, bool]:
    """Return `text` within `bytes_max`, ended by `note` on its own line if cut, and whether so."""
    if len(text) <= bytes_max // 4 or len(text.encode()) <= bytes_max:
        return text, False
    head = head_of(text, bytes_max - len(note.encode()) - 2)
    return f"{head.removesuffix(chr(10))}\n{note}\n", True


def _head_of(data: bytes) -> bytes:
    floor = max(len(data) - CUT_BYTES_MAX, 0)
    cut = data.rfind(b"\n", floor)
    cut = cut if cut >= 0 else data.rfind(b" ", floor)
    return data[: cut + 1] if cut >= 0 else data


def _tail_of(data: bytes) -> bytes:
    cut = data.find(b"\n", 0, CUT_BYTES_MAX)
    cut = cut if cut >= 0 else data.find(b" ", 0, CUT_BYTES_MAX)
    return data[cut + 1 :] if cut >= 0 else data


class HeadTail:
    """Keeps the start and the end of a stream in bounded memory."""

    def __init__(self, bytes_max: int) -> None:
        self._half = bytes_max // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self.total_bytes = 0

    def add(self, text: str) -> None:
        """Take the next piece of the stream."""
        data = text.encode()
        self.total_bytes += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._tail_bytes += len(data)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._half:
            self._tail_bytes -= len(self._tail.popleft())

    def text(self) -> tuple[str, bool]:
        """Return what was kept, a marker where something is missing, and whether it is."""
        tail = b"".join(self._tail)
        if len(self._head) + len(tail) == self.total_bytes and len(tail) <= self._half:
            return (bytes(self._head) + tail).decode(errors="replace"), False
        head = _head_of(bytes(self._head))
        tail = _tail_of(tail[-self._half :])
        left_out = self.total_bytes - len(head) - len(tail)
        marker = f"\n[… {left_out} bytes left out …]\n"
        return head.decode(errors="ignore") + marker + tail.decode(errors="ignore"), True
