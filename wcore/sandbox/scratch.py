"""What programs of a sandbox keep from one to the next: their `/tmp`, and what they have loaded.

All of it lies in one folder for each workspace, in wcore's state, which they do not see otherwise.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from math import inf
from typing import Final

from wcore.sandbox.masks import SandboxError, listing, make_accessible

KEPT_BYTES_MAX: Final = 5 * 1024**3  # of a workspace; a disk is small beside what builds leave
KEPT_ENTRIES_MAX: Final = 500_000  # about two seconds to count
KEPT_S: Final = 14 * 24 * 3600.0  # since a workspace was last worked in
MEASURED_S: Final = 60.0  # from one measurement to the next: large caches take a while
TIDY_S_MAX: Final = 0.5  # what is old and large goes in parts: a result waits for it
EMPTIED: Final = "/tmp and the caches of the sandbox had become too large: they were emptied"
_MODE: Final = 0o1777  # as programs expect of /tmp; the folder above it is nobody else's


def folder_of(above: str, workspace: str) -> str:
    """Return the folder for a workspace, below `above`."""
    return f"{above}/{hashlib.sha256(os.fsencode(workspace)).hexdigest()}"


def lock(folder: str) -> int | None:
    """Be the only one that works with the folder of a workspace, until the descriptor is closed.

    Return `None` where somebody else does.

    Raises:
        SandboxError: it cannot be used.
    """
    with ExitStack() as stack:
        try:
            os.makedirs(os.path.dirname(folder), 0o700, exist_ok=True)
            found = os.open(f"{folder}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            stack.callback(os.close, found)
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        except OSError as error:
            raise _unusable(folder, error) from error
        stack.pop_all()
    return found


def make(folders: Iterable[str]) -> None:
    """Make those that are not there, and the others usable again.

    Raises:
        SandboxError: that is not possible.
    """
    for folder in folders:
        above = os.path.dirname(folder)
        try:
            os.makedirs(above, 0o700, exist_ok=True)
            with suppress(FileExistsError):
                os.mkdir(folder)
            os.chmod(folder, _MODE)
            os.utime(above)
        except OSError as error:
            raise _unusable(folder, error) from error


def _unusable(folder: str, error: OSError) -> SandboxError:
    return SandboxError(f"{folder}, for what programs keep, cannot be used: {error.strerror}")


def is_emptied(folder: str) -> bool:
    """Empty the folder of a workspace if it has become too large; whether it had.

    Raises:
        SandboxError: it cannot be emptied.
    """
    if not _is_too_large(folder):
        return False
    remove(folder)
    if os.path.lexists(folder):
        raise SandboxError(f"{folder} has become too large, and cannot be emptied: remove it")
    return True


def _is_too_large(folder: str) -> bool:
    left, entries, size = [folder], 0, 0
    while left:
        found = listing(left.pop(), opens=True)
        if found is None:
            return True  # it lies deeper than a path is long
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                left.append(entry.path)
            with suppress(OSError):  # the path is too long: so is that of what lies in it
                size += entry.stat(follow_symlinks=False).st_blocks * 512
        entries += len(found)
        if entries > KEPT_ENTRIES_MAX or size > KEPT_BYTES_MAX:
            return True
    return False


def remove(folder: str, until: float = inf) -> None:
    """Remove a folder with all that is in it, as far as that is possible and there is time.

    What lies in it is moved beside it first, one level after the other: a path can be too long.
    """
    left = [folder]
    while left:
        here = left.pop()
        for entry in listing(here, opens=True) or ():
            if time.monotonic() > until:
                return
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    make_accessible(entry.path)  # else it cannot be moved
                    os.rename(entry.path, beside := f"{folder}.{os.urandom(8).hex()}")
                    left.append(beside)
                else:
                    os.unlink(entry.path)
        with suppress(OSError):
            os.rmdir(here)


def tidy(above: str) -> None:
    """Remove the folders of workspaces that nobody has worked in for long."""
    until = time.monotonic() + TIDY_S_MAX
    for entry in listing(above, opens=False) or ():
        with suppress(OSError, SandboxError):
            age_s = time.time() - entry.stat().st_mtime
            is_old = age_s > KEPT_S and entry.is_dir(follow_symlinks=False)
            if is_old and (held := lock(entry.path)) is not None:
                try:
                    remove(entry.path, until)
                finally:
                    os.close(held)
