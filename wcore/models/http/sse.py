"""Server-sent events: bytes in, the `data` of each event out. Pure; borders may fall anywhere.

Event names are left out on purpose: both dialects repeat them inside the data.
"""

import re
from codecs import BOM_UTF8
from typing import Final

EVENT_BYTES_MAX: Final = 16 * 1024 * 1024  # one event; twice the line that our own wire takes

_PING: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"ping"\s*\}\s*')


class TooLongError(ValueError):
    """An event passes `EVENT_BYTES_MAX`."""


class EventReader:
    """Reads one stream. `told` counts its events that do more than keep it open."""

    def __init__(self) -> None:
        self.told = 0
        self._mark = BOM_UTF8  # what may stand before the first line
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the events that are complete now.

        Raises:
            TooLongError: the server floods us.
        """
        data = self._rest + chunk
        # A carriage return at the very end may be the first half of a line end.
        end = 1 + max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1))
        self._rest = data[end:]
        if len(self._rest) + self._size > EVENT_BYTES_MAX:
            raise TooLongError(f"an event is longer than {EVENT_BYTES_MAX} bytes")
        return self._events(data[:end])

    def finish(self) -> list[bytes]:
        """Return what the server did not close with an empty line."""
        data, self._rest = self._rest, b""
        return self._events(data + b"\n\n")

    def _events(self, data: bytes) -> list[bytes]:
        found: list[bytes] = []
        for given in data.splitlines():
            line, self._mark = given.removeprefix(self._mark), b""
            if not line:
                if self._data:
                    found.append(b"\n".join(self._data))
                    self.told += _PING.fullmatch(found[-1]) is None
                    self._data = []
                    self._size = 0
            elif line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._size += len(line)
        return found
