"""Reading, replacing and removing whole files: all or nothing, and only what was shown."""

import hashlib
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from anyio import from_thread
from msgspec import Struct

from wcore.errors import ToolError
from wcore.tools.digests import ABSENT, content_digest
from wcore.tools.fs.paths import (
    folder_of,
    kind_at,
    open_file_at,
    open_folder,
    quote_path,
    require_plain,
)

FILE_BYTES_MAX: Final = 16 * 1024 * 1024  # beyond this a file is not text that a model edits
CHUNK_BYTES: Final = 1024 * 1024  # hashing in pieces keeps memory flat, and a stop is heard soon
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Snapshot(Struct, frozen=True):
    """A file as it was seen. `data` is `None` if it is absent, a link, or over the limit.

    `digest` is of the content up to `FILE_BYTES_MAX`; a larger file is told by what the system
    knows of it, because nobody waits for a terabyte before being asked.
    """

    digest: str
    data: bytes | None = None
    size_bytes: int = 0
    link: str | None = None

    @property
    def absent(self) -> bool:
        """Nothing was there."""
        return self.digest == ABSENT


@contextmanager
def os_errors(path: str) -> Generator[None]:
    """Turn what the system refuses into words for the model."""
    try:
        yield
    except OSError as error:
        raise ToolError(f"{quote_path(path)}: {error.strerror or error}") from error


def hear_stop() -> None:
    """Raise the cancellation of whoever waits for this worker thread; elsewhere do nothing."""
    with suppress(RuntimeError):  # no worker thread: nobody can cancel
        from_thread.check_cancelled()


def snapshot(path: str, *, links: bool = False) -> Snapshot:
    """See the file at the real `path`. With `links` a link is seen as itself.

    Raises:
        ToolError: it cannot be read, or is no plain file.
    """
    with os_errors(path):
        try:
            folder = folder_of(path)
            with folder as (handle, name):
                return _snapshot_at(handle, name, path, links=links)
        except ToolError:
            if not os.path.lexists(os.path.dirname(path)):
                return Snapshot(ABSENT)  # the folder is missing too; writing will make it
            raise


def _snapshot_at(handle: int, name: str, path: str, *, links: bool = False) -> Snapshot:
    kind = kind_at(handle, name)
    if kind is None:
        return Snapshot(ABSENT)
    if links and stat.S_ISLNK(kind.st_mode):
        target = os.readlink(name, dir_fd=handle)
        digest = hashlib.sha256(os.fsencode(target)).hexdigest()
        return Snapshot(f"link:{digest}", link=target)
    file = open_file_at(handle, name, path)
    try:
        return _read(file)
    finally:
        os.close(file)


def _read(file: int) -> Snapshot:
    if os.fstat(file).st_size > FILE_BYTES_MAX:
        return _unread(file)
    kept: list[bytes] = []
    size_bytes = 0
    while chunk := os.read(file, CHUNK_BYTES):
        hear_stop()
        kept.append(chunk)
        size_bytes += len(chunk)
        if size_bytes > FILE_BYTES_MAX:  # it grows, or never said how large it is
            return _unread(file)
    data = b"".join(kept)
    return Snapshot(content_digest(data), data, size_bytes)


def _unread(file: int) -> Snapshot:
    seen = os.fstat(file)
    facts = (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_dev, seen.st_ino)
    return Snapshot(f"large:{'.'.join(map(str, facts))}", None, seen.st_size)


def replace(path: str, data: bytes, expected: str) -> None:
    """Put `data` at the real `path` in one step, if its content is still `expected`.

    Missing folders are made. The mode of an existing file is kept, set-id bits apart.

    Raises:
        ToolError: changed since it was shown, or refused by the system; nothing was done.
    """
    with os_errors(path), _folder_made(os.path.dirname(path)) as handle:
        name = os.path.basename(path)
        temporary = f".wcore-{secrets.token_hex(8)}.tmp"
        try:
            _write_temporary(handle, temporary, kind_at(handle, name), data)
            _require_unchanged(handle, name, path, expected)
            os.rename(temporary, name, src_dir_fd=handle, dst_dir_fd=handle)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=handle)
            raise


def remove(path: str, expected: str) -> None:
    """Remove the file or link at `path`, if it is still as `expected`. Raises as `replace`."""
    with os_errors(path), folder_of(path) as (handle, name):
        _require_unchanged(handle, name, path, expected)
        os.unlink(name, dir_fd=handle)


def _require_unchanged(handle: int, name: str, path: str, expected: str) -> None:
    if _snapshot_at(handle, name, path, links=True).digest != expected:
        raise ToolError(f"{quote_path(path)} has changed since it was shown; nothing was done")


def _write_temporary(folder: int, name: str, replaced: os.stat_result | None, data: bytes) -> None:
    mode = 0o666 if replaced is None else 0o600  # new: the owner's umask decides
    file = os.open(name, _NEW, mode, dir_fd=folder)
    with os.fdopen(file, "wb") as stream:
        stream.write(data)
        stream.flush()
        if replaced is not None:
            require_plain(replaced.st_mode, name)
            with suppress(PermissionError):  # only root can give a file back to its owner
                os.fchown(file, replaced.st_uid, replaced.st_gid)
            os.fchmod(file, stat.S_IMODE(replaced.st_mode) & 0o777)
        os.fsync(file)


@contextmanager
def _folder_made(path: str) -> Generator[int]:
    """Hold the folder `path`, making what is missing; what was made goes again on failure."""
    made = _make_folders(path)
    try:
        with open_folder(path) as handle:
            yield handle
    except BaseException:
        for folder in reversed(made):
            with suppress(OSError, ToolError), folder_of(folder) as (above, name):
                os.rmdir(name, dir_fd=above)
        raise


def _make_folders(path: str) -> list[str]:
    missing: list[str] = []
    while path != "/" and not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    made: list[str] = []
    for folder in reversed(missing):
        with folder_of(folder) as (above, name), suppress(FileExistsError):
            os.mkdir(name, dir_fd=above)
            made.append(folder)
    return made
