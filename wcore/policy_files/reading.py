"""Reads policy files as what they are: regular files of somebody who may set the rules."""

import errno
import hashlib
import os
import stat
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from wcore.locked_files import open_unlocked
from wcore.policy.protected import OWN_FOLDER
from wcore.policy.rules.parser import FILE_BYTES_MAX
from wcore.policy.rules.policy_file import PolicyError
from wcore.times import stamp

POLICY_NAME: Final = "policy.toml"
PROJECT_FILES_MAX: Final = 256  # more is reviewed by nobody, so it cannot be trusted
PROJECT_BYTES_MAX: Final = 1024 * 1024  # the same, and they are read before every turn

_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not hold us up
_MISSING: Final = frozenset({errno.ENOENT, errno.ENOTDIR})


class PolicyText(Struct, frozen=True):
    """A file's text, and when the file came to be what and where it is: RFC 3339, UTC.

    That is the time of the last change of its inode, which no copying program can set back.
    `only_forbids`: it is the user's by name only, since it lies in the workspace.
    """

    text: str
    changed: str
    only_forbids: bool = False


class ProjectFiles(Struct, frozen=True):
    """The files below a project's `.wcore/`, as they were read once.

    `changed` is that of the policy, see `PolicyText`. `digest` is `None` when there is more than
    anybody reviews: such a folder cannot be trusted.
    """

    contents: dict[str, bytes]
    digest: str | None
    changed: str = ""

    def digests(self) -> list[tuple[str, str]]:
        """Return each file with the digest of its content."""
        return [(path, _sha256(data)) for path, data in sorted(self.contents.items())]


def read_owned(path: str) -> PolicyText | None:
    """Return the user's or the administrator's file; `None` when there is none.

    A symbolic link is followed: people keep their settings elsewhere. One that was made later
    than what it leads to tells since when this has been the file.

    Raises:
        PolicyError: it cannot be read, or others than root and the user may have written it.
    """
    try:
        fd = open_unlocked(path, _FLAGS)
    except OSError as error:
        if error.errno in _MISSING:
            return None
        raise PolicyError(path, 1, f"cannot be read: {error.strerror}") from error
    try:
        found = os.fstat(fd)
        if found.st_uid not in (0, os.getuid()) or found.st_mode & stat.S_IWOTH:
            raise PolicyError(path, 1, "others may write it: it must be yours or root's alone")
        text = _text(path, _content(path, fd, FILE_BYTES_MAX))
        return PolicyText(text, max(_changed(found), _changed(os.lstat(path))))
    except OSError as error:  # gone meanwhile
        raise PolicyError(path, 1, f"cannot be read: {error.strerror}") from error
    finally:
        os.close(fd)


def read_project(workspace: str) -> ProjectFiles:
    """Return everything below `.wcore/` of a workspace. No link is followed.

    Raises:
        PolicyError: the policy file, or the folder, is not what it should be.
    """
    folder = os.path.join(workspace, OWN_FOLDER)
    try:
        fd = os.open(folder, _FLAGS | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return ProjectFiles({}, _digest({}))
        raise PolicyError(folder, 1, "must be a folder, and no link to one") from error
    try:
        policy = _project_policy(fd, os.path.join(folder, POLICY_NAME))
        data, changed = (None, "") if policy is None else policy
        contents = {} if data is None else {POLICY_NAME: data}
        complete = _collect(fd, "", contents)
    finally:
        os.close(fd)
    if not complete:
        contents = {} if data is None else {POLICY_NAME: data}
    return ProjectFiles(contents, _digest(contents) if complete else None, changed)


def decode_project(workspace: str, data: bytes) -> str:
    """Return the text of the project's policy.

    Raises:
        PolicyError: it is no UTF-8.
    """
    return _text(os.path.join(workspace, OWN_FOLDER, POLICY_NAME), data)


def _project_policy(folder: int, path: str) -> tuple[bytes, str] | None:
    try:
        fd = open_unlocked(POLICY_NAME, _FLAGS | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        reason = "is a link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
        raise PolicyError(path, 1, reason) from error
    try:
        return _content(path, fd, FILE_BYTES_MAX), _changed(os.fstat(fd))
    finally:
        os.close(fd)


def _collect(folder: int, above: str, contents: dict[str, bytes]) -> bool:
    """Add what lies below `folder`; false when it is too much, or cannot be read."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError:
        return False
    for name in names:
        path = f"{above}{name}"
        if path == POLICY_NAME:
            continue
        if len(contents) >= PROJECT_FILES_MAX or not _add(folder, name, path, contents):
            return False
    return sum(map(len, contents.values())) <= PROJECT_BYTES_MAX


def _add(folder: int, name: str, path: str, contents: dict[str, bytes]) -> bool:
    try:
        fd = open_unlocked(name, _FLAGS | os.O_NOFOLLOW, dir_fd=folder)
    except OSError:
        return False  # a link, or unreadable: nothing that a person could have reviewed
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            return path.count("/") < 8 and _collect(fd, f"{path}/", contents)
        if not stat.S_ISREG(mode) or os.fstat(fd).st_size > PROJECT_BYTES_MAX:
            return False
        contents[path] = _read(fd, PROJECT_BYTES_MAX)
        return True
    finally:
        os.close(fd)


def _content(path: str, fd: int, bytes_max: int) -> bytes:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise PolicyError(path, 1, "is no regular file")
    try:
        data = _read(fd, bytes_max)
    except OSError as error:
        raise PolicyError(path, 1, f"cannot be read: {error.strerror}") from error
    if len(data) > bytes_max:
        raise PolicyError(path, 1, f"the file is longer than {bytes_max} bytes")
    return data


def _read(fd: int, bytes_max: int) -> bytes:
    """Read up to one byte more than `bytes_max`."""
    found = bytearray()
    while len(found) <= bytes_max and (data := os.read(fd, bytes_max + 1 - len(found))):
        found += data
    return bytes(found)


def _text(path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")  # editors of Windows put a mark in front
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise PolicyError(path, line, "is not UTF-8") from error


def _changed(found: os.stat_result) -> str:
    return stamp(datetime.fromtimestamp(found.st_ctime, UTC))


def _digest(contents: dict[str, bytes]) -> str:
    whole = hashlib.sha256()
    for path, data in sorted(contents.items()):
        for part in (os.fsencode(path), data):
            whole.update(len(part).to_bytes(8, "big") + part)
    return f"sha256:{whole.hexdigest()}"


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
