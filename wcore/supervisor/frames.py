"""Messages between engine and holder: a length of four bytes and a value that `marshal` writes."""

import marshal
import socket
import sys

TYPE_CHECKING = False  # `typing` itself costs 0.6 MB
if TYPE_CHECKING:
    from typing import Any

FRAME_BYTES_MAX = 16 * 1024 * 1024  # Linux passes on 6 MiB of arguments and environment
LENGTH_BYTES = 4  # enough for FRAME_BYTES_MAX
DESCRIPTORS_MAX = 16  # of one message: stdio, and some for what is to come
READ_BYTES = 64 * 1024  # most messages are a few bytes


def packed(message: "tuple[Any, ...]") -> bytes:
    """Return one message as bytes. It consists of tuples, lists, dicts, texts, bytes, numbers."""
    body = marshal.dumps(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


class Frames:
    """Takes messages out of what has been received, however it was cut."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> None:
        self._rest += data

    def next(self) -> "tuple[Any, ...] | None":
        """Return the next whole message; `None` while there is none.

        Raises:
            ValueError: it is longer than a message may be.
        """
        length = int.from_bytes(self._rest[:LENGTH_BYTES], "big")
        if length > FRAME_BYTES_MAX:
            raise ValueError("a message is too long")
        end = LENGTH_BYTES + length
        if len(self._rest) < max(end, LENGTH_BYTES + 1):
            return None
        message = marshal.loads(self._rest[LENGTH_BYTES:end])
        del self._rest[:end]
        return message


def receive(link: socket.socket, size: int) -> "tuple[bytes, list[int]]":
    """Receive `size` bytes at most, and the descriptors that came along; they are not inherited."""
    room = socket.CMSG_SPACE(DESCRIPTORS_MAX * 4)
    data, ancillary, _, _ = link.recvmsg(size, room, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
    found: list[int] = []
    for level, kind, body in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found += memoryview(body).cast("i")
    return data, found


def attached(descriptors: "list[int]") -> "list[tuple[int, int, bytes]]":
    """Return what `sendmsg` takes to pass on descriptors."""
    body = b"".join(number.to_bytes(4, sys.byteorder) for number in descriptors)
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, body)] if descriptors else []
