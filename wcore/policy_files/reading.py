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
_FOLDER_FLAGS: Final = _FLAGS | os.O_DIRECTORY | os.O_NOFOLLOW


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
        return [(path, sha256(data)) for path, data in sorted(self.contents.items())]


def read_file(path: str, bytes_max: int, folder: int | None = None) -> tuple[bytes, os.stat_result]:
    """Return what is in a regular file of at most `bytes_max`, and what is known of the file.

    `path` is one below the open `folder`, and then no link is followed; else it stands alone.

    Raises:
        OSError: it cannot be opened or read.
        ValueError: it is no such file; says why.
    """
    flags = _FLAGS if folder is None else _FLAGS | os.O_NOFOLLOW
    fd = open_unlocked(path, flags, dir_fd=folder)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("is no regular file")
        data = bytearray()
        while len(data) <= bytes_max and (more := os.read(fd, bytes_max + 1 - len(data))):
            data += more
    finally:
        os.close(fd)
    if len(data) > bytes_max:
        raise ValueError(f"the file is longer than {bytes_max} bytes")
    return bytes(data), found


def read_owned(path: str) -> PolicyText | None:
    """Return the user's or the administrator's file; `None` when there is none.

    A symbolic link is followed: people keep their settings elsewhere. One that was made later
    than what it leads to tells since when this has been the file.

    Raises:
        PolicyError: it cannot be read, or others than root and the user may have written it.
    """
    read = _read_policy(path)
    if read is None:
        return None
    data, found, changed = read
    if found.st_uid not in (0, os.getuid()) or found.st_mode & stat.S_IWOTH:
        raise PolicyError(path, 1, "others may write it: it must be yours or root's alone")
    return PolicyText(_text(path, data), changed)


def read_project(workspace: str) -> ProjectFiles:
    """Return everything below `.wcore/` of a workspace. No link is followed.

    Raises:
        PolicyError: the policy file, or the folder, is not what it should be.
    """
    folder = os.path.join(workspace, OWN_FOLDER)
    try:
        fd = os.open(folder, _FOLDER_FLAGS)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return ProjectFiles({}, _digest({}))
        raise PolicyError(folder, 1, "must be a folder, and no link to one") from error
    try:
        policy = _read_policy(os.path.join(folder, POLICY_NAME), fd)
        alone = {} if policy is None else {POLICY_NAME: policy[0]}
        contents = alone.copy()
        complete = _collect(fd, "", contents)
    finally:
        os.close(fd)
    changed = "" if policy is None else policy[2]
    if not complete:
        return ProjectFiles(alone, None, changed)
    return ProjectFiles(contents, _digest(contents), changed)


def decode_project(workspace: str, data: bytes) -> str:
    """Return the text of the project's policy.

    Raises:
        PolicyError: it is no UTF-8.
    """
    return _text(os.path.join(workspace, OWN_FOLDER, POLICY_NAME), data)


def _read_policy(path: str, folder: int | None = None) -> tuple[bytes, os.stat_result, str] | None:
    """Return a policy file and when it came to be there; in a project's `folder` it is no link."""
    name = path if folder is None else POLICY_NAME
    try:
        data, found = read_file(name, FILE_BYTES_MAX, folder)
        link = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        is_link = folder is not None and error.errno == errno.ELOOP
        reason = "is a link" if is_link else f"cannot be read: {error.strerror}"
        raise PolicyError(path, 1, reason) from error
    except ValueError as error:
        raise PolicyError(path, 1, str(error)) from error
    changed = datetime.fromtimestamp(max(found.st_ctime, link.st_ctime), UTC)
    return data, found, stamp(changed)


def _collect(folder: int, above: str, contents: dict[str, bytes]) -> bool:
    """Add what lies below `folder`; false when it is too much, or cannot be read."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return False
    for entry in entries:
        path = f"{above}{entry.name}"
        if path == POLICY_NAME:
            continue
        if len(contents) >= PROJECT_FILES_MAX or not _add(folder, entry, path, contents):
            return False
    return sum(map(len, contents.values())) <= PROJECT_BYTES_MAX


def _add(folder: int, entry: os.DirEntry[str], path: str, contents: dict[str, bytes]) -> bool:
    try:
        if not entry.is_dir(follow_symlinks=False):
            contents[path] = read_file(entry.name, PROJECT_BYTES_MAX, folder)[0]
            return True
        fd = os.open(entry.name, _FOLDER_FLAGS, dir_fd=folder)
    except (OSError, ValueError):
        return False  # a link, or unreadable: nothing that a person could have reviewed
    try:
        return path.count("/") < 8 and _collect(fd, f"{path}/", contents)
    finally:
        os.close(fd)


def _text(path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")  # editors of Windows put a mark in front
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise PolicyError(path, line, "is not UTF-8") from error


def _digest(contents: dict[str, bytes]) -> str:
    whole = hashlib.sha256()
    for path, data in sorted(contents.items()):
        for part in (os.fsencode(path), data):
            whole.update(len(part).to_bytes(8, "big") + part)
    return f"sha256:{whole.hexdigest()}"


def sha256(data: bytes) -> str:
    """Return the digest of a content, as people are shown it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
