"""What other programs of this user cannot read of this process: its memory, keys, open files.

A program that runs as root can read everything but what is gone. `wcore_host/hardening.py` is the
same file: hosts import nothing of the engine.
"""

import os
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Final

KEY_SUFFIXES: Final = ("_API_KEY", "_AUTH_TOKEN", "_API_TOKEN")
KEY_NAMES: Final = frozenset(  # names of providers that end otherwise
    {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "HF_TOKEN",
    }
)
BLOCK_BYTES_MAX: Final = 16 * 1024 * 1024  # Linux takes 6 MiB of arguments and environment at most

_PR_SET_DUMPABLE: Final = 4  # linux/prctl.h
_ENV_START: Final = 47  # /proc/PID/stat, counted from the field after the command's name


def close_to_others() -> None:
    """Keep other processes of this user from our memory, environment and descriptors (Linux).

    To be called before anything else: what is started is open until then. Children that execute
    a program are open again. Best effort: where the kernel has no such switch, nothing happens.
    """
    try:
        _prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return


def _prctl(*arguments: int) -> None:
    """Call `prctl`; by the core of `ctypes`, as all of it takes two milliseconds to load."""
    import _ctypes  # noqa: PLC0415 - not on every platform

    handle = _ctypes.dlopen(None, 0)  # pyright: ignore[reportArgumentType] - None: this program
    _ctypes.call_function(_ctypes.dlsym(handle, "prctl"), arguments)


def is_key(name: str) -> bool:
    """Whether a variable of this name holds a key of a provider."""
    return name in KEY_NAMES or name.endswith(KEY_SUFFIXES)


def keys_in(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the provider keys in `environ`."""
    return {name: value for name, value in environ.items() if is_key(name)}


def take_keys(environ: MutableMapping[str, str]) -> dict[str, str]:
    """Remove the provider keys from our `environ` and return them; children inherit none.

    They are gone from the environment that this process was started with, too.
    """
    keys = {name: environ.pop(name) for name in keys_in(environ)}
    if keys and environ is os.environ:
        _overwrite(keys)
    return keys


def _overwrite(names: Iterable[str]) -> None:
    """Overwrite the values of these variables where the kernel shows our first environment.

    Only the values: the system's library still points into the block.
    """
    import ctypes  # noqa: PLC0415 - milliseconds, and only where there was a key

    start, end = _first_environment()
    if not 0 < end - start <= BLOCK_BYTES_MAX:
        return
    wanted = {os.fsencode(name) for name in names}
    for entry in ctypes.string_at(start, end - start).split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name in wanted:
            ctypes.memset(start + len(name) + 1, 0, len(value))
        start += len(entry) + 1


def _first_environment() -> tuple[int, int]:
    """Return where it begins and ends; nothing where the system does not say."""
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[_ENV_START]), int(fields[_ENV_START + 1])
    except (OSError, IndexError, ValueError):
        return 0, 0
