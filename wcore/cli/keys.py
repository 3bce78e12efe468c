"""Provider keys: from the descriptor that `--keys-fd` names, and from the environment."""

import os
import select
import time
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Final

import msgspec

from wcore.errors import UsageError
from wcore.hardening import take_keys

KEYS_BYTES_MAX: Final = 256 * 1024  # dozens of keys; a service account's is 3 KiB
KEYS_S_MAX: Final = 10.0  # a host writes them when it starts us, and closes its end

_READ_BYTES: Final = 64 * 1024  # as much as a socket usually holds


def taken(fd: int | None, environ: MutableMapping[str, str]) -> dict[str, str]:
    """Return the keys by their names: those of `fd` before those of `environ`, where none is left.

    White space around a key is no part of it, and what is nothing else is no key: files and
    shells leave the end of a line behind.

    Raises:
        UsageError: nothing that can be used comes from `fd`; never tells what came.
    """
    keys = take_keys(environ)
    given = keys if fd is None else keys | _told(fd)
    return {name: key for name, value in given.items() if (key := value.strip())}


def _told(fd: int) -> dict[str, str]:
    data = _read(fd)
    try:
        return msgspec.json.decode(data, type=dict[str, str])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UsageError(f"--keys-fd {fd}: not a JSON object of names and texts") from None


def _read(fd: int) -> bytes:
    """Read `fd` to its end and close it: it must not reach a child."""
    data = b""
    until = time.monotonic() + KEYS_S_MAX
    poll = select.poll()
    try:
        poll.register(fd, select.POLLIN)
        while poll.poll(max(0.0, until - time.monotonic()) * 1000):
            chunk = os.read(fd, _READ_BYTES)
            data += chunk
            if not chunk:
                return data
            if len(data) > KEYS_BYTES_MAX:
                raise UsageError(f"--keys-fd {fd}: more than {KEYS_BYTES_MAX} bytes")
    except OSError as error:
        raise UsageError(f"--keys-fd {fd}: {error.strerror}") from None
    finally:
        with suppress(OSError):
            os.close(fd)
    raise UsageError(f"--keys-fd {fd}: no end of it within {KEYS_S_MAX:g} s; close the other end")
