"""Notices when a masked name is given to something else, from outside of the sandbox.

A mask is a mount upon what has the name. What takes the name later has no mask, and is seen and
written by what runs. So does what takes the name of a folder above it.
"""

import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from threading import Thread
from typing import Final

from wcore.sandbox.masks import Masks, SandboxError
from wcore.supervisor import kernel

_EVENTS: Final = 0x0100_03C0  # of folders only: something is moved from or to a name, made, removed
_HEAD: Final = struct.Struct("iIII")  # which folder, what, a number for pairs, length of the name
_READ_BYTES: Final = 64 * 1024  # several hundred events at once
_REMEDY: Final = "see fs.inotify.max_user_instances and max_user_watches"


class Watch:
    """Watches the names of all masks. To be begun before they are mounted, and closed."""

    def __init__(self, masks: Masks) -> None:
        """Begin.

        Raises:
            SandboxError: the kernel watches no more.
        """
        self._watched: dict[int, tuple[str, set[bytes]]] = {}
        self.fd = -1
        try:
            self.fd = kernel.inotify()
            for folder, names in _named((*masks.files, *masks.folders, *masks.kept)).items():
                number = kernel.watch(self.fd, folder, _EVENTS)
                self._watched.setdefault(number, (folder, set[bytes]()))[1].update(names)
        except OSError as error:
            self.close()
            problem = f"{error.filename} cannot be watched: {error.strerror}"
            raise SandboxError(f"{problem} ({_REMEDY})") from error

    def lost(self) -> str | None:
        """Return a name that something else has got since, if one is known."""
        with suppress(BlockingIOError):
            while events := os.read(self.fd, _READ_BYTES):
                while events:
                    number, _, _, length = _HEAD.unpack_from(events)
                    name = events[_HEAD.size : _HEAD.size + length].rstrip(b"\0")
                    folder, names = self._watched.get(number, ("a folder", {name}))  # overflow
                    if name in names:
                        return os.path.join(folder, os.fsdecode(name))
                    events = events[_HEAD.size + length :]
        return None

    def close(self) -> None:
        """End it: the kernel takes some 10 ms for that, and nobody need wait for them."""
        if self.fd >= 0:
            Thread(target=os.close, args=(self.fd,)).start()


def _named(paths: Iterable[str]) -> dict[str, set[bytes]]:
    """Return the names by which `paths` are found, all folders above included, by their folder."""
    found: dict[str, set[bytes]] = {}
    for each in paths:
        parts = each.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth]) or "/"
            found.setdefault(folder, set()).add(os.fsencode(parts[depth]))
    return found
