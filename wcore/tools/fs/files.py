"""Reading, replacing and removing whole files: all or nothing, and only what was shown."""

import errno
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
from wcore.tools.digests import ABSENT
from wcore.tools.fs.paths import folder_of, kind_at, open_file_at, open_folder, quote_path

FILE_BYTES_MAX: Final = 16 * 1024 * 1024  # beyond this a file is not text that a model edits
CHUNK_BYTES: Final = 1024 * 1024  # hashing in pieces keeps memory flat, and a stop is heard soon
_OF_THE_SYSTEM: Final = "security."  # labels are by the folder's rules; capabilities go, as set-id
#: Not ours to give it another owner or attribute, no new files here, a mount point of its own.
_NOT_EXCHANGED: Final = frozenset(
    {errno.EPERM, errno.EACCES, errno.EROFS, errno.EBUSY, errno.EXDEV, errno.ENOTSUP}
)
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
    other_names: int = 0  #: hard links to it, here or elsewhere

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


def digest_of(file: int) -> str:
    """Return the digest that a snapshot of the open `file` has, in flat memory; rewinds it."""
    digest = _read(file, keep=False).digest
    os.lseek(file, 0, os.SEEK_SET)
    return digest


def _read(file: int, *, keep: bool = True) -> Snapshot:
    seen = os.fstat(file)
    if seen.st_size > FILE_BYTES_MAX:
        return _unread(file)
    kept: list[bytes] = []
    content = hashlib.sha256()
    size_bytes = 0
    while chunk := os.read(file, CHUNK_BYTES):
        hear_stop()
        content.update(chunk)
        size_bytes += len(chunk)
        if keep:
            kept.append(chunk)
        if size_bytes > FILE_BYTES_MAX:  # it grows, or never said how large it is
            return _unread(file)
    data = b"".join(kept) if keep else None
    return Snapshot(content.hexdigest(), data, size_bytes, other_names=seen.st_nlink - 1)


def _unread(file: int) -> Snapshot:
    seen = os.fstat(file)
    facts = (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_dev, seen.st_ino)
    return Snapshot(f"large:{'.'.join(map(str, facts))}", None, seen.st_size)


def replace(path: str, data: bytes, expected: str) -> None:
    """Put `data` at the real `path` in one step, if its content is still `expected`.

    Missing folders are made. Mode, owner, attributes and access lists of an existing file are
    kept, set-id bits apart. Where a new file cannot have them or the folder takes none, the old
    one is written over instead; other hard links to it are never written through.

    Raises:
        ToolError: changed since it was shown, or refused by the system; nothing was done.
    """
    with os_errors(path), _folder_made(os.path.dirname(path)) as handle:
        name = os.path.basename(path)
        replaced = kind_at(handle, name)
        try:
            _exchange(handle, name, path, data, expected)
        except OSError as error:
            if replaced is None or error.errno not in _NOT_EXCHANGED or replaced.st_nlink > 1:
                raise
            _overwrite(handle, name, path, data, expected)


def _exchange(handle: int, name: str, path: str, data: bytes, expected: str) -> None:
    temporary = f".wcore-{secrets.token_hex(8)}.tmp"
    try:
        _write_temporary(handle, temporary, name, path, data)
        _require_unchanged(handle, name, path, expected)
        os.rename(temporary, name, src_dir_fd=handle, dst_dir_fd=handle)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=handle)
        raise


def _overwrite(handle: int, name: str, path: str, data: bytes, expected: str) -> None:
    """Write over the file itself; what goes wrong in the middle is taken back."""
    file = open_file_at(handle, name, path, write=True)
    try:
        seen, before = os.fstat(file), _read(file)
        if before.digest != expected or before.data is None or seen.st_nlink > 1:
            raise _changed(path)
        try:
            _fill(file, data)
        except OSError:
            _fill(file, before.data)
            raise
        if seen.st_mode & (stat.S_ISUID | stat.S_ISGID):
            os.fchmod(file, stat.S_IMODE(seen.st_mode) & 0o777)
    finally:
        os.close(file)


def _fill(file: int, data: bytes) -> None:
    rest = memoryview(data)
    at = 0
    while at < len(rest):
        at += os.pwrite(file, rest[at:], at)
    os.ftruncate(file, len(data))
    os.fsync(file)


def remove(path: str, expected: str) -> None:
    """Remove the file or link at `path`, if it is still as `expected`. Raises as `replace`."""
    with os_errors(path), folder_of(path) as (handle, name):
        _require_unchanged(handle, name, path, expected)
        os.unlink(name, dir_fd=handle)


def _require_unchanged(handle: int, name: str, path: str, expected: str) -> None:
    if _snapshot_at(handle, name, path, links=True).digest != expected:
        raise _changed(path)


def _changed(path: str) -> ToolError:
    return ToolError(f"{quote_path(path)} has changed since it was shown; nothing was done")


def _write_temporary(handle: int, name: str, replaced: str, path: str, data: bytes) -> None:
    is_new = kind_at(handle, replaced) is None
    mode = 0o666 if is_new else 0o600  # new: the owner's umask decides
    file = os.open(name, _NEW, mode, dir_fd=handle)
    with os.fdopen(file, "wb") as stream:
        stream.write(data)
        stream.flush()
        if not is_new:
            old = open_file_at(handle, replaced, path)
            try:
                _take_after(file, old)
            finally:
                os.close(old)
        os.fsync(file)


def _take_after(file: int, old: int) -> None:
    """Give a new file owner, mode, attributes and access list of an old one."""
    seen, made = os.fstat(old), os.fstat(file)
    if (seen.st_uid, seen.st_gid) != (made.st_uid, made.st_gid):
        os.fchown(file, seen.st_uid, seen.st_gid)
    os.fchmod(file, stat.S_IMODE(seen.st_mode) & 0o777)
    for attribute in os.listxattr(old) if hasattr(os, "listxattr") else ():  # Linux
        if not attribute.startswith(_OF_THE_SYSTEM):
            os.setxattr(file, attribute, os.getxattr(old, attribute))


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
